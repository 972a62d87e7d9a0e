//! Tables of keys, values and forms that are typical mistakes, and what to write instead.

/// Places of an unknown key: maps, known by one of their keys.
pub(super) const PACK: &str = "risk_router";
pub(super) const GUARDRAIL: &str = "read_before_write";
pub(super) const PREREQUISITE: &str = "own_writes";
pub(super) const AGENT: &str = "sections";
pub(super) const SECTION: &str = "guardrails";
pub(super) const SCOPE: &str = "files";
pub(super) const CASE: &str = "filesystem";
pub(super) const STEP: &str = "call_id";
pub(super) const BUDGETS: &str = "api_calls";
pub(super) const CHANNEL: &str = "webhook";
pub(super) const FEEDBACK: &str = "every_n_calls";
pub(super) const SCRIPT: &str = "input_timeout";
pub(super) const CEDAR: &str = "principal";
pub(super) const GATEWAY: &str = "sync_rules";
pub(super) const HOOK: &str = "validation";
pub(super) const TOOL_POLICY: &str = "policy";
pub(super) const EXPECTATION: &str = "rollback";
pub(super) const RULE: &str = "require_before";
pub(super) const DEEP: &str = "max_answer_bytes";
pub(super) const COMPLETION: &str = "also_after_tool";
pub(super) const COUNT: &str = "most";
pub(super) const REDACTION: &str = "match";

/// Keys of other tools by their place, and what to write instead.
pub(super) const KEYS: &[(&str, &[&str], &str)] = &[
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
    (
        COUNT,
        &["max", "maximum", "limit", "times", "calls", "at_most", "number", "n"],
        "the number of calls is `most: NUMBER`",
    ),
    (
        COUNT,
        &["key", "by", "for", "each"],
        "use `per: command`, `per: tool` or `per: {expression: tool.args.NAME}`",
    ),
    (COUNT, &["window", "in", "time", "interval", "period"], "use `within: 10m`"),
    (
        COUNT,
        &["after", "reset", "until", "reset_on"],
        "use `since: {command: …}` or `since: {changes: PATTERN}`",
    ),
    (
        REDACTION,
        &["type", "kind", "detector", "pattern", "text", "find", "regex", "name"],
        "use `match: PATTERN`, or `match: email` for a detector",
    ),
    (REDACTION, &["with", "replace", "replacement", "by", "to", "into"], "use `as: TEXT`"),
    (
        REDACTION,
        &["in", "on", "tools", "field", "argument", "where"],
        "write `on` and `tools` next to `redact`: `on: before_tool` is about arguments",
    ),
    (
        GUARDRAIL,
        &["since", "requires"],
        "write it below `require_before` or `count`: `require_before: {command: deploy, requires: {command: cargo test}, since: {changes: \"**\"}}`",
    ),
    (GUARDRAIL, &["most", "per", "within"], "write it below `count`: `count: {most: 3, per: command}`"),
    (
        GUARDRAIL,
        &["commands", "cmd", "program", "programs", "bash", "shell"],
        "use `command: [git push, npm publish]`",
    ),
    (GUARDRAIL, &["add", "args", "set"], "write it below `modify`: `modify: {args.limit: 100}`"),
    (
        GUARDRAIL,
        &["as", "mask", "replace"],
        "write it below `redact`: `redact: [{match: \"CUST-*\", as: \"[customer]\"}]`",
    ),
    (FEEDBACK, &["every", "interval", "after"], "use `every_n_calls: NUMBER` or `every_n_seconds: NUMBER`"),
    (FEEDBACK, &["text", "message", "content"], "use `static: TEXT`"),
    (DEEP, &["url", "uri", "endpoint", "address"], "use `http: {url: URL}`"),
    (
        COMPLETION,
        &["tests", "test", "run", "cmd", "commands", "script", "check_command"],
        "use `command: LINE`, a command that must succeed",
    ),
    (
        COMPLETION,
        &["change", "changes", "modified", "modifies", "edited", "updated", "touched"],
        "use `changed: FILE`: its content differs from that at the beginning of the session",
    ),
    (COMPLETION, &["file", "exists", "paths"], "use `files: [FILE, …]`, files that must exist"),
    (
        COMPLETION,
        &["contain", "includes", "has", "text", "content"],
        "use `contains: {FILE: TEXT}`, a text that the file must contain",
    ),
    (
        COMPLETION,
        &["match", "pattern", "regex", "grep"],
        "use `matches: {FILE: PATTERN}`, a pattern that a line of the file must match",
    ),
    (
        GUARDRAIL,
        &["changed", "unchanged", "contains", "matches"],
        "files are checked when the agent stops: write it below `completion`, such as `completion: {changed: CHANGELOG.md}`",
    ),
    (SCRIPT, &["path", "src", "source", "script"], "use `file: FILE`"),
    (CEDAR, &["file", "path", "source", "policy"], "use `policies: [FILE]`, or `code` for a text"),
    (CEDAR, &["agent", "user", "subject"], "use `principal: 'Agent::\"{agent.id}\"'`"),
    (CEDAR, &["tool"], "use `action: 'Action::\"{tool.name}\"'`"),
    (PACK, &["name", "title", "id"], "the name of a pack is `pack: NAME`"),
    (
        PACK,
        &["permissions", "hooks", "deny", "ask", "allow"],
        "write each rule as a guardrail: `guardrails: [{id: NAME, command: git push, effect: block}]`; `midrail import --policy HOST` converts rules of coding agents",
    ),
    (
        PACK,
        &["default", "default_action", "default_effect", "default_decision", "fallback", "otherwise"],
        "what no guardrail stops is allowed; to allow listed tools only, use the guardrail `tool-allowlist` with `allow: [TOOL, …]`",
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
    (
        PACK,
        &[
            "limits",
            "budget",
            "limit",
            "cost",
            "cost_budget",
            "max_cost",
            "token_budget",
            "max_tokens",
            "tokens",
            "time_budget",
            "max_time",
        ],
        "use `budgets: {tokens: NUMBER, time: DURATION, cost: NUMBER}`",
    ),
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
    (GUARDRAIL, &["unless"], "use `when: not (EXPRESSION)`"),
    (
        GUARDRAIL,
        &["except", "exclude", "excludes", "exclusions", "exception", "exceptions", "ignore", "not"],
        "use `except: COMMAND` next to `command`, or `when: not (EXPRESSION)`",
    ),
    (
        GUARDRAIL,
        &["host", "hosts", "domain", "domains", "url", "urls", "network", "allowed_hosts", "allowed_domains"],
        "use `check: action.hosts all match ['github.com', '*.github.com']`",
    ),
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
        &["path", "file", "files", "glob", "pattern", "regex", "paths"],
        "use `when: action.target_file matches 'PATTERN'` for files, or `command: git push`; lists of credentials are settings of `use: sensitive-file`",
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
        CASE,
        &["now", "time", "at", "clock", "date"],
        "the time of an event is `{before_tool: NAME, time: \"2026-11-20T10:00:00Z\", …}`; `{advance: SECONDS}` between events advances it",
    ),
    (
        STEP,
        &["tool", "call", "name", "event"],
        "write the kind of event with the tool: `{before_tool: NAME, args: {…}, expect: EFFECT}`",
    ),
    (STEP, &["input", "tool_input", "arguments", "params"], "use `args: {…}`"),
    (
        STEP,
        &["command", "cmd", "bash", "shell", "line", "run"],
        "a command is an argument of its tool: `{before_tool: Bash, args: {command: LINE}, expect: EFFECT}`",
    ),
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
pub(super) const KEYS_OF_PACKS: &[&str] = &[
    "tests",
    "guardrails",
    "pack",
    "defaults",
    "budgets",
    "alerts",
    "notify",
    "strikes",
    "tool_risks",
    "labels",
    "mcp",
    "env",
    "vouch",
    "env_vars",
    "time_zone",
];

/// Values of other tools by a value that is known there, and what to write instead.
pub(super) const VALUES: &[(&str, &[&str], &str)] = &[
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
    ("halt", &["vouch"], "`vouch` is a key of the pack: `vouch: {commands: [cargo test]}`"),
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

/// How to write the value of a key that has a value of another type.
pub(super) const SHAPES: &[(&str, &str)] = &[
    ("guardrails", "write each guardrail as an item of a list: `- id: NAME`"),
    ("require_before", "write `require_before: {tool: deploy, requires: [test, build]}`"),
    ("sequential", "write `sequential: {deploy: [test, build]}`: each tool with its prerequisites"),
    ("keyed", "write a list: `keyed: [{tool: merge, requires: review, key: pr_id}]`"),
    ("rules", "write a list: `rules: [{require_before: {tool: deploy, requires: test}}]`"),
    (
        "completion",
        "write what must be complete, such as `completion: {command: cargo test}` or `completion: {changed: CHANGELOG.md}`",
    ),
    ("changed", "write a path or a pattern, or a list of them: `changed: CHANGELOG.md`"),
    ("unchanged", "write a path or a pattern, or a list of them: `unchanged: \"tests/**\"`"),
    ("contains", "write each file with its text: `contains: {CHANGELOG.md: \"## 1.2\"}`"),
    ("matches", "write each file with its pattern: `matches: {CHANGELOG.md: \"## 1.*\"}`"),
    ("feedback", "write `feedback: {static: TEXT}`"),
    ("count", "write `count: {most: 3, per: command, result: failed}`"),
    (
        "vouch",
        "write the calls by kind: `vouch: {commands: [cargo test], reads: [\"**\"], tools: [TodoWrite]}`",
    ),
    ("env_vars", "write the names in a list: `env_vars: [DEPLOY_ENV]`"),
    ("redact", "write a list: `redact: [{match: \"CUST-*\", as: \"[customer]\"}]`"),
    ("flow", "write `flow: {after: untrusted, does: send, unless: named}`"),
    ("labels", "write a list of rows: `labels: [{tools: [mail_read], seen: untrusted}]`"),
    ("unless", "write `unless: named`, or `unless: {to: [\"*@example.org\"]}`"),
    ("modify", "write the arguments by name: `modify: {args.limit: 100}`"),
    (
        "cedar",
        "write `cedar: {policies: [FILE], principal: 'Agent::\"{agent.id}\"', action: 'Action::\"{tool.name}\"', resource: …}`",
    ),
    ("deep", "write the service, such as `deep: {http: {url: URL}}`"),
    ("read_before_write", "write `read_before_write: {}`, or `read_before_write` alone"),
    ("with", "write the settings by name, such as `with: {allow: [Read]}`"),
    ("effect", "write one effect: `effect: block`; its `reason` is a key of its own"),
    (
        "check",
        "write an expression as one text, with `AND` or `OR` between its parts: `check: tool.args.amount <= 100`",
    ),
    (
        "when",
        "write an expression as one text, with `AND` or `OR` between its parts: `when: agent.role == 'planner'`",
    ),
    ("reason", "write one text: `reason: A person decides about deployments.`"),
    ("advice", "write one text: `advice: Run the tests first.`"),
    ("description", "write one text: `description: Only tested code is deployed.`"),
    ("approver", "write one role: `approver: reviewer`"),
    ("bypass", "write `bypass: {allowed: false}`, or `bypass: {allowed: true, requires_approval: ROLE}`"),
    ("emergency", "write `emergency: {only_for: EXPRESSION, wait: 15m, review_within: 24h}`"),
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
