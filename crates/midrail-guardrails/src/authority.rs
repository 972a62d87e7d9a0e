//! What a level of autonomy says of commands and hosts: the lists, and whether a call keeps to them.

use std::collections::{BTreeMap, BTreeSet};

use midrail_core::{Action, ActionType, Effect, Verdict, glob};
use midrail_detect::shell::invocation::Arg;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::commands::{Started, operands_from};
use crate::settings::Pattern;

/// The commands that an agent may run: `deny` first, then `ask`, then `allow`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Commands {
    /// Those that it may run. Absent: all; empty: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<CommandRule>>,
    /// Those that it may not run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<CommandRule>,
    /// Those that a person is asked about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<CommandRule>,
}

/// A program, by its name or a glob pattern; or programs with a glob pattern for their arguments as one text:
/// `ruff: "check *"`. A pattern that ends in ` *` fits no further arguments as well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CommandRule {
    /// Whatever its arguments.
    Program(Pattern),
    /// With these arguments.
    Args(BTreeMap<Pattern, Pattern>),
}

/// Whether a rule speaks of a program that is started.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    No,
    /// Its name or its arguments are not known well enough.
    Maybe,
    Yes,
}

impl CommandRule {
    /// Whether it speaks of a program. A list that forbids is not evaded by options before the verb.
    fn fit(&self, started: &Started, forbids: bool) -> Fit {
        if started.program.is_empty() {
            return Fit::Maybe;
        }
        let rules = match self {
            CommandRule::Program(pattern) => {
                return if pattern.fits_name(&started.program) { Fit::Yes } else { Fit::No };
            }
            CommandRule::Args(rules) => rules,
        };
        let fitting = rules.iter().filter(|(program, _)| program.fits_name(&started.program));
        fitting.map(|(_, args)| fit_args(&args.0, started, forbids)).max().unwrap_or(Fit::No)
    }

    fn text(&self) -> String {
        match self {
            CommandRule::Program(pattern) => pattern.0.clone(),
            CommandRule::Args(rules) => {
                let texts: Vec<String> =
                    rules.iter().map(|(program, args)| format!("{} {}", program.0, args.0)).collect();
                texts.join(", ")
            }
        }
    }
}

fn fit_args(pattern: &str, started: &Started, forbids: bool) -> Fit {
    let (Some(text), Some(args)) = (started.text(), started.args.as_deref()) else { return Fit::Maybe };
    if fits_text(pattern, &text) {
        return Fit::Yes;
    }
    if !forbids {
        return Fit::No;
    }
    let operands: Vec<&Arg> = operands_from(args).collect();
    let words: Vec<&str> = operands.iter().map(|arg| arg.text.as_str()).collect();
    // `set -e` is none of what `set` alone does, which is to show everything: it has no verb, only options.
    if started.program != "set" && fits_text(pattern, &words.join(" ")) {
        return Fit::Yes;
    }
    // What the program is told to do is in a variable, or comes from elsewhere.
    let is_vague = match operands.first() {
        Some(first) => !first.is_known(),
        None => started.has_more_args,
    };
    if is_vague { Fit::Maybe } else { Fit::No }
}

fn fits_text(pattern: &str, text: &str) -> bool {
    glob::name_matches(pattern, text)
        || pattern.strip_suffix(" *").is_some_and(|alone| glob::name_matches(alone, text))
}

impl Commands {
    pub(crate) fn is_limited(&self) -> bool {
        self.allow.is_some() || !self.deny.is_empty() || !self.ask.is_empty()
    }

    /// The strongest objection to any of the programs.
    pub(crate) fn objection(&self, programs: &[Started]) -> Option<Verdict> {
        if !self.is_limited() {
            return None;
        }
        let objections = programs.iter().filter_map(|program| self.objection_to(program));
        // The first of the strongest.
        objections.fold(None, |found: Option<Verdict>, verdict| match found {
            Some(found) if found.effect >= verdict.effect => Some(found),
            _ => Some(verdict),
        })
    }

    fn objection_to(&self, started: &Started) -> Option<Verdict> {
        let best = |list: &[CommandRule], forbids| list.iter().map(|rule| rule.fit(started, forbids)).max();
        let fit = |list: &[CommandRule], forbids| best(list, forbids).unwrap_or(Fit::No);
        let (denied, asked) = (fit(&self.deny, true), fit(&self.ask, true));
        let allowed = self.allow.as_deref().map_or(Fit::Yes, |list| fit(list, false));
        let name = name(started);
        if denied == Fit::Yes {
            return Some(
                Verdict::block(format!("{name} is denied at this level of autonomy."))
                    .advise("Reach the goal another way, or hand this step to someone who may run it.")
                    .with("program", started.program.as_str()),
            );
        }
        let asks = |why: &str| {
            Verdict::new(Effect::Escalate, format!("{name} {why}."))
                .advise("Wait for the answer, or go on with something else.")
                .with("program", started.program.as_str())
        };
        if asked == Fit::Yes && denied == Fit::No {
            return Some(asks("is for a person to decide at this level of autonomy"));
        }
        if allowed == Fit::No || (allowed == Fit::Maybe && started.program.is_empty()) {
            let list: Vec<String> = self.allow.iter().flatten().map(CommandRule::text).collect();
            let advice = match list.as_slice() {
                [] => "No command may be run.".to_owned(),
                list => format!("Use one of: {}.", list.join(", ")),
            };
            return Some(
                Verdict::block(format!("{name} is not among the commands of this level of autonomy."))
                    .advise(advice)
                    .with("program", started.program.as_str()),
            );
        }
        let is_certain = asked == Fit::No && denied == Fit::No && allowed == Fit::Yes;
        (!is_certain).then(|| {
            asks("may be more than this level of autonomy leaves to the agent: what it does is not all known")
        })
    }
}

fn name(started: &Started) -> String {
    let place = if started.is_substituted { " (in a subshell)" } else { "" };
    match started.program.as_str() {
        "" => format!("A command whose program is not known{place}"),
        program => format!("Command '{program}'{place}"),
    }
}

/// The hosts that an agent may talk to: `deny` first, then `allow`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// Whether it may talk to any.
    pub enabled: bool,
    /// Those that it may talk to: exactly these, or `*.example.com` for all below one. Absent: all; empty: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<Pattern>>,
    /// Those that it may not talk to, and all below them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<Pattern>,
}

impl Default for Network {
    fn default() -> Self {
        Network { enabled: true, allow: None, deny: Vec::new() }
    }
}

/// Programs that talk to the host that they are given.
const TALKERS: &[&str] = &[
    "curl", "wget", "http", "https", "xh", "aria2c", "ssh", "scp", "sftp", "ftp", "telnet", "nc", "ncat",
    "netcat", "socat", "ping", "dig", "nslookup", "mosh", "lynx",
];

/// Programs that talk to a host of their own settings, by their verbs.
const FETCHERS: &[(&str, &[&str])] = &[
    ("git", &["push", "pull", "fetch", "clone", "ls-remote", "submodule"]),
    ("gh", &["pr", "issue", "repo", "release", "api", "run", "workflow", "gist"]),
    ("pip", &["install", "download"]),
    ("pip3", &["install", "download"]),
    ("uv", &["add", "sync", "pip", "tool"]),
    ("poetry", &["add", "install", "update", "publish"]),
    ("npm", &["install", "i", "ci", "add", "update", "publish"]),
    ("pnpm", &["install", "i", "add", "update", "publish", "dlx"]),
    ("yarn", &["install", "add", "upgrade", "publish", "dlx"]),
    ("cargo", &["install", "publish", "search"]),
    ("go", &["get", "install"]),
    ("gem", &["install", "push"]),
    ("apt", &["install", "update", "upgrade"]),
    ("apt-get", &["install", "update", "upgrade"]),
    ("brew", &["install", "update", "upgrade"]),
    ("docker", &["pull", "push", "login"]),
    ("aws", &["s3", "ec2", "lambda", "sts"]),
];

/// Whether an action talks to a host, as far as its call tells.
pub(crate) fn talks(action: &Action) -> bool {
    action.kind == ActionType::Network
        || !action.hosts.is_empty()
        || action.programs.iter().any(|program| matches!(program.as_str(), "curl" | "wget"))
}

impl Network {
    pub(crate) fn is_limited(&self) -> bool {
        !self.enabled || self.allow.is_some() || !self.deny.is_empty()
    }

    /// An objection to what a call talks to.
    pub(crate) fn objection(
        &self,
        kind: ActionType,
        hosts: &BTreeSet<&str>,
        programs: &[Started],
    ) -> Option<Verdict> {
        let fetches = |started: &&Started| {
            let verbs =
                FETCHERS.iter().find(|(program, _)| *program == started.program).map(|(_, verbs)| *verbs);
            verbs.is_some_and(|verbs| {
                started.verb().is_none_or(|verb| verbs.contains(&verb))
                    && started.args.as_ref().is_none_or(|args| !args.is_empty())
            })
        };
        let is_talker = |started: &&Started| TALKERS.contains(&started.program.as_str());
        if !self.enabled {
            let talks = kind == ActionType::Network
                || !hosts.is_empty()
                || programs.iter().any(|started| is_talker(&started) || fetches(&started));
            return talks.then(|| {
                Verdict::block("Talking to the network is disabled at this level of autonomy.")
                    .advise("Work with what is at hand, or hand this step to someone who may.")
            });
        }
        for host in hosts {
            let host = normal(host);
            let is_denied = self.deny.iter().any(|pattern| is_at_or_below(&pattern.0, &host));
            let is_allowed =
                self.allow.as_deref().is_none_or(|list| list.iter().any(|it| is_allowed(&it.0, &host)));
            if is_denied || !is_allowed {
                let why = if is_denied { "is denied" } else { "is not among the hosts" };
                let what = if is_denied { "at" } else { "of" };
                return Some(
                    Verdict::block(format!("Host '{host}' {why} {what} this level of autonomy."))
                        .advise(self.advice())
                        .with("host", host),
                );
            }
        }
        if self.allow.is_none() && self.deny.is_empty() {
            return None;
        }
        let vague_talker = programs.iter().find(|started| is_talker(started) && started.is_vague());
        let fetcher = programs.iter().find(fetches).filter(|_| self.allow.is_some() && hosts.is_empty());
        let unnamed = kind == ActionType::Network && hosts.is_empty() && self.allow.is_some();
        let who = match (vague_talker.or(fetcher), unnamed) {
            (Some(started), _) => format!("'{}'", started.program),
            (None, true) => "this call".to_owned(),
            (None, false) => return None,
        };
        Some(
            Verdict::new(
                Effect::Escalate,
                format!("Which host {who} would talk to is not told by the call."),
            )
            .advise("Name the host in the call, or wait for a person's answer."),
        )
    }

    fn advice(&self) -> String {
        match self.allow.as_deref() {
            Some([]) => "No host may be talked to.".to_owned(),
            Some(list) => {
                let names: Vec<&str> = list.iter().map(|it| it.0.as_str()).collect();
                format!("Use one of: {}.", names.join(", "))
            }
            None => "Work with another source, or hand this step to someone who may.".to_owned(),
        }
    }
}

/// A host without case, brackets and the dot at its end.
fn normal(host: &str) -> String {
    host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase()
}

fn is_allowed(pattern: &str, host: &str) -> bool {
    glob::name_matches(&normal_pattern(pattern), host)
}

fn is_at_or_below(pattern: &str, host: &str) -> bool {
    let pattern = normal_pattern(pattern);
    let apex = pattern.strip_prefix("*.").unwrap_or(&pattern);
    glob::name_matches(apex, host) || glob::name_matches(&format!("*.{apex}"), host)
}

fn normal_pattern(pattern: &str) -> String {
    pattern.trim_end_matches('.').to_ascii_lowercase()
}
