//! `vouch`.

use midrail_guardrails::{CommandPattern, Vouch, VouchedCommand};
use serde::Deserialize;

use crate::diagnostic::{DiagnosticLevel, excerpt};
use crate::issue::Issue;
use crate::layers::Layer;
use crate::lint::linter::{Findings, Packs};

/// Reports the `vouch` of a project, which is not in effect.
pub(super) fn of_project(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for (at, (layer, document)) in packs.documents.iter().enumerate() {
        if *layer != Layer::Project || document.pack.vouch.is_none() {
            continue;
        }
        let message = format!(
            "`vouch` of `{}` is not in effect: a project cannot vouch for itself",
            document.pack.pack
        );
        let issue = Issue::new("/vouch", message)
            .help("move it to your own pack: `midrail policy show` names its file");
        out.add("vouch-of-project", DiagnosticLevel::Note, at, issue);
    }
}

/// Vouched commands, patterns and hosts that are none.
pub(super) fn invalid(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for (at, document) in packs.iter() {
        let settings = document.pack.vouch.as_ref().and_then(|guard| guard.with.as_ref());
        let Some(vouch) = settings.and_then(|with| Vouch::deserialize(with).ok()) else { continue };
        for (i, command) in vouch.commands.iter().enumerate() {
            let text = command.text();
            let (why, help) = match (CommandPattern::parse(text), command) {
                (Ok(_), _) if text.starts_with('*') => {
                    ("vouches for every program".to_owned(), "name the program: `cargo test`")
                }
                (Ok(_), _) => continue,
                (Err(_), VouchedCommand::Exact { .. }) if !text.trim().is_empty() => continue,
                (Err(why), _) => (why, "write the program and its first words, such as `cargo test`"),
            };
            let issue =
                Issue::new(format!("/vouch/commands/{i}"), format!("the command `{}` {why}", excerpt(text)));
            out.warn("vouched-command", at, issue.help(help));
        }
        for (i, host) in vouch.hosts.iter().enumerate().filter(|(_, host)| host.0.contains(['/', '@', ' '])) {
            let message =
                format!("`{}` matches no host: a host has no scheme, user or path", excerpt(&host.0));
            let issue =
                Issue::new(format!("/vouch/hosts/{i}"), message).help("write the host alone: `github.com`");
            out.warn("vouched-host", at, issue);
        }
        let lists = [
            ("reads", &vouch.reads),
            ("edits", &vouch.edits),
            ("hosts", &vouch.hosts),
            ("tools", &vouch.tools),
        ];
        for (key, patterns) in lists {
            for (i, _) in patterns.iter().enumerate().filter(|(_, pattern)| pattern.0.trim().is_empty()) {
                let issue =
                    Issue::new(format!("/vouch/{key}/{i}"), "this pattern is empty").help("leave it out");
                out.warn("vouched-pattern", at, issue);
            }
        }
    }
}
