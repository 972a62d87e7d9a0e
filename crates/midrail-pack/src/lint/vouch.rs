//! `vouch`, which no decision reads yet.

use midrail_guardrails::CommandPattern;

use crate::diagnostic::{DiagnosticLevel, excerpt};
use crate::issue::Issue;
use crate::lint::linter::{Findings, Packs};
use crate::raw::VouchedCommand;

/// Reports every `vouch` as not in effect.
pub(super) fn not_in_effect(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for (at, document) in packs.iter().filter(|(_, document)| document.pack.vouch.is_some()) {
        let issue = Issue::new("/vouch", format!("`vouch` of `{}` is not in effect yet", document.pack.pack))
            .help("the coding agent asks as before; keep its own permission rules");
        out.add("vouch-not-in-effect", DiagnosticLevel::Note, at, issue);
    }
}

/// Vouched commands and hosts that are none.
pub(super) fn invalid(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for (at, document) in packs.iter() {
        let Some(vouch) = &document.pack.vouch else { continue };
        for (i, command) in vouch.commands.iter().enumerate() {
            let text = command.text();
            let (why, help) = match (CommandPattern::parse(text), command) {
                (Ok(_), _) if text.starts_with('*') => {
                    ("vouches for every program".to_owned(), "name the program: `cargo test`")
                }
                (Ok(_), _) | (Err(_), VouchedCommand::Exact { .. }) => continue,
                (Err(why), _) => (why, "write the program and its first words, such as `cargo test`"),
            };
            let issue =
                Issue::new(format!("/vouch/commands/{i}"), format!("the command `{}` {why}", excerpt(text)));
            out.warn("vouched-command", at, issue.help(help));
        }
        for (i, host) in vouch.hosts.iter().enumerate().filter(|(_, host)| host.contains(['/', '@', ' '])) {
            let message = format!("`{}` matches no host: a host has no scheme, user or path", excerpt(host));
            let issue =
                Issue::new(format!("/vouch/hosts/{i}"), message).help("write the host alone: `github.com`");
            out.warn("vouched-host", at, issue);
        }
    }
}
