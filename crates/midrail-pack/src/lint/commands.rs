//! Commands in rules that can never be run, or that prove nothing.

use midrail_guardrails::CommandPattern;

use crate::diagnostic::{DiagnosticLevel, excerpt};
use crate::issue::Issue;
use crate::layers::Merged;
use crate::lint::linter::{Findings, Packs};
use crate::lint::needs::{can_stop, condition};
use crate::lint::traps::{foreign_pattern, visit};
use crate::raw::{CallsText, RequireBefore};
use crate::yaml::NodeValue;

/// Commands of which one is needed before others.
struct CommandNeed {
    document: usize,
    at: String,
    gates: Vec<String>,
    any_of: Vec<String>,
    /// It applies only under a condition.
    is_conditional: bool,
}

/// Rules that wait for themselves or for one another, and requirements that are never met.
pub(super) fn never_met(out: &mut Findings<'_>, merged: &Merged<'_>) {
    let mut needs = Vec::new();
    for placed in merged.guards.iter().filter(|placed| can_stop(placed)) {
        let (guard, at) = (placed.guard.guard, &placed.guard.at);
        let own = guard.require_before.iter().map(|rule| (format!("{at}/require_before"), rule));
        let keyed = guard.keyed.iter().flatten().enumerate();
        let keyed = keyed.map(|(i, rule)| (format!("{at}/keyed/{i}"), rule));
        let rules = guard.rules.iter().flatten().enumerate();
        let rules = rules.map(|(i, rule)| (format!("{at}/rules/{i}/require_before"), &rule.require_before));
        for (at, rule) in own.chain(keyed).chain(rules) {
            if let Some(issue) = requirement_issue(&at, rule) {
                out.add("unmet-requirement", DiagnosticLevel::Error, placed.member, issue);
                continue;
            }
            let need = |any_of| CommandNeed {
                document: placed.member,
                at: at.clone(),
                gates: rule.command.iter().flat_map(|command| command.texts()).collect(),
                any_of,
                is_conditional: condition(placed).is_some(),
            };
            needs.extend(required_commands(rule).into_iter().map(need));
        }
    }
    cycles(out, &needs);
}

/// The commands that a rule requires, each list with those of which one is enough.
fn required_commands(rule: &RequireBefore) -> Vec<Vec<String>> {
    let lists: Vec<Option<Vec<String>>> = rule.requires.iter().map(command_texts).collect();
    if rule.key.is_none() {
        return lists.into_iter().flatten().collect();
    }
    // One is enough, and a tool or a change can always be made.
    let all: Option<Vec<Vec<String>>> = lists.into_iter().collect();
    all.map(|lists| vec![lists.concat()]).unwrap_or_default()
}

fn command_texts(calls: &CallsText) -> Option<Vec<String>> {
    match calls {
        CallsText::Command { command } => Some(command.iter().flat_map(|it| it.texts()).collect()),
        CallsText::Tool(_) | CallsText::Changes { .. } => None,
    }
}

/// A requirement that no call can meet.
fn requirement_issue(at: &str, rule: &RequireBefore) -> Option<Issue> {
    let place = format!("{at}/requires");
    for calls in rule.requires.iter() {
        let texts = command_texts(calls);
        if let Some(text) = texts.iter().flatten().find(|text| describes(text)) {
            let message = format!("`{text}` proves nothing: with this option it does not do its work");
            return Some(Issue::new(place, message).help("require the command without this option"));
        }
        let Some(since) = &rule.since else { continue };
        let restarts = match (&texts, command_texts(since)) {
            (Some(texts), Some(since)) => {
                let is_since = |text: &String| since.iter().any(|since| covers(since, text));
                !texts.is_empty() && texts.iter().all(is_since)
            }
            _ => calls == since,
        };
        if restarts {
            let message = "this requirement is never met: `since` applies to the required call itself";
            return Some(Issue::new(place, message).help("use another call in `since`, or remove it"));
        }
    }
    None
}

/// Whether a command only shows what it would do.
fn describes(text: &str) -> bool {
    CommandPattern::parse(text).is_ok_and(|pattern| pattern.only_describes())
}

/// Whether a pattern matches every call of a command. `false` if it is undetermined.
fn covers(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (CommandPattern::parse(pattern), CommandPattern::parse(text));
    pattern.is_ok_and(|pattern| text.is_ok_and(|text| pattern.covers(&text)))
}

/// Commands that wait for one another. Rules with conditions need not hold at the same time.
fn cycles(out: &mut Findings<'_>, needs: &[CommandNeed]) {
    let gates = |need: &CommandNeed, text: &str| need.gates.iter().any(|gate| covers(gate, text));
    let always: Vec<&CommandNeed> = needs.iter().filter(|need| !need.is_conditional).collect();
    // The rules that gate each alternative of each rule.
    let blockers: Vec<Vec<Vec<usize>>> = always
        .iter()
        .map(|need| {
            let of_text = |text: &String| {
                let gating = always.iter().enumerate().filter(|(_, other)| gates(other, text));
                gating.map(|(at, _)| at).collect()
            };
            need.any_of.iter().map(of_text).collect()
        })
        .collect();
    let mut is_met = vec![false; always.len()];
    loop {
        let can_be_met = |at: &usize| {
            let is_open = |rules: &Vec<usize>| rules.iter().all(|rule| is_met.get(*rule) == Some(&true));
            is_met.get(*at) == Some(&false)
                && blockers.get(*at).is_some_and(|texts| texts.iter().any(is_open))
        };
        let new: Vec<usize> = (0..always.len()).filter(can_be_met).collect();
        if new.is_empty() {
            break;
        }
        for at in new {
            if let Some(met) = is_met.get_mut(at) {
                *met = true;
            }
        }
    }
    let mut reported = vec![false; always.len()];
    for start in 0..always.len() {
        // Follow the rules that block until one repeats: the cycle begins there.
        let mut path: Vec<usize> = Vec::new();
        let mut next = Some(start).filter(|at| is_met.get(*at) == Some(&false));
        while let Some(at) = next.filter(|at| !path.contains(at)) {
            path.push(at);
            let mut blocking = blockers.get(at).into_iter().flatten().flatten();
            next = blocking.find(|rule| is_met.get(**rule) == Some(&false)).copied();
        }
        let Some(first) = next.and_then(|at| path.iter().position(|other| *other == at)) else { continue };
        let cycle = path.get(first..).unwrap_or_default();
        if cycle.iter().any(|at| reported.get(*at) == Some(&true)) {
            continue;
        }
        for at in cycle {
            if let Some(reported) = reported.get_mut(*at) {
                *reported = true;
            }
        }
        let steps: Vec<&CommandNeed> = cycle.iter().filter_map(|at| always.get(*at).copied()).collect();
        report(out, &steps);
    }
    for need in needs.iter().filter(|need| need.is_conditional) {
        if !need.any_of.is_empty() && need.any_of.iter().all(|text| gates(need, text)) {
            report(out, &[need]);
        }
    }
}

fn report(out: &mut Findings<'_>, cycle: &[&CommandNeed]) {
    let Some(first) = cycle.iter().min_by_key(|need| (need.document, &need.at)) else { return };
    let list =
        |texts: &[String]| texts.iter().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(" or ");
    let message = match cycle {
        [only] => format!("{} can never be run: it needs itself first", list(&only.gates)),
        _ => {
            let steps =
                cycle.iter().map(|need| format!("{} needs {}", list(&need.gates), list(&need.any_of)));
            format!("{} can never be run: {}", list(&first.gates), steps.collect::<Vec<_>>().join(", "))
        }
    };
    let issue = Issue::new(&first.at, message).help("remove one of these requirements");
    out.add("prerequisite-cycle", DiagnosticLevel::Error, first.document, issue);
}

/// Lists of commands that are empty, and commands that begin with a variable.
pub(super) fn never_run(packs: &Packs<'_>, out: &mut Findings<'_>) {
    for (at, document) in packs.iter() {
        let mut found = Vec::new();
        visit(&document.node, String::new(), &mut |place, node| {
            if !is_command(place) {
                return;
            }
            match &node.value {
                NodeValue::List(items) if items.is_empty() => {
                    let message =
                        "this list of commands is empty, so it does not restrict the guardrail to commands";
                    let help = "name a command, or remove `command`";
                    found.push(("empty-commands", Issue::new(place, message).help(help)));
                }
                NodeValue::Text(text, _) => {
                    found.extend(assignment_issue(place, text).map(|issue| ("assigned-command", issue)));
                    found.extend(word_issue(place, text).map(|issue| ("foreign-command", issue)));
                }
                _ => {}
            }
        });
        for (code, issue) in found {
            out.warn(code, at, issue);
        }
    }
}

/// Whether a place in a pack has a command, a list of them, or the program of one.
fn is_command(place: &str) -> bool {
    let parts: Vec<&str> = place.split('/').collect();
    let is_index = |part: &str| part.parse::<usize>().is_ok();
    let mut parts = parts.as_slice();
    while let [rest @ .., last] = parts
        && (is_index(last) || *last == "program")
    {
        parts = rest;
    }
    matches!(
        parts,
        ["", "guardrails", _, "command" | "except"]
            | ["", "guardrails", _, "require_before" | "count" | "keyed" | "rules", .., "command"]
            | ["", "agents", _, "guardrails", _, "command"]
    )
}

/// A command that begins with `NAME=value`, which is no program.
fn assignment_issue(place: &str, text: &str) -> Option<Issue> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_assignment = |word: &str| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(is_letter) && !name.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    let first = text.split_whitespace().next().filter(|word| is_assignment(word))?;
    let rest: Vec<&str> = text.split_whitespace().skip_while(|word| is_assignment(word)).collect();
    let message =
        format!("`{text}` never matches: `{first}` sets a variable, and a command begins with its program");
    let help = match rest.as_slice() {
        [] => "name a program".to_owned(),
        rest => format!("write `{}`; variables in front of it do not matter", rest.join(" ")),
    };
    Some(Issue::new(place, message).help(help))
}

/// A command with signs of another notation: a regular expression, several commands, words that may be left out.
fn word_issue(place: &str, text: &str) -> Option<Issue> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let shown = excerpt(text);
    if let Some(rest) = text.strip_prefix('!') {
        let message = format!("`{shown}` never matches: `!` is no part of the name of a program");
        let help = format!(
            "name the commands that the rule applies to, and write `except: {}`",
            excerpt(rest.trim())
        );
        return Some(Issue::new(place, message).help(help));
    }
    if let Some((word, (why, help))) = words.iter().find_map(|word| Some((word, foreign_pattern(word)?))) {
        let glob = help.strip_prefix("write `").and_then(|rest| rest.strip_suffix('`'));
        let help = glob.map(|glob| format!("write `{}`", excerpt(&text.replacen(word, glob, 1))));
        let issue = Issue::new(place, format!("`{shown}`: {why}"));
        return Some(issue.help(help.unwrap_or_else(|| "`*` matches any text within a word".to_owned())));
    }
    let is_joint =
        |word: &&&str| ["or", "and", "then", "oder", "und"].contains(&word.to_lowercase().as_str());
    if let Some(word) = words.iter().skip(1).find(is_joint) {
        let parts: Vec<String> = words
            .split(|other| other == word)
            .map(|part| part.join(" "))
            .filter(|part| !part.is_empty())
            .collect();
        let message = format!("`{shown}` is one command, and `{word}` one of its words");
        return Some(
            Issue::new(place, message).help(format!("write a list: `[{}]`", excerpt(&parts.join(", ")))),
        );
    }
    let is_optional = |word: &&&str| {
        let inner = word.strip_prefix('[').and_then(|word| word.strip_suffix(']')).unwrap_or_default();
        inner.len() > 1
            && inner.chars().all(|c| c.is_ascii_alphabetic() || c == '-')
            && inner.matches('-').count() != 1
    };
    let word = words.iter().skip(1).find(is_optional)?;
    let message =
        format!("`{word}` is one of the characters in the brackets, and not a word that may be left out");
    Some(Issue::new(place, message).help("leave it out: further words may always follow"))
}
