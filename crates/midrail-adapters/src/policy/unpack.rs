//! The rules of a pack that hosts can express.

use midrail::guardrails::guardrail_id;
use serde_json::{Map, Value};

use super::pack::is_default_reason;
use super::pattern::unescaped;
use super::rule::{CommandPattern, Finding, PolicyRule, RuleSource, Subject, Verdict, push_new};
use super::stopped::{commands, is_empty, items, stopped_calls, texts};

/// The rules of a pack, and the guardrails that no host can express.
#[derive(Clone)]
pub(super) struct Unpacked {
    pub(super) rules: Vec<PolicyRule>,
    pub(super) left_out: Vec<Finding>,
    /// What guardrails may stop that no host can express.
    lost: Vec<(RuleSource, Subject)>,
}

impl Unpacked {
    /// The same without what an allow of a host would take away: calls that a rule may stop which the host cannot express, or only
    /// at one place of a command.
    pub(super) fn without_lost(mut self, left_out: &[Finding]) -> Unpacked {
        let is_lost = |rule: &&PolicyRule| {
            let is_left_out = || left_out.iter().any(|finding| finding.source == rule.source);
            rule.verdict != Verdict::Allow && (rule.subject.has_option() || is_left_out())
        };
        let rules = self.rules.iter().filter(is_lost);
        self.lost.extend(rules.map(|rule| (rule.source.clone(), rule.subject.clone())));
        for rule in std::mem::take(&mut self.rules) {
            let lost = self.lost.iter().find(|(_, subject)| subject.may_overlap(&rule.subject));
            match lost.filter(|_| rule.verdict == Verdict::Allow) {
                Some((source, _)) => {
                    let reason = format!(
                        "`{}` may stop some of it, which an allow of the host would take away",
                        source.rule
                    );
                    push_new(&mut self.left_out, rule.source.finding(reason));
                }
                None => self.rules.push(rule),
            }
        }
        self
    }
}

/// Keys of a guardrail that are read here, and keys that a rule of a host can do without.
const READ: &str = "use with command tools when check on mode effect reason enabled";
const IGNORED: &str = "id name description advice priority category lock on_missing";

/// Parts of a pack that no host has.
const OTHER_PARTS: [(&str, &str); 7] = [
    ("agents", "hosts have no definitions of agents"),
    ("tasks", "hosts have no definitions of tasks"),
    ("budgets", "hosts have no budgets in their rules"),
    ("deadline", "hosts have no deadlines in their rules"),
    ("strikes", "hosts do not count violations"),
    ("alerts", "hosts have no alerts on guardrails"),
    ("extends", "the packs that it extends are not exported"),
];

/// Makes a subject of an entry in `vouch`.
type ToSubject = fn(&Value) -> Option<Subject>;

/// The rules of a pack, given as JSON.
pub(super) fn unpack(pack: &Value) -> Unpacked {
    let mut unpacked = Unpacked { rules: Vec::new(), left_out: Vec::new(), lost: Vec::new() };
    let name = pack.get("pack").and_then(Value::as_str).unwrap_or_default();
    let source = |rule: &str| RuleSource { file: name.to_owned(), line: 0, rule: rule.to_owned() };
    let guardrails = pack.get("guardrails").and_then(Value::as_array);
    for guard in guardrails.into_iter().flatten().filter_map(Value::as_object) {
        if guard.get("enabled") == Some(&Value::Bool(false)) {
            continue;
        }
        let id = ["id", "name", "use"].iter().find_map(|key| guard.get(*key)?.as_str());
        let source = source(id.unwrap_or("a guardrail without an id"));
        match rules(guard, &source) {
            Ok(rules) => unpacked.rules.extend(rules),
            Err(reason) => {
                let stopped = stopped_calls(guard).into_iter();
                unpacked.lost.extend(stopped.map(|subject| (source.clone(), subject)));
                unpacked.left_out.push(source.finding(reason));
            }
        }
    }
    let lists: [(&str, ToSubject); 5] = [
        ("reads", |value| text_subject(value, Subject::Read)),
        ("edits", |value| text_subject(value, Subject::Edit)),
        ("hosts", |value| text_subject(value, Subject::Host)),
        ("tools", |value| text_subject(value, Subject::Tool)),
        ("commands", vouched_command),
    ];
    for (key, subject) in lists {
        for subject in items(pack.pointer(&format!("/vouch/{key}"))).into_iter().filter_map(subject) {
            let rule = PolicyRule::new(Verdict::Allow, subject);
            unpacked.rules.push(PolicyRule { source: source(&format!("vouch.{key}")), ..rule });
        }
    }
    for (key, reason) in OTHER_PARTS.iter().filter(|(key, _)| !pack.get(key).is_none_or(is_empty)) {
        unpacked.left_out.push(source(key).finding(*reason));
    }
    unpacked
}

fn text_subject(value: &Value, subject: fn(String) -> Subject) -> Option<Subject> {
    value.as_str().map(|text| subject(text.to_owned()))
}

fn vouched_command(value: &Value) -> Option<Subject> {
    let exact = || Some(CommandPattern::exact(value.get("exact")?.as_str()?));
    value.as_str().map(CommandPattern::prefix).or_else(exact).map(Subject::Command)
}

/// The rules of a guardrail, or why there are none.
fn rules(guard: &Map<String, Value>, source: &RuleSource) -> Result<Vec<PolicyRule>, String> {
    let verdict = match guard.get("effect").and_then(Value::as_str) {
        None | Some("block" | "halt") => Verdict::Deny,
        Some("escalate") => Verdict::Ask,
        Some(other) => return Err(format!("hosts have no rules with the effect `{other}`")),
    };
    if guard.get("mode").and_then(Value::as_str) == Some("shadow") {
        return Err("it is in shadow mode, and hosts have no such mode".to_owned());
    }
    if texts(guard.get("on")).iter().any(|kind| kind != "before_tool") {
        return Err("hosts have rules for calls only".to_owned());
    }
    let when = guard.get("when").and_then(Value::as_str);
    let has = |key: &str| guard.contains_key(key);
    let is_known = |key: &str| READ.split(' ').chain(IGNORED.split(' ')).any(|known| known == key);
    if let Some(key) = guard.keys().find(|key| !is_known(key)) {
        return Err(format!("hosts have nothing like `{key}`"));
    }
    let (subjects, exceptions) = if has("use") {
        files(guard)?
    } else if has("command") && !has("check") && !has("tools") {
        let exceptions = match when {
            Some(when) => command_exceptions(when).ok_or("hosts have no conditions")?,
            None => Vec::new(),
        };
        (commands(guard.get("command"))?, exceptions)
    } else if has("command") {
        return Err("hosts cannot combine `command` with other conditions".to_owned());
    } else if let Some(check) = guard.get("check").and_then(Value::as_str) {
        let hosts = if has("tools") || has("when") { None } else { hosts(check) };
        (hosts.ok_or("hosts have no expressions")?, Vec::new())
    } else if has("tools") {
        tools(&texts(guard.get("tools")), when).ok_or("hosts have no conditions")?
    } else {
        command_text(when.unwrap_or_default()).ok_or("hosts have no conditions")?
    };
    let reason = guard.get("reason").and_then(Value::as_str).map(str::to_owned);
    let reason = reason.filter(|reason| !is_default_reason(reason, verdict));
    let excepted = |subject: &Subject| match subject {
        // A file that may not be changed has exceptions for changes only.
        Subject::Edit(_) => exceptions.iter().filter(|it| matches!(it, Subject::Edit(_))).cloned().collect(),
        _ => exceptions.clone(),
    };
    let rule = |subject: Subject| PolicyRule {
        exceptions: excepted(&subject),
        source: source.clone(),
        ..PolicyRule::new(verdict, subject).because(reason.clone())
    };
    Ok(subjects.into_iter().map(rule).collect())
}

type Subjects = (Vec<Subject>, Vec<Subject>);

/// The files of `sensitive-file`.
fn files(guard: &Map<String, Value>) -> Result<Subjects, String> {
    let name = guard.get("use").and_then(Value::as_str).unwrap_or_default();
    if guardrail_id(name) != guardrail_id("sensitive-file") {
        return Err(format!("hosts have nothing like the built-in `{name}`"));
    }
    if guard.contains_key("when") || guard.contains_key("tools") || guard.contains_key("command") {
        return Err("hosts have no conditions".to_owned());
    }
    let with = guard.get("with");
    let list = |key: &str| with.and_then(|with| with.get(key));
    if list("paths").is_none() || list("read_only").is_none() || list("except").is_none() {
        return Err("its list of credentials is longer than rules of hosts should be; list `paths`, `read_only` and `except`".into());
    }
    let mut subjects: Vec<Subject> = texts(list("paths")).into_iter().map(Subject::Read).collect();
    subjects.extend(texts(list("read_only")).into_iter().map(Subject::Edit));
    let except = texts(list("except")).into_iter();
    Ok((subjects, except.flat_map(|path| [Subject::Read(path.clone()), Subject::Edit(path)]).collect()))
}

/// The tests of a command line that the import writes.
const COMMAND_TESTS: [&str; 2] = ["action.command matches", "action.command =="];

/// The texts after a name and an operator, where the expression consists of such parts only.
fn operands(expression: &str, heads: &[&str], join: &str) -> Option<Vec<String>> {
    let mut rest = expression.trim();
    let mut all = Vec::new();
    loop {
        rest = heads.iter().find_map(|head| rest.strip_prefix(head))?.trim_start().strip_prefix('\'')?;
        let mut text = String::new();
        let mut chars = rest.char_indices();
        let end = loop {
            match chars.next()? {
                (at, '\'') => break at,
                (_, '\\') => match chars.next()?.1 {
                    'n' => text.push('\n'),
                    c @ ('\\' | '\'' | '"') => text.push(c),
                    _ => return None,
                },
                (_, c) => text.push(c),
            }
        };
        all.push(text);
        rest = rest.get(end + 1..)?.trim_start();
        if rest.is_empty() {
            return Some(all);
        }
        rest = rest.strip_prefix(join)?.trim_start();
    }
}

/// The hosts of a check that the import writes.
fn hosts(check: &str) -> Option<Vec<Subject>> {
    let hosts = operands(check, &["action.hosts none match"], "AND")?;
    let is_below =
        |host: &&String| host.strip_prefix("*.").is_some_and(|host| hosts.iter().any(|it| it == host));
    Some(hosts.iter().filter(|host| !is_below(host)).map(|host| Subject::Host(host.clone())).collect())
}

/// Tools, with the exceptions or the argument in `when`.
fn tools(tools: &[String], when: Option<&str>) -> Option<Subjects> {
    let subjects = || tools.iter().map(|tool| Subject::Tool(tool.clone())).collect();
    let Some(when) = when else { return Some((subjects(), Vec::new())) };
    if let Some(names) = operands(when, &["tool.name does not match"], "AND") {
        return Some((subjects(), names.into_iter().map(Subject::Tool).collect()));
    }
    let (argument, rest) = when.strip_prefix("tool.args.")?.split_once(' ')?;
    let values = operands(rest, &["matches"], "\0")?;
    let ([tool], [value]) = (tools, values.as_slice()) else { return None };
    let (tool, argument) = (tool.clone(), argument.to_owned());
    Some((vec![Subject::ToolArgument { tool, argument, value: unescaped(value)? }], Vec::new()))
}

/// The exceptions in a condition that the import writes.
fn command_exceptions(when: &str) -> Option<Vec<Subject>> {
    let inner = when.trim().strip_prefix("NOT ((")?;
    let (patterns, _) = inner.split_once(") AND action.command does not match '*[;&|")?;
    let mut subjects: Vec<Subject> = Vec::new();
    for glob in operands(patterns, &COMMAND_TESTS, "OR")? {
        let words = unescaped(&glob)?;
        // A prefix is two patterns: the words, and the words with more.
        if let Some(stem) = words.strip_suffix(" *")
            && let Some(last) = subjects.last_mut()
            && *last == Subject::Command(CommandPattern::exact(stem))
        {
            *last = Subject::Command(CommandPattern::prefix(stem));
            continue;
        }
        let is_open = words.ends_with('*');
        let pattern = if is_open { CommandPattern::prefix(words) } else { CommandPattern::exact(words) };
        subjects.push(Subject::Command(pattern));
    }
    Some(subjects)
}

/// A condition on the text of a line that the import writes.
fn command_text(when: &str) -> Option<Subjects> {
    let rest = when.trim().strip_prefix("action.type == 'command' AND ")?;
    let (matches, exceptions) = match rest.split_once(" AND NOT ((") {
        Some((matches, _)) => {
            let at = rest.find("NOT ((")?;
            (matches, command_exceptions(rest.get(at..)?)?)
        }
        None => (rest, Vec::new()),
    };
    let globs = operands(matches, &COMMAND_TESTS, "OR")?;
    Some((globs.into_iter().map(Subject::CommandText).collect(), exceptions))
}
