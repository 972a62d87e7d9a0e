//! Words of other tools and typical mistakes, and what to write in a pack instead.

use midrail_guardrails::{Builtin, CATALOGUE};
use schemars::generate::SchemaSettings;

/// Where an unknown key is: a map, known by one of its keys.
const PACK: &str = "risk_router";
const GUARDRAIL: &str = "read_before_write";
const PREREQUISITE: &str = "own_writes";
const AGENT: &str = "sections";
const SECTION: &str = "guardrails";
const SCOPE: &str = "files";
const CASE: &str = "filesystem";
const STEP: &str = "call_id";
const BUDGETS: &str = "api_calls";
const CHANNEL: &str = "webhook";
const FEEDBACK: &str = "every_n_calls";
const SCRIPT: &str = "input_timeout";
const GATEWAY: &str = "sync_rules";
const HOOK: &str = "validation";
const TOOL_POLICY: &str = "policy";
const EXPECTATION: &str = "rollback";
const RULE: &str = "require_before";

/// Keys of other tools by their place, and what to write instead.
const KEYS: &[(&str, &[&str], &str)] = &[
    (
        RULE,
        &["forbid", "deny", "block", "allow", "check", "tools", "use"],
        "a rule is `require_before: {…}`; for other checks, write `pack: NAME` with `guardrails:`",
    ),
    (
        GATEWAY,
        &["rules", "guardrails"],
        "a policy pack has `sync_rules` and `async_rules`; write `pack: NAME` for guardrails",
    ),
    (
        HOOK,
        &["tools", "effect", "check", "when", "on", "use", "reason", "with", "advice"],
        "a document with `guardrail:` is a validation hook; write `pack: NAME`, and its keys below `guardrails:`",
    ),
    (
        TOOL_POLICY,
        &["guardrails", "agents", "tasks", "budgets", "approvals", "env", "extends", "defaults"],
        "a document with `policy:` has `rules` only: write `pack: NAME` in place of `policy`",
    ),
    (FEEDBACK, &["every", "interval", "after"], "use `every_n_calls: NUMBER` or `every_n_seconds: NUMBER`"),
    (FEEDBACK, &["text", "message", "content"], "use `static: TEXT`"),
    (SCRIPT, &["path", "src", "source", "script"], "use `file: FILE`"),
    (PACK, &["name", "title", "id"], "the name of a pack is `pack: NAME`"),
    (
        PACK,
        &["permissions", "hooks", "deny", "ask", "allow"],
        "write each rule as a guardrail: `guardrails: [{id: NAME, tools: TOOL, when: EXPRESSION, effect: block}]`",
    ),
    (
        PACK,
        &["rules", "policies", "policy", "checks", "guards", "guardrail"],
        "write them as a list below `guardrails:`",
    ),
    (PACK, &["environments", "environment", "profiles"], "use `env: {NAME: {…}}`"),
    (PACK, &["denied_tools", "blocked_tools"], "use the guardrail `tool-allowlist` with `deny: [TOOL, …]`"),
    (
        PACK,
        &["allowed_tools", "tools"],
        "use the guardrail `tool-allowlist` with `allow: [TOOL, …]`, or `agents: {NAME: {allowed_tools: …}}`",
    ),
    (
        PACK,
        &["parallel"],
        "leave it out: every guardrail of an event is always evaluated, and their order never changes the effect",
    ),
    (PACK, &["limits", "budget", "limit"], "use `budgets: {tokens: NUMBER, time: DURATION, cost: NUMBER}`"),
    (PACK, &["include", "includes", "import", "imports", "base"], "use `extends: FILE`"),
    (
        GUARDRAIL,
        &["action", "actions", "decision", "verdict", "then", "do", "severity", "level", "result", "outcome"],
        "what happens on a violation is `effect`: `warn`, `escalate`, `block` or another effect",
    ),
    (GUARDRAIL, &["message", "msg", "text", "because", "why", "explanation"], "use `reason: TEXT`"),
    (
        GUARDRAIL,
        &[
            "if",
            "condition",
            "conditions",
            "where",
            "only_if",
            "filter",
            "assert",
            "expression",
            "expr",
            "require",
        ],
        "use `when: EXPRESSION` for when it applies, or `check: EXPRESSION` for what must hold",
    ),
    (GUARDRAIL, &["unless", "except", "exclude", "ignore"], "use `when: not (EXPRESSION)`"),
    (
        GUARDRAIL,
        &["matcher", "match", "tool", "tool_name", "toolName", "tool_names"],
        "use `tools: [NAME, …]`, with names or patterns such as `mcp__*`",
    ),
    (GUARDRAIL, &["true", "yes"], "older YAML reads `on` as true; here, write `on: before_tool`"),
    (
        GUARDRAIL,
        &["event", "events", "hook", "hooks", "trigger", "stage", "phase"],
        "use `on: before_tool` or another kind of event",
    ),
    (
        GUARDRAIL,
        &["type", "kind", "builtin", "uses", "guardrail", "extends"],
        "use `use: NAME` for a built-in guardrail",
    ),
    (
        GUARDRAIL,
        &["settings", "config", "configuration", "options", "params", "parameters"],
        "the settings of a built-in guardrail are below `with:`",
    ),
    (
        GUARDRAIL,
        &["path", "file", "files", "glob", "pattern", "regex"],
        "use `when: action.target_file matches 'PATTERN'`, or `action.command matches 'PATTERN'`",
    ),
    (GUARDRAIL, &["retries", "attempts", "max_retries"], "use `max_attempts: NUMBER`, with `effect: retry`"),
    (
        GUARDRAIL,
        &["approvers", "approval", "requires_approval", "require_approval", "reviewer", "reviewers"],
        "use `effect: escalate`, with `approver: ROLE`",
    ),
    (GUARDRAIL, &["disabled", "active"], "use `enabled: false`"),
    (GUARDRAIL, &["shadow", "dry_run", "audit_only"], "use `mode: shadow`"),
    (GUARDRAIL, &["order", "weight"], "use `priority: NUMBER`; a lower number runs first"),
    (GUARDRAIL, &["suggestion", "hint", "help", "fix", "instead"], "use `advice: TEXT`"),
    (
        GUARDRAIL,
        &["role", "roles", "user", "users"],
        "use `when: agent.role == 'ROLE'`, or `agents: [ID, …]`",
    ),
    (PREREQUISITE, &["tools", "before", "then", "target"], "the tools that wait are `tool: [NAME, …]`"),
    (
        PREREQUISITE,
        &["require", "needs", "depends_on", "after", "first", "prerequisites"],
        "the tools that must succeed first are `requires: [NAME, …]`",
    ),
    (AGENT, &["tools", "allow", "permissions"], "use `allowed_tools: [NAME, …]`"),
    (AGENT, &["name"], "the name of an agent is its key: `agents: {NAME: {…}}`"),
    (AGENT, &["files", "write", "read", "deny"], "use `scope: {files: {read: […], write: […], deny: […]}}`"),
    (AGENT, &["budgets", "budget"], "use `token_budget`, `time_budget`, `api_call_budget` or `cost_budget`"),
    (
        SCOPE,
        &["read", "write", "deny", "allow", "paths"],
        "write it below `files`: `scope: {files: {write: […]}}`",
    ),
    (SECTION, &["tool", "allowed_tools"], "use `tools: [NAME, …]`"),
    (CASE, &["name", "title"], "the name of a test is `id: NAME`"),
    (
        CASE,
        &["steps", "given", "input", "inputs", "when", "calls"],
        "the steps of a test are `events: [{before_tool: NAME, args: {…}, expect: EFFECT}]`",
    ),
    (
        CASE,
        &["expect", "expected", "then", "assert"],
        "write `expect` in the event: `events: [{before_tool: NAME, expect: EFFECT}]`",
    ),
    (
        STEP,
        &["tool", "call", "name", "event"],
        "write the kind of event with the tool: `{before_tool: NAME, args: {…}, expect: EFFECT}`",
    ),
    (STEP, &["input", "tool_input", "arguments", "params"], "use `args: {…}`"),
    (
        STEP,
        &["assert", "expected", "then", "effect", "result"],
        "use `expect: EFFECT`, or `expect: {effect: EFFECT, by: ID}`",
    ),
    (
        EXPECTATION,
        &["from", "guardrail", "id", "rule", "policy"],
        "use `by: ID` for the guardrail that decides",
    ),
    (EXPECTATION, &["message", "text", "error"], "use `reason: PART` for a part of the reason"),
    (BUDGETS, &["usd", "eur", "money", "dollars", "price", "costs"], "use `cost: NUMBER`"),
    (
        BUDGETS,
        &["seconds", "minutes", "hours", "duration", "timeout"],
        "use `time: DURATION`, such as `time: 2h`",
    ),
    (BUDGETS, &["calls", "requests"], "use `api_calls: NUMBER`"),
    (
        CHANNEL,
        &["slack", "email", "mail", "teams", "url", "http", "pagerduty"],
        "use `webhook: URL`, or `command: LINE` for a program that sends it",
    ),
];

/// Keys of a pack that are also written below a guardrail by mistake.
const KEYS_OF_PACKS: &[&str] = &[
    "tests",
    "guardrails",
    "pack",
    "defaults",
    "budgets",
    "alerts",
    "notify",
    "strikes",
    "tool_risks",
    "env",
];

/// The map of an unknown key.
#[derive(Default)]
pub(crate) struct Around {
    /// The built-in of a guardrail: `use`.
    pub(crate) uses: Option<String>,
    /// A key without a value.
    pub(crate) empty: Option<String>,
}

/// What to write in place of an unknown key of a map with known keys.
pub(crate) fn key(word: &str, known: &[String], around: &Around) -> Option<String> {
    let has = |key: &str| known.iter().any(|known| known == key);
    // A list of guardrails is also a part of a pack and of a case.
    let is_in = |place: &str| match place {
        SECTION => has(SECTION) && has("tools") && !has(PACK),
        SCOPE => known.len() == 1 && has(SCOPE),
        CASE => has(CASE),
        TOOL_POLICY => has(TOOL_POLICY) && has("rules") && !has(PACK),
        STEP => has(STEP) || has("before_tool"),
        RULE => known == [RULE],
        place => has(place),
    };
    if is_in(GUARDRAIL) {
        if let Some(empty) = around.empty.as_deref().filter(|empty| shape(empty).is_some()) {
            return Some(format!("indent it further, if it belongs to `{empty}:`, which has no value"));
        }
        if let Some(help) = setting(word, around.uses.as_deref()) {
            return Some(help);
        }
        if KEYS_OF_PACKS.contains(&word) {
            return Some(format!(
                "`{word}` is a key of the pack: write it at the start of a line, below `guardrails`"
            ));
        }
        if CATALOGUE
            .iter()
            .any(|builtin| builtin.pack_key.allows_use() && builtin.names().any(|name| name == word))
        {
            return Some(format!("write `use: {word}`, and its settings below `with:`"));
        }
    }
    if let Some(spelling) = respelt(word, known) {
        return Some(format!("did you mean `{spelling}`?"));
    }
    if is_in(PACK) && is_guardrail_key(word) {
        return Some(format!("`{word}` is a key of a guardrail: write it below an item of `guardrails:`"));
    }
    let row = KEYS.iter().find(|(place, words, _)| is_in(place) && words.contains(&word));
    row.map(|(_, _, help)| (*help).to_owned())
}

/// A known key in another spelling: `on-error`, `approvalTimeout`.
fn respelt<'k>(word: &str, known: &'k [String]) -> Option<&'k String> {
    let plain = |word: &str| word.replace(['-', '_', ' '], "").to_lowercase();
    known.iter().find(|known| plain(known) == plain(word))
}

fn is_guardrail_key(word: &str) -> bool {
    [
        "check",
        "effect",
        "reason",
        "advice",
        "when",
        "on",
        "use",
        "with",
        "require_before",
        "completion",
        "priority",
    ]
    .contains(&word)
}

/// Help for a setting of a built-in that is not below `with`.
fn setting(word: &str, uses: Option<&str>) -> Option<String> {
    if let Some(builtin) = uses.and_then(midrail_guardrails::builtin) {
        let has = settings(builtin).iter().any(|setting| setting == word);
        return has
            .then(|| format!("`{word}` is a setting of `{}`: write `with: {{{word}: …}}`", builtin.name));
    }
    if KEYS.iter().any(|(place, words, _)| *place == GUARDRAIL && words.contains(&word)) {
        return None;
    }
    let owners = CATALOGUE.iter().filter(|builtin| builtin.pack_key.allows_use());
    let owners = owners.filter(|builtin| settings(builtin).iter().any(|setting| setting == word));
    // The word may be a part of a name: `tool-allowlist`.
    let mut owners: Vec<&str> = owners.map(|builtin| builtin.name).collect();
    owners.sort_by_key(|name| !name.contains(word));
    let names: Vec<String> = owners.iter().take(4).map(|name| format!("`{name}`")).collect();
    let list = names.join(", ");
    let help = || {
        format!(
            "`{word}` is a setting of built-in guardrails ({list}): write `use: NAME` and `with: {{{word}: …}}`"
        )
    };
    (!names.is_empty()).then(help)
}

/// The names of the settings of a built-in.
fn settings(builtin: &Builtin) -> Vec<String> {
    let inline = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = builtin.settings.schema(&mut inline.into_generator());
    let properties =
        schema.as_ref().and_then(|schema| schema.get("properties")).and_then(|it| it.as_object());
    properties.map(|properties| properties.keys().cloned().collect()).unwrap_or_default()
}

/// The kind of event that a word of another tool means.
pub(crate) fn kind(word: &str) -> Option<&'static str> {
    Some(match word.to_lowercase().replace('-', "_").as_str() {
        "pre_tool" | "tool" | "tool_call" | "tool_use" | "before_call" | "before" | "pre" | "command" => {
            "before_tool"
        }
        "post_tool" | "tool_result" | "after_call" | "after" | "post" | "result" => "after_tool",
        "prompt" | "user_prompt" | "request" | "before_prompt" | "message" => "before_model",
        "response" | "answer" | "after_prompt" => "after_model",
        "end" | "finish" | "done" | "complete" | "completion" => "before_stop",
        "begin" | "init" => "session_start",
        "error" | "failure" => "on_error",
        "handoff" | "delegate" | "subagent" => "before_handoff",
        _ => return None,
    })
}

/// Help for a key below `with` that belongs to the guardrail itself.
pub(crate) fn misplaced_setting(word: &str) -> Option<String> {
    if word == "with" {
        return Some("write the settings directly below the first `with:`".to_owned());
    }
    let help = || format!("`{word}` is a key of the guardrail: write it next to `use`, and not below `with`");
    is_key_of_guardrails(word).then(help)
}

/// Whether a word is a key of guardrails, for settings that contain one.
fn is_key_of_guardrails(word: &str) -> bool {
    is_guardrail_key(word)
        || ["tools", "agents", "tasks", "mode", "lock", "approver", "enabled"].contains(&word)
}

/// Help for an unknown built-in: those with a word in common, or all.
pub(crate) fn builtins(word: &str, names: &[&str]) -> String {
    let stems = |word: &str| -> Vec<String> {
        word.split(['-', '_', ' ']).map(|part| part.trim_end_matches('s').to_lowercase()).collect()
    };
    let wanted = stems(word);
    let alike = |name: &&&str| stems(name).iter().any(|stem| stem.len() > 3 && wanted.contains(stem));
    let near: Vec<&str> = names.iter().filter(alike).copied().collect();
    let list = |names: &[&str]| format!("`{}`", names.join("`, `"));
    if near.is_empty() {
        format!("the built-in guardrails are {}", list(names))
    } else {
        format!("built-in guardrails with a similar name are {}", list(&near))
    }
}

/// Values of other tools by a value that is known there, and what to write instead.
const VALUES: &[(&str, &[&str], &str)] = &[
    (
        "halt",
        &[
            "ask",
            "prompt",
            "confirm",
            "approve",
            "approval",
            "require_approval",
            "requires_approval",
            "review",
            "human",
            "ask_user",
            "hold",
            "wait",
        ],
        "use `escalate`: an approver decides",
    ),
    (
        "halt",
        &[
            "reject",
            "rejected",
            "refuse",
            "forbid",
            "forbidden",
            "error",
            "fail",
            "prevent",
            "disallow",
            "blocked",
            "denied",
            "abort",
        ],
        "use `block`",
    ),
    ("halt", &["kill", "terminate", "shutdown", "exit"], "use `halt`: it ends the run"),
    ("halt", &["ok", "permit", "accept", "continue", "allowed", "passed", "none"], "use `allow`"),
    ("halt", &["notify", "alert", "info", "notice", "warning", "warned"], "use `warn`"),
    (
        "halt",
        &["mask", "hide", "sanitize", "rewrite", "modify", "redirect"],
        "effects of a custom guardrail are `allow`, `warn`, `retry`, `escalate`, `block` and `halt`",
    ),
    (
        "shadow",
        &[
            "dry-run",
            "dry_run",
            "dryrun",
            "audit",
            "monitor",
            "log",
            "test",
            "observe",
            "permissive",
            "warn",
            "report",
        ],
        "use `shadow`: effects are recorded, and not enforced",
    ),
    ("shadow", &["on", "active", "block", "strict", "enforcing", "enabled"], "use `enforce`"),
    ("shadow", &["off", "disabled", "none"], "use `shadow`, or `enabled: false` for one guardrail"),
    ("compliance", &["security", "danger"], "use `safety`"),
    ("critical", &["extreme", "severe", "highest", "very_high"], "use `critical`"),
    ("critical", &["moderate", "normal", "default"], "use `medium`"),
    ("critical", &["none", "safe", "minimal"], "use `low`"),
    (
        "allow",
        &["warn", "ignore", "pass", "skip", "continue", "open", "fail_open", "log"],
        "use `allow` to continue without the guardrail, or `block` or `escalate`, which are safe",
    ),
    ("allow", &["deny", "fail", "closed", "fail_closed", "error", "stop", "halt"], "use `block`"),
    ("allow", &["ask", "prompt", "confirm", "approve"], "use `escalate`: an approver decides"),
];

/// What to write in place of an unknown value.
pub(crate) fn value(word: &str, known: &[String]) -> Option<&'static str> {
    let lower = word.to_lowercase();
    let fits = |place: &str| known.iter().any(|known| known == place);
    VALUES.iter().find(|(place, words, _)| fits(place) && words.contains(&lower.as_str())).map(|row| row.2)
}

/// How to write the value of a key that has a value of another type.
const SHAPES: &[(&str, &str)] = &[
    ("guardrails", "write each guardrail as an item of a list: `- id: NAME`"),
    ("require_before", "write `require_before: {tool: deploy, requires: [test, build]}`"),
    ("sequential", "write `sequential: {deploy: [test, build]}`: each tool with its prerequisites"),
    ("keyed", "write a list: `keyed: [{tool: merge, requires: review, key: pr_id}]`"),
    ("rules", "write a list: `rules: [{require_before: {tool: deploy, requires: test}}]`"),
    ("completion", "write what must be complete, such as `completion: {command: cargo test}`"),
    ("feedback", "write `feedback: {static: TEXT}`"),
    ("deep", "write the service, such as `deep: {http: URL}`"),
    ("read_before_write", "write `read_before_write: {}`, or `read_before_write` alone"),
    ("with", "write the settings by name, such as `with: {allow: [Read]}`"),
    ("effect", "write one effect: `effect: block`; its `reason` is a key of its own"),
    ("check", "write an expression as one text: `check: tool.args.amount <= 100`"),
    ("when", "write an expression as one text: `when: agent.role == 'planner'`"),
    ("approver", "write one role: `approver: reviewer`"),
    ("bypass", "write `bypass: {allowed: false}`, or `bypass: {allowed: true, requires_approval: ROLE}`"),
    ("budgets", "write `budgets: {tokens: 200000, time: 2h, cost: 20}`"),
    ("agents", "write each agent with its name as a key: `agents: {NAME: {allowed_tools: [Read]}}`"),
    ("tasks", "write each task with its name as a key: `tasks: {NAME: {token_budget: 50000}}`"),
    ("tests", "write each test as an item of a list: `- id: NAME`, with its `events`"),
    ("events", "write each event as an item of a list: `- {before_tool: NAME, expect: block}`"),
    ("strikes", "write a list: `strikes: [{count: 3, effect: halt}]`"),
    ("tool_risks", "write `tool_risks: {TOOL: high}`"),
    ("notify", "write a channel for each recipient: `notify: {reviewer: {webhook: URL}}`"),
    ("env", "write an overlay for each environment: `env: {prod: {…}}`; `--env prod` selects one"),
    ("alerts", "write a list: `alerts: [{name: NAME, condition: block_rate > 30%, action: TEXT}]`"),
    ("policy_pack", "write its name: `policy_pack: NAME`, with `sync_rules` and `async_rules` next to it"),
    ("guardrail", "write `guardrail: {id: NAME, …}`; a pack of your own starts with `pack: NAME`"),
    ("custom_guardrail", "write `custom_guardrail: {id: NAME, …}`"),
    ("files", "write `files: {read: […], write: […], deny: […]}`"),
    ("scope", "write `scope: {files: {write: [PATTERN, …]}}`"),
];

/// How to write the value of a key that needs a list or a map.
pub(crate) fn shape(key: &str) -> Option<&'static str> {
    SHAPES.iter().find(|(name, _)| *name == key).map(|(_, help)| *help)
}

/// The number that a text such as `200k`, `200_000`, `$20` or `20 USD` means.
pub(crate) fn number(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect();
    let rest: String =
        text.chars().filter(|c| !c.is_ascii_digit() && !matches!(c, '.' | '_' | ',' | ' ')).collect();
    let zeros = match rest.to_lowercase().as_str() {
        "k" => "000",
        "m" => "000000",
        "" | "$" | "€" | "usd" | "eur" | "tokens" | "calls" => "",
        _ => return None,
    };
    let is_number = digits.parse::<f64>().is_ok() && (zeros.is_empty() || !digits.contains('.'));
    is_number.then(|| format!("{digits}{zeros}"))
}

/// The boolean that a word of older YAML means.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    match text.to_lowercase().as_str() {
        "true" | "yes" | "on" | "y" | "enabled" | "1" => Some(true),
        "false" | "no" | "off" | "n" | "disabled" | "never" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units_are_understood() {
        for (text, expected) in [
            ("200k", Some("200000")),
            ("200_000", Some("200000")),
            ("$20", Some("20")),
            ("2.50 EUR", Some("2.50")),
            ("1.5k", None),
            ("80%", None),
            ("many", None),
        ] {
            assert_eq!(number(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn settings_name_their_built_in() {
        let known = vec![GUARDRAIL.to_owned()];
        let with_use = Around { uses: Some("tool-allowlist".to_owned()), ..Around::default() };
        assert_eq!(
            key("allow", &known, &with_use).unwrap(),
            "`allow` is a setting of `tool-allowlist`: write `with: {allow: …}`"
        );
        let without = key("allow", &known, &Around::default()).unwrap();
        assert!(without.contains("`tool-allowlist`") && without.contains("`use: NAME`"), "{without}");
    }

    #[test]
    fn every_shape_and_word_is_listed_once() {
        let mut places: Vec<(&str, &str)> =
            KEYS.iter().flat_map(|(place, words, _)| words.iter().map(move |word| (*place, *word))).collect();
        let count = places.len();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), count);
    }
}
