//! Gemini CLI and OpenCode: ordered rules, in which an allow can be an exception of a deny.

use super::super::gemini::SHELL;
use super::super::rule::{CommandPattern, PolicyRule, Subject, Verdict};
use super::super::unpack::{Unpacked, unescaped};
use super::writer::{Exported, Writer, json_text, mcp, start};

/// The place of a rule in the order, the one that decides first lowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Deny,
    Ask,
    Exception,
    DenyWithExceptions,
    AskWithExceptions,
    Allow,
}

impl Place {
    fn priority(self) -> u32 {
        match self {
            Place::Deny => 900,
            Place::Ask => 800,
            Place::Exception => 700,
            Place::DenyWithExceptions => 600,
            Place::AskWithExceptions => 500,
            Place::Allow => 100,
        }
    }
}

/// The rules with their places, the one that decides first first.
fn placed(rules: Vec<PolicyRule>, writer: &mut Writer) -> Vec<(Place, PolicyRule)> {
    let mut placed = Vec::new();
    for rule in &rules {
        // An exception must not allow what another rule with exceptions denies.
        let is_free = |exception: &Subject| {
            rules.iter().all(|other| {
                other.exceptions.is_empty()
                    || other.exceptions.contains(exception)
                    || !other.subject.may_overlap(exception)
            })
        };
        let (kept, lost): (Vec<&Subject>, Vec<&Subject>) = rule.exceptions.iter().partition(|it| is_free(it));
        if !lost.is_empty() {
            writer.is_stricter(&rule.source, "an exception would allow what another guardrail denies");
        }
        let place = match (rule.verdict, kept.is_empty()) {
            (Verdict::Allow, _) => Place::Allow,
            (Verdict::Ask, true) => Place::Ask,
            (Verdict::Ask, false) => Place::AskWithExceptions,
            (Verdict::Deny, true) => Place::Deny,
            (Verdict::Deny, false) => Place::DenyWithExceptions,
        };
        for exception in kept {
            let exception = PolicyRule::new(Verdict::Allow, exception.clone(), rule.source.clone());
            if !placed.iter().any(|(place, it): &(Place, PolicyRule)| {
                *place == Place::Exception && it.subject == exception.subject
            }) {
                placed.push((Place::Exception, exception));
            }
        }
        placed.push((place, rule.clone()));
    }
    // An allow that is an exception already is not written twice.
    let exceptions: Vec<Subject> = placed
        .iter()
        .filter(|(place, _)| *place == Place::Exception)
        .map(|(_, rule)| rule.subject.clone())
        .collect();
    placed.retain(|(place, rule)| *place != Place::Allow || !exceptions.contains(&rule.subject));
    placed.sort_by_key(|(place, _)| *place);
    placed
}

pub(crate) fn gemini(unpacked: Unpacked) -> Exported {
    let (rules, mut writer) = start(unpacked);
    let mut text = String::new();
    for (place, rule) in placed(rules, &mut writer) {
        let subject = match gemini_subject(&rule) {
            Ok(subject) => subject,
            Err(reason) => {
                writer.leave_out(&rule.source, reason);
                continue;
            }
        };
        let decision = match rule.verdict {
            Verdict::Allow => "allow",
            Verdict::Ask => "ask_user",
            Verdict::Deny => "deny",
        };
        let reason = rule.reason.as_ref().map(|reason| format!("denyMessage = {}\n", json_text(reason)));
        text.push_str(&format!(
            "[[rule]]\n{subject}decision = \"{decision}\"\npriority = {}\n{}\n",
            place.priority(),
            reason.unwrap_or_default()
        ));
        writer.rules += 1;
    }
    writer.finish(text, ".gemini/policies/midrail.toml")
}

fn gemini_subject(rule: &PolicyRule) -> Result<String, &'static str> {
    let is_allow = rule.verdict == Verdict::Allow;
    let shell = format!("toolName = \"{SHELL}\"\n");
    Ok(match &rule.subject {
        Subject::Command(pattern) if pattern.is_every() => shell,
        Subject::Command(CommandPattern { words, is_exact: false }) if !words.contains('*') => {
            format!("{shell}commandPrefix = {}\n", json_text(words))
        }
        Subject::Command(CommandPattern { words, .. }) if !is_allow => {
            format!("{shell}commandRegex = {}\n", json_text(&expression(words)))
        }
        Subject::Command(_) => return Err("Gemini CLI allows commands by their first words only"),
        Subject::CommandText(glob) => format!("{shell}commandRegex = {}\n", json_text(&expression(glob))),
        Subject::Read(path) if is_allow && path == "**" => {
            "toolName = [\"read_file\", \"read_many_files\"]\n".to_owned()
        }
        Subject::Edit(path) if is_allow && path == "**" => {
            "toolName = [\"write_file\", \"replace\"]\n".to_owned()
        }
        Subject::Read(_) | Subject::Edit(_) => return Err("Gemini CLI has no rules for single files"),
        Subject::Host(host) if is_allow && host == "*" => "toolName = \"web_fetch\"\n".to_owned(),
        Subject::Host(_) => return Err("Gemini CLI has no rules for single hosts"),
        Subject::Tool(tool) => match mcp(tool) {
            Some((server, tool)) => {
                format!("toolName = {}\nmcpName = {}\n", json_text(tool), json_text(server))
            }
            None => format!("toolName = {}\n", json_text(tool)),
        },
        Subject::ToolArgument { .. } => return Err("Gemini CLI has no rules for single arguments"),
    })
}

/// A glob pattern as a regular expression.
fn expression(glob: &str) -> String {
    let mut out = String::new();
    let mut depth = 0;
    let mut chars = glob.trim_matches('*').chars();
    while let Some(c) = chars.next() {
        match c {
            '*' => out.push_str(".*"),
            '?' => out.push('.'),
            '{' => {
                depth += 1;
                out.push('(');
            }
            '}' if depth > 0 => {
                depth -= 1;
                out.push(')');
            }
            ',' if depth > 0 => out.push('|'),
            '[' => {
                out.push('[');
                for (at, c) in chars.by_ref().enumerate() {
                    out.push(if at == 0 && c == '!' { '^' } else { c });
                    if c == ']' {
                        break;
                    }
                }
            }
            '\\' => out.extend(chars.next().into_iter().flat_map(|c| ['\\', c])),
            '.' | '+' | '(' | ')' | '|' | '^' | '$' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

pub(crate) fn opencode(unpacked: Unpacked) -> Exported {
    let (rules, mut writer) = start(unpacked);
    let mut tools: Vec<(String, Vec<(String, &'static str)>)> = Vec::new();
    // The last rule decides.
    for (_, rule) in placed(rules, &mut writer).into_iter().rev() {
        let word = match rule.verdict {
            Verdict::Allow => "allow",
            Verdict::Ask => "ask",
            Verdict::Deny => "deny",
        };
        match opencode_entries(&rule) {
            Ok(entries) => {
                for (tool, pattern) in entries {
                    writer.rules += 1;
                    match tools.iter_mut().find(|(name, _)| *name == tool) {
                        Some((_, patterns)) => {
                            patterns.retain(|(it, _)| *it != pattern);
                            patterns.push((pattern, word));
                        }
                        None => tools.push((tool, vec![(pattern, word)])),
                    }
                }
            }
            Err(reason) => writer.leave_out(&rule.source, reason),
        }
    }
    // A rule for all tools comes before those for one.
    tools.sort_by_key(|(tool, _)| tool != "*");
    let tools: Vec<String> = tools
        .iter()
        .map(|(tool, patterns)| match patterns.as_slice() {
            [(pattern, word)] if pattern == "*" => format!("    {}: \"{word}\"", json_text(tool)),
            _ => {
                let patterns = patterns
                    .iter()
                    .map(|(pattern, word)| format!("      {}: \"{word}\"", json_text(pattern)));
                format!("    {}: {{\n{}\n    }}", json_text(tool), patterns.collect::<Vec<_>>().join(",\n"))
            }
        })
        .collect();
    let body = if tools.is_empty() { String::new() } else { format!("\n{}\n  ", tools.join(",\n")) };
    writer.finish(format!("{{\n  \"permission\": {{{body}}}\n}}\n"), "opencode.json")
}

fn opencode_entries(rule: &PolicyRule) -> Result<Vec<(String, String)>, &'static str> {
    let one = |tool: &str, pattern: &str| vec![(tool.to_owned(), pattern.to_owned())];
    let place = |path: &str| if path == "**" { "*".to_owned() } else { path.to_owned() };
    Ok(match &rule.subject {
        Subject::Command(pattern) if pattern.is_every() => one("bash", "*"),
        Subject::Command(CommandPattern { words, is_exact }) => {
            let more = if *is_exact || words.ends_with('*') { "" } else { " *" };
            one("bash", &format!("{words}{more}"))
        }
        Subject::CommandText(glob) => {
            one("bash", &unescaped(glob).ok_or("OpenCode has only `*` and `?` in patterns")?)
        }
        Subject::Read(path) if rule.verdict == Verdict::Allow => one("read", &place(path)),
        Subject::Read(path) => vec![("read".to_owned(), place(path)), ("edit".to_owned(), place(path))],
        Subject::Edit(path) => one("edit", &place(path)),
        Subject::Host(host) if host == "*" => one("webfetch", "*"),
        Subject::Host(host) => one("webfetch", &format!("*://{host}/*")),
        Subject::Tool(tool) => match mcp(tool) {
            Some((server, tool)) => one(&format!("{server}_{tool}"), "*"),
            None => one(tool, "*"),
        },
        Subject::ToolArgument { tool, argument, value } => match (tool.as_str(), argument.as_str()) {
            ("task", "subagent_type") | ("skill", "name") => one(tool, value),
            _ => return Err("OpenCode has no rules for single arguments"),
        },
    })
}
