//! Imported rules as a pack.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::pattern::literal;
use super::rule::{Example, Finding, HostPolicy, PolicyRule, RuleSource, Subject, Verdict, push_new};
use super::shell_words;
use super::yaml::yaml;

/// Characters that separate or start commands in a line. An exception applies to lines without them only.
const SPECIAL: &str = "*[;&|`$()<>\\n\\r]*";

/// An imported policy: the pack, and what became of each rule.
#[derive(Debug, Clone, Serialize)]
pub struct Imported {
    /// The pack as YAML.
    pub yaml: String,
    /// The pack as JSON.
    pub pack: Value,
    /// Rules that mean the same in the pack.
    pub taken: Vec<RuleSource>,
    /// Rules that are stricter in the pack, and why.
    pub stricter: Vec<Finding>,
    /// Rules that the pack does not contain, and why.
    pub left_out: Vec<Finding>,
    /// Rules without effect in the host itself, and why.
    pub dead: Vec<Finding>,
}

impl Imported {
    /// The rules of a host with a name and a title.
    pub(super) fn new(name: &str, title: &str, policy: HostPolicy) -> Self {
        let HostPolicy { rules, left_out, dead, examples, .. } = policy;
        let mut taken: Vec<RuleSource> = Vec::new();
        let mut stricter: Vec<Finding> = Vec::new();
        // A rule that stands for several subjects is listed once.
        for rule in &rules {
            let is_listed =
                taken.iter().chain(stricter.iter().map(|it| &it.source)).any(|it| *it == rule.source);
            match &rule.stricter {
                _ if is_listed => {}
                Some(why) => stricter.push(rule.source.finding(why.clone())),
                None => taken.push(rule.source.clone()),
            }
        }
        let pack = pack(name, title, &rules, &examples);
        let yaml = format!(
            "# The permission rules of {title}, imported by `midrail import --policy {name}`.\n{}",
            yaml(&pack)
        );
        Imported { yaml, pack, taken, stricter, left_out, dead }
    }

    /// Whether the files had no rule at all, not even one that is left out.
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty() && self.stricter.is_empty() && self.left_out.is_empty() && self.dead.is_empty()
    }
}

/// The start and the end of the reason of imported guardrails whose rules have none.
fn default_reason(verdict: Verdict) -> (&'static str, &'static str) {
    let end = if verdict == Verdict::Deny { " deny this." } else { " require an approval for this." };
    ("The permission rules of ", end)
}

/// Whether a reason is one that the import gave. It says no more than the rule.
pub(super) fn is_default_reason(reason: &str, verdict: Verdict) -> bool {
    let (start, end) = default_reason(verdict);
    reason.starts_with(start) && reason.ends_with(end)
}

/// A reason of a host in which packs see no placeholder such as `{tool.name}`.
fn without_placeholders(reason: &str) -> String {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let mut out = String::new();
    let mut rest = reason;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        out.push('{');
        if after.trim_start_matches(is_name).starts_with('}') {
            out.push(' ');
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

fn pack(name: &str, title: &str, rules: &[PolicyRule], examples: &[Example]) -> Value {
    let mut pack = Map::new();
    pack.insert("pack".into(), format!("{name}-permissions").into());
    let mut guardrails = Vec::new();
    for verdict in [Verdict::Deny, Verdict::Ask] {
        let of_verdict: Vec<&PolicyRule> = rules.iter().filter(|rule| rule.verdict == verdict).collect();
        for (number, group) in groups(&of_verdict).iter().enumerate() {
            let mut guard = guardrail(group);
            guard.insert("id".into(), format!("{name}-{}-{}", verdict.name(), number + 1).into());
            let effect = if verdict == Verdict::Deny { "block" } else { "escalate" };
            guard.insert("effect".into(), effect.into());
            let reason = group.first().and_then(|rule| rule.reason.as_deref()).map(without_placeholders);
            let (start, end) = default_reason(verdict);
            guard.insert("reason".into(), reason.unwrap_or_else(|| format!("{start}{title}{end}")).into());
            guardrails.push(Value::Object(guard));
        }
    }
    if !guardrails.is_empty() {
        pack.insert("guardrails".into(), guardrails.into());
    }
    let vouch = vouch(rules);
    if !vouch.is_empty() {
        pack.insert("vouch".into(), vouch.into());
    }
    let tests = tests(name, rules, examples);
    if !tests.is_empty() {
        pack.insert("tests".into(), tests.into());
    }
    Value::Object(pack)
}

/// Rules that fit into one guardrail, in order.
fn groups<'r>(rules: &[&'r PolicyRule]) -> Vec<Vec<&'r PolicyRule>> {
    let mut groups: Vec<Vec<&PolicyRule>> = Vec::new();
    for rule in rules {
        let joins = |group: &&mut Vec<&PolicyRule>| {
            group.first().is_some_and(|first| {
                let is_alike = matches!(
                    (&first.subject, &rule.subject),
                    (Subject::Read(_) | Subject::Edit(_), Subject::Read(_) | Subject::Edit(_))
                        | (Subject::Command(_), Subject::Command(_))
                        | (Subject::Host(_), Subject::Host(_))
                        | (Subject::Tool(_), Subject::Tool(_))
                );
                is_alike && first.reason == rule.reason && exceptions(first) == exceptions(rule)
            })
        };
        match groups.iter_mut().find(joins) {
            Some(group) => group.push(rule),
            None => groups.push(vec![rule]),
        }
    }
    groups
}

/// The exceptions of a rule. Those of files are the same for reading and changing them.
fn exceptions(rule: &PolicyRule) -> Vec<Subject> {
    let of_files = |exception: &Subject| match exception {
        Subject::Edit(path) => Subject::Read(path.clone()),
        other => other.clone(),
    };
    let mut all: Vec<Subject> = rule.exceptions.iter().map(of_files).collect();
    all.dedup();
    all
}

/// The guardrail of a group, without id, effect and reason.
fn guardrail(group: &[&PolicyRule]) -> Map<String, Value> {
    let mut guard = Map::new();
    let Some(first) = group.first() else { return guard };
    let mut names: Vec<String> = Vec::new();
    let mut edits: Vec<String> = Vec::new();
    for rule in group {
        let (list, name) = match &rule.subject {
            Subject::Command(pattern) => (&mut names, &pattern.words),
            Subject::Edit(path) => (&mut edits, path),
            Subject::CommandText(text) | Subject::Read(text) | Subject::Host(text) | Subject::Tool(text) => {
                (&mut names, text)
            }
            Subject::ToolArgument { tool, .. } => (&mut names, tool),
        };
        push_new(list, name.clone());
    }
    match &first.subject {
        Subject::Command(_) => {
            let texts: Vec<String> = names.iter().map(|words| command_text(words)).collect();
            guard.insert("command".into(), one_or_many(&texts));
            if let Some(except) = command_exceptions(&first.exceptions) {
                guard.insert("when".into(), except.into());
            }
        }
        Subject::CommandText(glob) => {
            let matches = format!("action.type == 'command' AND action.command matches {}", quoted(glob));
            let except =
                command_exceptions(&first.exceptions).map(|it| format!(" AND {it}")).unwrap_or_default();
            guard.insert("when".into(), format!("{matches}{except}").into());
        }
        Subject::Read(_) | Subject::Edit(_) => {
            edits.retain(|path| !names.contains(path));
            let excepted = |exception: Subject| match exception {
                Subject::Read(path) => Some(path),
                _ => None,
            };
            let except: Vec<String> = exceptions(first).into_iter().filter_map(excepted).collect();
            guard.insert("use".into(), "sensitive-file".into());
            guard.insert("with".into(), json!({"paths": names, "read_only": edits, "except": except}));
        }
        Subject::Host(_) => {
            let below = |name: &String| (!name.starts_with('*')).then(|| format!("*.{name}"));
            let hosts = names.iter().flat_map(|name| std::iter::once(name.clone()).chain(below(name)));
            let mut parts: Vec<String> = Vec::new();
            for host in hosts {
                push_new(&mut parts, format!("action.hosts none match {}", quoted(&host)));
            }
            guard.insert("check".into(), parts.join(" AND ").into());
            guard.insert("on_missing".into(), "allow".into());
        }
        Subject::Tool(_) => {
            guard.insert("tools".into(), one_or_many(&names));
            let excepted = |exception: &Subject| match exception {
                Subject::Tool(tool) => Some(format!("tool.name does not match {}", quoted(tool))),
                _ => None,
            };
            let except: Vec<String> = first.exceptions.iter().filter_map(excepted).collect();
            if !except.is_empty() {
                guard.insert("when".into(), except.join(" AND ").into());
            }
        }
        Subject::ToolArgument { argument, value, .. } => {
            guard.insert("tools".into(), one_or_many(&names));
            let value = quoted(&literal(value));
            guard.insert("when".into(), format!("tool.args.{argument} matches {value}").into());
        }
    }
    guard
}

/// The text of `command:`. An option at the end may take a value.
fn command_text(words: &str) -> String {
    let is_option = words.rsplit(' ').next().is_some_and(|last| last.starts_with('-') && !last.contains('='));
    if is_option { format!("{words} *") } else { words.to_owned() }
}

/// The condition that a line is not one of the excepted commands. A line with operators never is.
fn command_exceptions(exceptions: &[Subject]) -> Option<String> {
    let globs = exceptions.iter().filter_map(|exception| match exception {
        Subject::Command(pattern) => Some(pattern.globs()),
        _ => None,
    });
    let parts: Vec<String> = globs.flatten().map(|glob| command_test(&glob)).collect();
    let any = parts.join(" OR ");
    // The characters are written as the expression language escapes them.
    (!parts.is_empty()).then(|| format!("NOT (({any}) AND action.command does not match '{SPECIAL}')"))
}

/// A text in an expression.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"))
}

fn one_or_many(names: &[String]) -> Value {
    match names {
        [one] => one.as_str().into(),
        _ => names.into(),
    }
}

fn vouch(rules: &[PolicyRule]) -> Map<String, Value> {
    let mut vouch = Map::new();
    for rule in rules.iter().filter(|rule| rule.verdict == Verdict::Allow) {
        let (key, value) = match &rule.subject {
            Subject::Command(pattern) if pattern.is_exact => ("commands", json!({"exact": pattern.words})),
            Subject::Command(pattern) => ("commands", pattern.words.as_str().into()),
            Subject::Read(path) => ("reads", path.as_str().into()),
            Subject::Edit(path) => ("edits", path.as_str().into()),
            Subject::Host(host) => ("hosts", host.as_str().into()),
            Subject::Tool(tool) => ("tools", tool.as_str().into()),
            Subject::CommandText(_) | Subject::ToolArgument { .. } => continue,
        };
        let list = vouch.entry(key).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(list) = list {
            push_new(list, value);
        }
    }
    vouch
}

/// Programs that run the command in their arguments.
const WRAPPERS: [&str; 12] =
    ["sh", "bash", "zsh", "env", "sudo", "timeout", "time", "nice", "nohup", "xargs", "command", "exec"];

/// A test of the whole command line. A text without a wildcard is compared.
fn command_test(glob: &str) -> String {
    let operator = if glob.contains(['*', '?', '[', '{', '\\']) { "matches" } else { "==" };
    format!("action.command {operator} {}", quoted(glob))
}

fn tests(name: &str, rules: &[PolicyRule], examples: &[Example]) -> Vec<Value> {
    let mut tests = Vec::new();
    for example in examples {
        let expect = match example.verdict {
            Some(Verdict::Deny) => "block",
            Some(Verdict::Ask) => "escalate",
            _ if may_object(rules, &example.command) => continue,
            _ => "allow",
        };
        let id = format!("{name}-example-{}", tests.len() + 1);
        let event = json!({"before_tool": "Bash", "args": {"command": example.command}, "expect": expect});
        tests.push(json!({"id": id, "events": [event]}));
    }
    tests
}

/// Whether a guardrail may object to a command to which the rule of the host does not apply.
fn may_object(rules: &[PolicyRule], command: &str) -> bool {
    let words = shell_words::split(command).unwrap_or_default();
    let is_wrapped = words.first().is_some_and(|word| {
        let name = word.rsplit('/').next().unwrap_or(word);
        WRAPPERS.contains(&name)
    });
    let plain: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    let strict = rules.iter().filter(|rule| rule.verdict != Verdict::Allow);
    is_wrapped
        || strict.into_iter().any(|rule| match &rule.subject {
            Subject::Command(pattern) => {
                let own = pattern.words.split(' ').filter(|word| !word.starts_with('-'));
                own.enumerate().all(|(at, word)| {
                    plain.get(at).is_some_and(|it| *it == word || it.rsplit('/').next() == Some(word))
                        || word.contains('*')
                })
            }
            _ => false,
        })
}
