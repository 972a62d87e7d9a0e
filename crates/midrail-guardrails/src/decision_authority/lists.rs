//! Lists of commands and hosts for an autonomy level, and the check of a call against them.

use std::collections::{BTreeMap, BTreeSet};

use midrail_core::{Action, ActionType, glob};
use midrail_shell::command::invocation::Arg;

use crate::prelude::*;
use crate::shared::data::PROGRAMS;
use crate::shared::objections::strongest;
use crate::shared::settings::{Pattern, list};
use crate::shared::started_programs::{StartedProgram, operands_from};

/// The commands that an agent may run. `deny` is checked first, then `ask`, then `allow`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CommandLists {
    /// Allowed commands. Absent: all; empty: none.
    pub allow: Option<Vec<CommandRule>>,
    /// Denied commands.
    pub deny: Vec<CommandRule>,
    /// Commands that need approval.
    pub ask: Vec<CommandRule>,
}

/// A program, by name or glob pattern, or programs with a glob pattern for their arguments as one text:
/// `ruff: "check *"`. A pattern that ends in ` *` also matches a call without further arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected the name of a program, or a program with its arguments, such as `ruff: \"check *\"`"
)]
pub(crate) enum CommandRule {
    /// With any arguments.
    Program(Pattern),
    /// With these arguments.
    Args(BTreeMap<Pattern, Pattern>),
}

/// Whether a rule matches a program that is started.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    No,
    /// The program or its arguments are not fully known.
    Maybe,
    Yes,
}

impl CommandRule {
    /// Whether it matches a program. In a list that forbids, options before the subcommand are ignored.
    fn fit(&self, started: &StartedProgram, forbids: bool) -> Fit {
        if started.program.is_empty() {
            return Fit::Maybe;
        }
        let rules = match self {
            CommandRule::Program(pattern) => {
                return if pattern.matches_name(&started.program) { Fit::Yes } else { Fit::No };
            }
            CommandRule::Args(rules) => rules,
        };
        let fitting = rules.iter().filter(|(program, _)| program.matches_name(&started.program));
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

fn fit_args(pattern: &str, started: &StartedProgram, forbids: bool) -> Fit {
    let (Some(text), Some(args)) = (started.text(), started.args.as_deref()) else { return Fit::Maybe };
    if fits_text(pattern, &text) {
        return Fit::Yes;
    }
    if !forbids {
        return Fit::No;
    }
    let operands: Vec<&Arg> = operands_from(args).collect();
    let words: Vec<&str> = operands.iter().map(|arg| arg.text.as_str()).collect();
    // `set` alone prints all variables; `set -e` does not. It has options and no subcommand.
    if started.program != "set" && fits_text(pattern, &words.join(" ")) {
        return Fit::Yes;
    }
    // The subcommand is in a variable, or comes from elsewhere.
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

impl CommandLists {
    pub(crate) fn is_limited(&self) -> bool {
        self.allow.is_some() || !self.deny.is_empty() || !self.ask.is_empty()
    }

    /// The strongest objection to any of the programs, the first one if several are equal.
    pub(crate) fn objection(&self, programs: &[StartedProgram], outside: Effect) -> Option<Verdict> {
        if !self.is_limited() {
            return None;
        }
        strongest(programs.iter().filter_map(|program| self.objection_to(program, outside)))
    }

    fn objection_to(&self, started: &StartedProgram, outside: Effect) -> Option<Verdict> {
        let best = |list: &[CommandRule], forbids| list.iter().map(|rule| rule.fit(started, forbids)).max();
        let fit = |list: &[CommandRule], forbids| best(list, forbids).unwrap_or(Fit::No);
        let (denied, needs_approval) = (fit(&self.deny, true), fit(&self.ask, true));
        let allowed = self.allow.as_deref().map_or(Fit::Yes, |list| fit(list, false));
        let name = name(started);
        let objection = |effect: Effect, why: &str, advice: &str| {
            let verdict = Verdict::new(effect, format!("{name} {why}.")).advise(advice);
            Some(verdict.with("program", started.program.as_str()))
        };
        let escalate = |why: &str| {
            objection(Effect::Escalate, why, "Wait for the approval, or continue with other work.")
        };
        if denied == Fit::Yes {
            let advice = "Use another approach, or hand this step to an agent that may run the command.";
            return objection(Effect::Block, "is denied at this autonomy level", advice);
        }
        if needs_approval == Fit::Yes && denied == Fit::No {
            return escalate("needs approval at this autonomy level");
        }
        if allowed == Fit::No || (allowed == Fit::Maybe && started.program.is_empty()) {
            let list: Vec<String> = self.allow.iter().flatten().map(CommandRule::text).collect();
            let advice = match list.as_slice() {
                [] => "This autonomy level allows no commands.".to_owned(),
                list => format!("Use an allowed command: {}.", list.join(", ")),
            };
            return objection(outside, "is not allowed at this autonomy level", &advice);
        }
        if needs_approval == Fit::No && denied == Fit::No && allowed == Fit::Yes {
            return None;
        }
        escalate("may exceed this autonomy level, because its effect is not fully known")
    }
}

fn name(started: &StartedProgram) -> String {
    let place = if started.is_substituted { " (in a subshell)" } else { "" };
    match started.program.as_str() {
        "" => format!("A command with an unknown program{place}"),
        program => format!("Command '{program}'{place}"),
    }
}

/// The hosts that an agent may contact. `deny` is checked first, then `allow`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NetworkLists {
    /// Whether any host may be contacted.
    pub enabled: bool,
    /// Allowed hosts: exact names, or `*.example.com` for subdomains. Absent: all; empty: none.
    pub allow: Option<Vec<Pattern>>,
    /// Denied hosts, including all subdomains.
    pub deny: Vec<Pattern>,
}

impl Default for NetworkLists {
    fn default() -> Self {
        NetworkLists { enabled: true, allow: None, deny: Vec::new() }
    }
}

/// Whether an action contacts a host, as far as the call shows.
pub(crate) fn contacts_host(action: &Action) -> bool {
    action.kind == ActionType::Network
        || !action.hosts.is_empty()
        || action.has_unknown_hosts
        || action.programs.iter().any(|program| matches!(program.as_str(), "curl" | "wget"))
}

impl NetworkLists {
    pub(crate) fn is_limited(&self) -> bool {
        !self.enabled || self.allow.is_some() || !self.deny.is_empty()
    }

    /// An objection to the hosts of a call.
    pub(crate) fn objection(
        &self,
        kind: ActionType,
        hosts: &BTreeSet<&str>,
        has_unknown_hosts: bool,
        programs: &[StartedProgram],
        outside: Effect,
    ) -> Option<Verdict> {
        let fetches = |started: &&StartedProgram| {
            PROGRAMS.row("remote subcommands", &started.program).is_some_and(|subcommands| {
                started.subcommand().is_none_or(|subcommand| subcommands.contains(&subcommand))
                    && started.args.as_ref().is_none_or(|args| !args.is_empty())
            })
        };
        let is_client = |started: &&StartedProgram| PROGRAMS.has("network clients", &started.program);
        if !self.enabled {
            let contacts = kind == ActionType::Network
                || !hosts.is_empty()
                || has_unknown_hosts
                || programs.iter().any(|started| is_client(&started) || fetches(&started));
            return contacts.then(|| {
                Verdict::block("Network access is disabled at this autonomy level.").advise(
                    "Continue with local data, or hand this step to an agent that has network access.",
                )
            });
        }
        let is_denied = |host: &str| self.deny.iter().any(|pattern| is_at_or_below(&pattern.0, host));
        let mut hosts: Vec<String> = hosts.iter().map(|host| normal(host)).collect();
        // A denied host counts before one that is not listed.
        hosts.sort_by_key(|host| !is_denied(host));
        let has_hosts = !hosts.is_empty();
        for host in hosts {
            let is_denied = is_denied(&host);
            let is_allowed = self
                .allow
                .as_deref()
                .is_none_or(|list| list.iter().any(|it| glob::name_matches(&normal_pattern(&it.0), &host)));
            if is_denied || !is_allowed {
                let (effect, why) =
                    if is_denied { (Effect::Block, "is denied") } else { (outside, "is not allowed") };
                return Some(
                    Verdict::new(effect, format!("Host '{host}' {why} at this autonomy level."))
                        .advise(self.advice())
                        .with("host", host),
                );
            }
        }
        if self.allow.is_none() && self.deny.is_empty() {
            return None;
        }
        let unknown_target = programs.iter().find(|started| is_client(started) && started.is_vague());
        let fetcher = programs.iter().find(fetches).filter(|_| self.allow.is_some() && !has_hosts);
        let unnamed = kind == ActionType::Network && !has_hosts && self.allow.is_some();
        // A configured host, such as that of `git push`, may be any; a list of denied hosts is no reason to ask each time.
        let is_unknown = has_unknown_hosts && self.allow.is_some();
        let caller = match (unknown_target.or(fetcher), unnamed || is_unknown) {
            (Some(started), _) => format!("'{}'", started.program),
            (None, true) => "this call".to_owned(),
            (None, false) => return None,
        };
        Some(
            Verdict::new(Effect::Escalate, format!("The host that {caller} would contact is unknown."))
                .advise("Name the host in the call, or wait for the approval."),
        )
    }

    fn advice(&self) -> String {
        match self.allow.as_deref() {
            Some([]) => "This autonomy level allows no hosts.".to_owned(),
            Some(hosts) => format!("Use an allowed host: {}.", list(hosts)),
            None => "Use another source, or hand this step to an agent that may contact the host.".to_owned(),
        }
    }
}

/// A host in lowercase, without brackets and trailing dot.
fn normal(host: &str) -> String {
    host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase()
}

fn is_at_or_below(pattern: &str, host: &str) -> bool {
    let pattern = normal_pattern(pattern);
    let apex = pattern.strip_prefix("*.").unwrap_or(&pattern);
    glob::name_matches(apex, host) || glob::name_matches(&format!("*.{apex}"), host)
}

fn normal_pattern(pattern: &str) -> String {
    pattern.trim_end_matches('.').to_ascii_lowercase()
}
