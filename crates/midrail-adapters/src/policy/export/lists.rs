//! Claude Code and Cursor: lists of rules by verdict.

use super::super::rule::{CommandPattern, PolicyRule, Subject, Verdict};
use super::super::unpack::{Unpacked, unescaped};
use super::writer::{Exported, Writer, json_text, mcp, start, without_asked, without_exceptions};

/// A rule of a host as text, or why there is none.
type Written = Result<Vec<String>, &'static str>;

pub(crate) fn claude_code(unpacked: Unpacked) -> Exported {
    let (rules, mut writer) = start(unpacked);
    let lists = [("deny", Verdict::Deny), ("ask", Verdict::Ask), ("allow", Verdict::Allow)];
    let text = write(&rules, &lists, &mut writer, claude_rule);
    writer.finish(text, ".claude/settings.json")
}

pub(crate) fn cursor(unpacked: Unpacked) -> Exported {
    let (rules, mut writer) = start(unpacked);
    let lists = [("deny", Verdict::Deny), ("allow", Verdict::Allow)];
    for rule in rules.iter().filter(|rule| rule.verdict == Verdict::Ask) {
        writer.leave_out(
            &rule.source,
            "Cursor has no rules that ask; it asks for everything that is not allowed",
        );
    }
    // An allow would take the question away.
    let rules: Vec<PolicyRule> = without_asked(rules, &mut writer);
    let text = write(&rules, &lists, &mut writer, cursor_rule);
    writer.finish(text, ".cursor/cli.json")
}

fn write(
    rules: &[PolicyRule],
    lists: &[(&str, Verdict)],
    writer: &mut Writer,
    text: fn(&PolicyRule) -> Written,
) -> String {
    let mut parts = Vec::new();
    for (name, verdict) in lists {
        let mut items: Vec<String> = Vec::new();
        for rule in rules.iter().filter(|rule| rule.verdict == *verdict) {
            match text(rule) {
                Ok(texts) => {
                    without_exceptions(rule, writer);
                    for text in texts {
                        let text = json_text(&text);
                        if !items.contains(&text) {
                            items.push(text);
                        }
                    }
                }
                Err(reason) => writer.leave_out(&rule.source, reason),
            }
        }
        writer.rules += items.len();
        if !items.is_empty() {
            parts.push(format!("    \"{name}\": [\n      {}\n    ]", items.join(",\n      ")));
        }
    }
    if parts.is_empty() {
        return "{\n  \"permissions\": {}\n}\n".to_owned();
    }
    format!("{{\n  \"permissions\": {{\n{}\n  }}\n}}\n", parts.join(",\n"))
}

fn claude_rule(rule: &PolicyRule) -> Written {
    let path = |path: &str| if path.starts_with('/') { format!("/{path}") } else { path.to_owned() };
    let is_allow = rule.verdict == Verdict::Allow;
    Ok(vec![match &rule.subject {
        Subject::Command(pattern) if pattern.is_every() => "Bash".to_owned(),
        Subject::Command(CommandPattern { words, is_exact: true }) => format!("Bash({words})"),
        Subject::Command(CommandPattern { words, .. }) if words.ends_with('*') => format!("Bash({words})"),
        Subject::Command(CommandPattern { words, .. }) if words.contains('*') => format!("Bash({words} *)"),
        Subject::Command(CommandPattern { words, .. }) => format!("Bash({words}:*)"),
        Subject::CommandText(glob) => {
            let text = unescaped(glob).ok_or("Claude Code has only `*` in patterns")?;
            format!("Bash({text})")
        }
        // A protected file may be neither read nor written.
        Subject::Read(place) if !is_allow => {
            return Ok(vec![format!("Read({})", path(place)), format!("Edit({})", path(place))]);
        }
        Subject::Read(place) if place == "**" => "Read".to_owned(),
        Subject::Edit(place) if place == "**" && is_allow => "Edit".to_owned(),
        Subject::Read(place) => format!("Read({})", path(place)),
        Subject::Edit(place) => format!("Edit({})", path(place)),
        Subject::Host(host) if host == "*" => "WebFetch".to_owned(),
        Subject::Host(host) => format!("WebFetch(domain:{host})"),
        Subject::Tool(tool) if is_allow && (tool == "*" || tool.starts_with("mcp__*")) => {
            return Err("Claude Code needs the name of a tool or of a server in `allow`");
        }
        Subject::Tool(tool) => tool.clone(),
        Subject::ToolArgument { tool, argument, value } => match (tool.as_str(), argument.as_str()) {
            ("Agent" | "Task", "subagent_type") | ("Skill", "skill") => format!("{tool}({value})"),
            _ => format!("{tool}({argument}:{value})"),
        },
    }])
}

fn cursor_rule(rule: &PolicyRule) -> Written {
    Ok(vec![match &rule.subject {
        Subject::Command(pattern) if pattern.is_every() => "Shell(*)".to_owned(),
        Subject::Command(CommandPattern { words, is_exact }) => match words.split_once(' ') {
            Some((program, arguments)) => {
                let more = if *is_exact || arguments.ends_with('*') { "" } else { " *" };
                format!("Shell({program}:{arguments}{more})")
            }
            None if *is_exact => format!("Shell({words}:)"),
            None => format!("Shell({words})"),
        },
        Subject::CommandText(_) => return Err("Cursor compares the program and its arguments, not a line"),
        Subject::Read(place) if rule.verdict != Verdict::Allow => {
            return Ok(vec![format!("Read({place})"), format!("Write({place})")]);
        }
        Subject::Read(place) => format!("Read({place})"),
        Subject::Edit(place) => format!("Write({place})"),
        Subject::Host(host) => format!("WebFetch({host})"),
        Subject::Tool(tool) => match mcp(tool) {
            Some((server, tool)) => format!("Mcp({server}:{tool})"),
            None => return Err("Cursor has rules for tools of MCP servers only"),
        },
        Subject::ToolArgument { .. } => return Err("Cursor has no rules for arguments of tools"),
    }])
}
