//! scope-001: changes are about the task. It goes by words and paths, and rather says nothing than too much.

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

use midrail_core::{
    Action, ActionType, Changes, Context, Effect, EventKind, Fault, Guardrail, Missing, Verdict, glob,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::deep::{Deep, DeepSettings};
use crate::places::{fits, is_nobodys, is_temporary};
use crate::settings::Pattern;

/// The settings of scope-001.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TaskBoundary {
    /// Further files that belong to every task, as glob patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Pattern>,
    /// A goal of fewer words than this says too little to go by.
    pub min_words: usize,
    /// Who is asked where words and paths do not show what a change has to do with the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classifier: Option<DeepSettings>,
}

impl Default for TaskBoundary {
    fn default() -> Self {
        TaskBoundary { also: Vec::new(), min_words: 3, classifier: None }
    }
}

/// Files that come along with any change.
const COMPANIONS: &[&str] = &[
    "**/test/**",
    "**/tests/**",
    "**/testing/**",
    "**/__tests__/**",
    "**/spec/**",
    "**/specs/**",
    "**/fixtures/**",
    "**/testdata/**",
    "**/docs/**",
    "**/doc/**",
    "**/examples/**",
    "**/.github/**",
    "**/migrations/**",
    "**/generated/**",
    "**/node_modules/**",
    "**/target/**",
    "**/dist/**",
    "**/build/**",
    "**/out/**",
    "*test*",
    "*spec.*",
    "*_spec*",
    "*.md",
    "*.mdx",
    "*.rst",
    "*.txt",
    "*.adoc",
    "*.lock",
    "*-lock.json",
    "*-lock.yaml",
    "*.lockb",
    "*.sum",
    "*.snap",
    "*.log",
    "Cargo.toml",
    "package.json",
    "go.mod",
    "pyproject.toml",
    "requirements*",
    "setup.py",
    "setup.cfg",
    "tsconfig*",
    "Makefile",
    "Dockerfile*",
    "*.gradle",
    "pom.xml",
    "CMakeLists.txt",
    ".gitignore",
    ".gitattributes",
    ".editorconfig",
    ".eslintrc*",
    ".prettierrc*",
    "LICENSE*",
    "CHANGELOG*",
    "VERSION",
];

/// Words of paths and goals that tell nothing.
const COMMON: &[&str] = &[
    "src",
    "lib",
    "libs",
    "main",
    "mod",
    "index",
    "app",
    "apps",
    "core",
    "util",
    "utils",
    "common",
    "crate",
    "crates",
    "package",
    "packages",
    "pkg",
    "cmd",
    "internal",
    "init",
    "helper",
    "helpers",
    "base",
    "shared",
    "types",
    "code",
    "source",
    "module",
    "modules",
    "component",
    "components",
    "file",
    "files",
    "the",
    "and",
    "for",
    "with",
    "that",
    "this",
    "from",
    "into",
    "are",
    "not",
    "its",
    "all",
    "any",
    "can",
    "should",
    "must",
    "will",
    "make",
    "add",
    "fix",
    "new",
    "use",
    "using",
    "change",
    "update",
    "implement",
    "create",
    "write",
    "remove",
    "delete",
    "improve",
    "refactor",
    "support",
    "please",
    "when",
    "where",
    "which",
    "have",
    "has",
    "was",
    "been",
    "than",
    "then",
    "but",
    "our",
    "your",
    "their",
    "also",
    "some",
    "more",
    "such",
    "project",
    "repository",
    "task",
    "work",
    "function",
    "class",
    "method",
    "bug",
    "issue",
    "feature",
    "need",
    "needs",
    "want",
    "does",
    "done",
    "get",
    "set",
    "let",
    "out",
    "one",
    "two",
    "so",
    "every",
    "each",
];

const MAX_WORDS: usize = 200;
const MAX_TEXT: usize = 32 * 1024;

impl TaskBoundary {
    /// The words of the goals, where they say enough.
    fn goal(&self, context: &Context<'_>) -> Option<BTreeSet<String>> {
        let mut all = BTreeSet::new();
        for goal in context.tasks().filter_map(|task| task.goal.as_deref()) {
            words(goal, &mut all);
        }
        (all.len() >= self.min_words.max(1)).then_some(all)
    }

    /// Whether a file belongs to every task, or to this one by its scope.
    fn is_companion(&self, context: &Context<'_>, name: &str) -> bool {
        let own = self.also.iter().map(|it| it.0.as_str());
        let scopes = context.tasks().filter_map(|task| task.scope.as_ref()?.files.write.as_deref());
        let mut in_scope = scopes.flatten().filter(|pattern| !is_everything(pattern));
        COMPANIONS.iter().copied().chain(own).any(|pattern| fits(pattern, name))
            || is_temporary(name)
            || is_nobodys(name)
            || in_scope.any(|pattern| glob::path_matches(pattern, name))
    }

    fn seen(context: &Context<'_>) -> Result<BTreeSet<String>, Missing> {
        let slice = context.state(&key(context))?.and_then(Value::as_array).map(Vec::as_slice);
        Ok(slice.unwrap_or_default().iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }
}

/// A scope of everything tells nothing of what the task is about.
fn is_everything(pattern: &str) -> bool {
    pattern.chars().all(|c| matches!(c, '*' | '/' | '.'))
}

fn key(context: &Context<'_>) -> String {
    format!("words/{}", context.event.task_id())
}

/// The words of a text, in small letters, without those that tell nothing: `loginForm_v2` is `login` and `form`.
fn words(text: &str, all: &mut BTreeSet<String>) {
    let end = text.char_indices().nth(MAX_TEXT).map_or(text.len(), |(at, _)| at);
    let mut word = String::new();
    let mut was_lower = false;
    for c in text.get(..end).unwrap_or_default().chars().chain([' ']) {
        let starts = c.is_uppercase() && was_lower;
        if (!c.is_alphabetic() || starts) && !word.is_empty() {
            let whole = std::mem::take(&mut word);
            if whole.chars().count() >= 3 && !COMMON.contains(&whole.as_str()) && all.len() < MAX_WORDS {
                all.insert(whole);
            }
        }
        if c.is_alphabetic() {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
}

/// The words of a file's path, without the ending.
fn path_words(name: &str) -> BTreeSet<String> {
    let stem = match name.rsplit_once('.') {
        Some((stem, ending)) if !ending.contains('/') && !stem.is_empty() && !stem.ends_with('/') => stem,
        _ => name,
    };
    let mut all = BTreeSet::new();
    words(stem, &mut all);
    all
}

/// Letters that two forms of a word have in common: `paginate`, `pagination`.
const STEM: usize = 5;

/// Whether two words may be forms of one: `auth` and `authentication`, `user` and `users`.
fn is_kin(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    let stem = |word: &str| word.chars().take(STEM).collect::<String>();
    one == other
        || (short.chars().count() >= 3
            && long.strip_prefix(short).is_some_and(|rest| rest == "s" || rest == "es"))
        || (short.chars().count() >= 4 && long.starts_with(short))
        || (short.chars().count() >= STEM && stem(one) == stem(other))
}

fn share(some: &BTreeSet<String>, others: &BTreeSet<String>) -> usize {
    some.iter().filter(|word| others.iter().any(|other| is_kin(word, other))).count()
}

/// The words of what a call writes and runs.
fn call_words(context: &Context<'_>, action: &Action) -> BTreeSet<String> {
    let mut text = action.command.clone().unwrap_or_default();
    if let Some(tool) = context.event.tool.as_ref() {
        for value in tool.args.values() {
            gather(value, 0, &mut text);
        }
    }
    let mut all = BTreeSet::new();
    words(&text, &mut all);
    all
}

fn gather(value: &Value, depth: usize, text: &mut String) {
    match value {
        _ if depth > 16 || text.len() > MAX_TEXT => {}
        Value::String(part) => {
            text.push(' ');
            text.push_str(part);
        }
        Value::Array(list) => list.iter().for_each(|it| gather(it, depth + 1, text)),
        Value::Object(map) => map.values().for_each(|it| gather(it, depth + 1, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Words of a written text that have to be the goal's for the file to be about it.
const MIN_SHARED: usize = 2;

impl TaskBoundary {
    fn classifier(&self) -> Option<Deep> {
        self.classifier.as_ref().map(|settings| Deep::new(settings.clone(), None))
    }
}

/// What a classifier objects to is a warning here, unless a pack says otherwise.
fn as_warning(verdict: Verdict) -> Verdict {
    if verdict.effect == Effect::Block && !verdict.unanswered {
        Verdict { effect: Effect::Warn, ..verdict }
    } else {
        verdict
    }
}

impl Guardrail for TaskBoundary {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let Some(goal) = self.goal(context).filter(|_| context.event.tool.is_some()) else {
            return Ok(Verdict::allow());
        };
        let action = context.action()?;
        let changes = matches!(action.kind, ActionType::FileWrite | ActionType::Command);
        if !changes || action.writes.is_empty() || action.programs.iter().any(|it| it == "git") {
            return Ok(Verdict::allow());
        }
        let seen = Self::seen(context);
        let names: Vec<_> = action.writes.iter().map(|file| (file, context.names_of(file))).collect();
        let seen = seen?;
        let mut strangers = Vec::new();
        for (file, names) in names {
            let names = names?;
            // Where no folder is known, `/tmp` is one of the root.
            let is_scratch = is_temporary(file) || is_nobodys(file);
            let is_known = is_scratch
                || names.iter().any(|name| {
                    let words = path_words(name);
                    self.is_companion(context, name)
                        || words.is_empty()
                        || share(&words, &goal) > 0
                        || share(&words, &seen) > 0
                });
            if is_known {
                // One file of the task among them is enough: the others come along.
                return Ok(Verdict::allow());
            }
            strangers.push(file);
        }
        let Some(first) = strangers.first() else { return Ok(Verdict::allow()) };
        if share(&call_words(context, action), &goal) >= MIN_SHARED.min(goal.len()) {
            return Ok(Verdict::allow());
        }
        if let Some(deep) = self.classifier() {
            match deep.check(context) {
                Ok(verdict) => return Ok(as_warning(verdict)),
                Err(fault) if context.awaits() => return Err(fault),
                // Where nobody answers, the words are all there is.
                Err(_) => {}
            }
        }
        Ok(Verdict::warn(format!(
            "File '{first}' seems to have nothing to do with the task: it shares no word with the goal, nor with the files \
             of the task so far."
        ))
        .advise("Go back to the task, or say how this change serves it.")
        .with("path", first.as_str()))
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        let Some(goal) = self.goal(context).filter(|_| context.event.tool.is_some() && effect.goes_on())
        else {
            return Ok(());
        };
        let action = context.action()?;
        let seen = Self::seen(context)?;
        let mut after = seen.clone();
        let is_about = action.kind == ActionType::FileWrite
            && share(&call_words(context, action), &goal) >= MIN_SHARED.min(goal.len());
        for file in action.target_files.iter().flatten() {
            let words = path_words(&context.place(file, None).key);
            if is_about || share(&words, &goal) > 0 {
                after.extend(words);
            }
        }
        let after: BTreeSet<String> = after.into_iter().take(MAX_WORDS).collect();
        if after != seen {
            changes.set(context.key(&key(context)), json!(after));
        }
        Ok(())
    }

    fn watches(&self) -> &[EventKind] {
        &[EventKind::BeforeTool]
    }

    fn ceiling(&self) -> Effect {
        match self.classifier {
            Some(_) => Effect::Halt,
            None => Effect::Warn,
        }
    }

    fn may_retry(&self, _: EventKind) -> bool {
        false
    }

    fn outside(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.classifier()?.outside()
    }

    fn may_be_late(&self) -> bool {
        self.classifier.is_some()
    }

    fn unanswered(&self, then: Effect) -> Effect {
        if self.classifier.is_some() { then } else { Effect::Allow }
    }

    fn late(&self, context: &Context<'_>, answer: &Value) -> Result<Verdict, Fault> {
        match self.classifier() {
            Some(deep) => deep.late(context, answer).map(as_warning),
            None => Ok(Verdict::allow()),
        }
    }

    fn summary(&self) -> Option<String> {
        Some("Change only what your task is about.".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Run;
    use midrail_core::{Event, Scope, Task};

    const GOAL: &str = "Add pagination to the list of invoices";

    fn event(goal: &str, tool: &str, args: Value) -> Event {
        let task = Task { goal: Some(goal.to_owned()), ..Task::default() };
        Event { task: Some(task), ..Event::before_tool(tool, args) }
    }

    fn write(file: &str) -> Effect {
        Run::of(TaskBoundary::default())
            .decide(&event(GOAL, "Write", json!({"file_path": file, "content": "x"})))
            .effect
    }

    fn bash(line: &str) -> Effect {
        Run::of(TaskBoundary::default()).decide(&event(GOAL, "Bash", json!({"command": line}))).effect
    }

    #[test]
    fn a_change_elsewhere_is_told() {
        assert_eq!(write("src/auth/password.rs"), Effect::Warn);
        assert_eq!(write("website/theme/colors.css"), Effect::Warn);
        assert_eq!(bash("echo x > src/auth/password.rs"), Effect::Warn);
        assert_eq!(bash("sed -i s/a/b/ /etc/nginx/nginx.conf"), Effect::Warn);
    }

    #[test]
    fn what_is_about_the_goal_passes() {
        for file in [
            "src/invoice.rs",
            "web/InvoiceList.tsx",
            "src/paginator.rs",
            "src/listing/a.rs",
            "src/main.rs",
            "src/lib.rs",
        ] {
            assert_eq!(write(file), Effect::Allow, "{file}");
        }
    }

    #[test]
    fn companions_of_every_change_pass() {
        for file in [
            "tests/auth.rs",
            "src/auth_test.go",
            "docs/theme.md",
            "README.md",
            "Cargo.lock",
            "package-lock.json",
            "Cargo.toml",
            "go.sum",
            ".github/workflows/ci.yml",
            "/tmp/scratch.py",
            "web/colors.spec.ts",
            "target/debug/x",
            ".gitignore",
        ] {
            assert_eq!(write(file), Effect::Allow, "{file}");
        }
        for line in [
            "cargo build",
            "git checkout -b theme",
            "git mv a/theme b/theme",
            "ls > /dev/null",
            "make > build.log",
        ] {
            assert_eq!(bash(line), Effect::Allow, "{line}");
        }
    }

    #[test]
    fn reading_is_never_drift() {
        let read = event(GOAL, "Read", json!({"file_path": "src/auth/password.rs"}));
        assert_eq!(Run::of(TaskBoundary::default()).decide(&read).effect, Effect::Allow);
    }

    #[test]
    fn what_is_written_may_be_about_the_goal() {
        let args =
            json!({"file_path": "src/auth/password.rs", "content": "fn paginate(invoices: &[Invoice]) {}"});
        assert_eq!(
            Run::of(TaskBoundary::default()).decide(&event(GOAL, "Write", args)).effect,
            Effect::Allow
        );
    }

    #[test]
    fn neighbours_of_files_of_the_task_pass() {
        let mut run = Run::of(TaskBoundary::default());
        let mut write = |file: &str| run.decide(&event(GOAL, "Write", json!({"file_path": file}))).effect;
        assert_eq!(write("src/billing/totals.rs"), Effect::Warn);
        assert_eq!(write("src/billing/invoice.rs"), Effect::Allow);
        assert_eq!(write("src/billing/totals.rs"), Effect::Allow);
        assert_eq!(write("src/auth/password.rs"), Effect::Warn);
    }

    #[test]
    fn a_file_that_was_read_for_the_task_leads_on() {
        let mut run = Run::of(TaskBoundary::default());
        run.decide(&event(GOAL, "Read", json!({"file_path": "src/billing/invoice.rs"})));
        let totals = event(GOAL, "Write", json!({"file_path": "src/billing/totals.rs"}));
        assert_eq!(run.decide(&totals).effect, Effect::Allow);
    }

    #[test]
    fn a_goal_that_says_little_says_nothing() {
        let stranger = json!({"file_path": "src/auth/password.rs"});
        let effect = |goal: &str| {
            Run::of(TaskBoundary::default()).decide(&event(goal, "Write", stranger.clone())).effect
        };
        assert_eq!(effect(""), Effect::Allow);
        assert_eq!(effect("Fix the bug"), Effect::Allow);
        assert_eq!(Run::of(TaskBoundary::default()).before("Write", stranger.clone()).effect, Effect::Allow);
        let eager = TaskBoundary { min_words: 1, ..TaskBoundary::default() };
        assert_eq!(Run::of(eager).decide(&event("Fix invoices", "Write", stranger)).effect, Effect::Warn);
    }

    #[test]
    fn settings_and_scopes_name_further_files() {
        let stranger = || event(GOAL, "Write", json!({"file_path": "src/auth/password.rs"}));
        let also = TaskBoundary { also: vec![Pattern("src/auth/**".into())], ..TaskBoundary::default() };
        assert_eq!(Run::of(also).decide(&stranger()).effect, Effect::Allow);
        let scoped = |pattern: &str| {
            let mut event = stranger();
            let files = serde_json::from_value(json!({"write": [pattern]})).unwrap();
            event.task.as_mut().unwrap().scope = Some(Scope { files });
            Run::of(TaskBoundary::default()).decide(&event).effect
        };
        assert_eq!(scoped("src/auth/**"), Effect::Allow);
        assert_eq!(scoped("**"), Effect::Warn);
    }

    #[test]
    fn words_have_forms() {
        assert!(
            is_kin("auth", "authentication") && is_kin("user", "users") && is_kin("paginate", "pagination")
        );
        assert!(!is_kin("log", "login") && !is_kin("car", "cart") && !is_kin("invoice", "theme"));
        let mut all = BTreeSet::new();
        words("The loginForm_v2 of HTTPServer, in src/main.rs", &mut all);
        assert!(
            all.contains("login") && all.contains("form") && !all.contains("the") && !all.contains("src")
        );
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut run = Run::of(TaskBoundary::default());
        for i in 0..300_u32 {
            let name: String = i.to_string().bytes().map(|b| char::from(b - b'0' + b'a')).collect();
            let decision = run.decide(&event(
                GOAL,
                "Write",
                json!({"file_path": format!("invoice/zz{name}zz/qq{name}.rs")}),
            ));
            for kept in decision.changes.0.values().flatten().filter_map(Value::as_array) {
                assert!(kept.len() <= MAX_WORDS);
            }
        }
    }
}
