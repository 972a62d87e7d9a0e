//! Codex and Copilot: one call or flag per rule.

use super::super::codex::{quoted, write};
use super::super::rule::{CommandPattern, Subject, Verdict};
use super::super::unpack::Unpacked;
use super::writer::{Exported, mcp, start, without_asked, without_exceptions};

pub(crate) fn codex(unpacked: Unpacked) -> Exported {
    let (rules, mut writer) = start(unpacked);
    let mut lines: Vec<String> = Vec::new();
    for rule in &rules {
        let line = match &rule.subject {
            Subject::Command(pattern) => write(rule.verdict, pattern, rule.reason.as_deref())
                .ok_or("Codex has rules for the first words of a command only, without wildcards"),
            Subject::Host(host) if !host.contains('*') => {
                let decision = match rule.verdict {
                    Verdict::Allow => "allow",
                    Verdict::Ask => "prompt",
                    Verdict::Deny => "deny",
                };
                let reason = rule.reason.as_ref();
                let reason =
                    reason.map(|reason| format!(", justification = {}", quoted(reason))).unwrap_or_default();
                Ok(format!(
                    "network_rule(host = {}, protocol = \"https\", decision = \"{decision}\"{reason})",
                    quoted(host)
                ))
            }
            _ => Err("Codex has rules for commands and for names of hosts only"),
        };
        match line {
            Ok(line) => {
                without_exceptions(rule, &mut writer);
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
            Err(reason) => writer.leave_out(&rule.source, reason),
        }
    }
    writer.rules = lines.len();
    let text = lines.into_iter().map(|line| line + "\n").collect();
    writer.finish(text, ".codex/rules/midrail.rules")
}

pub(crate) fn copilot(unpacked: Unpacked) -> Exported {
    let (rules, mut writer) = start(unpacked);
    for rule in rules.iter().filter(|rule| rule.verdict == Verdict::Ask) {
        writer.leave_out(
            &rule.source,
            "Copilot CLI has no flags that ask; it asks for everything that is not allowed",
        );
    }
    let rules = without_asked(rules, &mut writer);
    let tools: Vec<String> = rules
        .iter()
        .filter_map(|rule| match &rule.subject {
            Subject::Tool(tool) => mcp(tool).map(|(server, tool)| format!("{server}-{tool}")),
            _ => None,
        })
        .collect();
    let mut flags: Vec<String> = Vec::new();
    for rule in &rules {
        let word = if rule.verdict == Verdict::Allow { "allow" } else { "deny" };
        let flag = match &rule.subject {
            Subject::Command(pattern) if pattern.is_every() => Ok(format!("--{word}-tool 'shell'")),
            Subject::Command(CommandPattern { words, .. }) if words.contains(['*', '\'']) => {
                Err("Copilot CLI has no wildcards in commands")
            }
            Subject::Command(CommandPattern { words, is_exact: true }) => {
                Ok(format!("--{word}-tool 'shell({words})'"))
            }
            Subject::Command(CommandPattern { words, .. }) => Ok(format!("--{word}-tool 'shell({words}:*)'")),
            Subject::Edit(path) if path == "**" => Ok(format!("--{word}-tool 'write'")),
            Subject::Edit(path) if !path.contains('\'') => Ok(format!("--{word}-tool 'write({path})'")),
            Subject::Read(path) if path == "**" && rule.verdict == Verdict::Allow => {
                Ok(format!("--{word}-tool 'read'"))
            }
            Subject::Read(path) if !path.contains('\'') => Ok(format!("--{word}-tool 'read({path})'")),
            Subject::Host(host) if !host.contains('\'') => Ok(format!("--{word}-url '{host}'")),
            Subject::Tool(tool) => match mcp(tool) {
                Some((server, "*")) => Ok(format!("--{word}-tool '{server}'")),
                Some((server, tool)) => Ok(format!("--{word}-tool '{server}({tool})'")),
                // The same tool under the name of the host.
                None if tools.contains(tool) => continue,
                None => Err("Copilot CLI has flags for tools of MCP servers only"),
            },
            _ => Err("Copilot CLI has no flag for it"),
        };
        match flag {
            Ok(flag) => {
                without_exceptions(rule, &mut writer);
                if !flags.contains(&flag) {
                    flags.push(flag);
                }
            }
            Err(reason) => writer.leave_out(&rule.source, reason),
        }
    }
    writer.rules = flags.len();
    let flags: String = flags.iter().map(|flag| format!(" \\\n  {flag}")).collect();
    writer.finish(format!("#!/bin/sh\nexec copilot{flags} \\\n  \"$@\"\n"), "copilot.sh")
}
