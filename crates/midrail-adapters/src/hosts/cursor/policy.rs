//! Permissions of Cursor: `cli-config.json`, `cli.json` and `permissions.json`. Deny decides before allow.

use jsonc_parser::ast::Object;

use crate::policy::format::PolicyFormat;
use crate::policy::json;
use crate::policy::ordered::strictest_first;
use crate::policy::rule::{
    CommandPattern, FileScope, HostPolicy, PolicyFile, PolicyRule, Problem, RuleResult, Subject, Verdict,
    dead,
};
use crate::policy::translate::{check_single_command, path_rules, text_rule, words_rule};
use crate::policy::writer::{Written, exact_hosts, mcp};

pub(crate) static POLICY: PolicyFormat = PolicyFormat {
    name: "cursor",
    title: "Cursor",
    user_folder: Some(("CURSOR_CONFIG_DIR", ".cursor", "")),
    files: &[
        (FileScope::Project, ".cursor/cli.json"),
        (FileScope::Project, ".cursor/permissions.json"),
        (FileScope::User, "cli-config.json"),
        (FileScope::User, "permissions.json"),
    ],
    read,
    order: strictest_first,
    export_file: ".cursor/cli.json",
    write: |rules, writer| {
        let reason = "Cursor has no rules that ask; it asks for everything that is not allowed";
        let rules = writer.without_asking(rules, reason);
        writer.lists(&LISTS, &rules, texts)
    },
};

const LISTS: [(&str, Verdict); 2] = [("deny", Verdict::Deny), ("allow", Verdict::Allow)];

fn read(files: &[PolicyFile], policy: &mut HostPolicy) {
    // The list of the deepest file replaces the others.
    let deepest = files.iter().filter(|file| has_allow(file)).min_by_key(|file| file.scope);
    for file in files {
        let replacement = deepest.filter(|deepest| deepest.scope < file.scope);
        json::with_object(file, policy, |policy, top| {
            if let Some(permissions) = json::object(top, "permissions") {
                for (list, verdict) in LISTS {
                    for source in json::texts(file, policy, permissions, list) {
                        let rules = match replacement.filter(|_| verdict == Verdict::Allow) {
                            Some(other) => Err(dead(format!("the list of {} replaces this one", other.name))),
                            None => rules(verdict, &source.rule),
                        };
                        policy.add(&source, rules);
                    }
                }
            }
            read_editor(file, top, policy);
        });
    }
}

/// Whether a file has a list of allowed calls of the CLI.
fn has_allow(file: &PolicyFile) -> bool {
    let mut found = false;
    json::with_object(file, &mut HostPolicy::default(), |_, top| {
        let permissions = json::object(top, "permissions");
        found = permissions.is_some_and(|permissions| json::property(permissions, "allow").is_some());
    });
    found && file.scope != FileScope::Managed
}

/// The allow-lists of the editor.
fn read_editor(file: &PolicyFile, top: &Object<'_>, policy: &mut HostPolicy) {
    for source in json::texts(file, policy, top, "terminalAllowlist") {
        let checked = check_single_command(POLICY.title, &source.rule);
        policy.add(&source, checked.map(|()| vec![words_rule(Verdict::Allow, &source.rule)]));
    }
    for source in json::texts(file, policy, top, "mcpAllowlist") {
        policy.add(&source, Ok(vec![PolicyRule::new(Verdict::Allow, mcp_tool(&source.rule))]));
    }
    if let Some(auto_run) = json::property(top, "autoRun") {
        let source = json::source(file, auto_run, "autoRun");
        policy.leave_out(&source, "it is a mode of the host, and stays with the host");
    }
}

/// An MCP tool: `server:tool`, each of which may be `*`.
fn mcp_tool(text: &str) -> Subject {
    let (server, tool) = text.split_once(':').unwrap_or((text, "*"));
    Subject::mcp(server.trim(), tool.trim())
}

fn rules(verdict: Verdict, text: &str) -> RuleResult {
    let parts = text.trim().strip_suffix(')').and_then(|text| text.split_once('('));
    let Some((tool, part)) = parts else {
        return Err(dead("a rule is `Shell(…)`, `Read(…)`, `Write(…)`, `WebFetch(…)` or `Mcp(…)`"));
    };
    let part = part.trim();
    if part.is_empty() {
        return Err(dead("nothing is in the brackets, so it matches no call"));
    }
    let subject = match tool.trim() {
        "Shell" => return command(verdict, part).map(|rule| vec![rule]),
        "Read" => return Ok(path_rules(verdict, part, Subject::Read)),
        "Write" => return Ok(path_rules(verdict, part, Subject::Edit)),
        "WebFetch" => {
            let is_one = !part.contains('*');
            let rule = PolicyRule::new(verdict, Subject::Host(part.to_lowercase()));
            return Ok(vec![
                rule.stricter_if(is_one, "Midrail applies it to subdomains and to commands too"),
            ]);
        }
        "Mcp" => mcp_tool(part),
        other => return Err(dead(format!("Cursor has no rules for `{other}`"))),
    };
    Ok(vec![PolicyRule::new(verdict, subject)])
}

/// `Shell(program)`, or `Shell(program:arguments)`.
fn command(verdict: Verdict, part: &str) -> Result<PolicyRule, Problem> {
    let (program, arguments) = part.split_once(':').unwrap_or((part, "*"));
    let (program, arguments) = (program.trim(), arguments.trim());
    let is_any = |pattern: &str| matches!(pattern, "*" | "**");
    if is_any(program) && is_any(arguments) {
        return Ok(PolicyRule::new(verdict, Subject::every_command()));
    }
    if program.contains(' ') {
        let reason = "Cursor compares only the first word of a command with it";
        if verdict == Verdict::Allow {
            return Err(dead(reason));
        }
        return Ok(words_rule(verdict, program).stricter(reason));
    }
    let pattern = match arguments {
        "" => program.to_owned(),
        _ if is_any(arguments) => format!("{program} *"),
        _ => format!("{program} {arguments}"),
    };
    Ok(text_rule(verdict, &pattern))
}

/// A rule in the format of Cursor.
fn texts(rule: &PolicyRule) -> Written {
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
        Subject::Host(host) => {
            let hosts = exact_hosts(host, rule.verdict).into_iter();
            return Ok(hosts.map(|host| format!("WebFetch({host})")).collect());
        }
        Subject::Tool(tool) => match mcp(tool) {
            Some((server, tool)) => format!("Mcp({server}:{tool})"),
            None => return Err("Cursor has rules for tools of MCP servers only"),
        },
        Subject::ToolArgument { .. } => return Err("Cursor has no rules for arguments of tools"),
    }])
}
