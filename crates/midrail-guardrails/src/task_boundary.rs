//! task-boundary (scope-001): warns about changes that are unrelated to the task, judged by words and paths.

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

use midrail_core::{Action, ActionType, glob};
use serde_json::Value;

use crate::deep::{DeepGuardrail, DeepSettings};
use crate::prelude::*;
use crate::shared::data::TASK_WORDS;
use crate::shared::file_paths::{is_device, is_temporary, path_fits};
use crate::shared::settings::Pattern;

pub(crate) const BUILTIN: Builtin =
    SCOPE.builtin::<TaskBoundary>("scope-001", &[EventKind::BeforeTool]).supports(CALLS);

/// The settings of task-boundary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TaskBoundary {
    /// Further files that belong to every task, as glob patterns.
    pub also: Vec<Pattern>,
    /// Minimum number of significant words of a goal.
    pub min_words: usize,
    /// The classifier that is called if words and paths show no relation.
    pub classifier: Option<DeepSettings>,
}

impl Default for TaskBoundary {
    fn default() -> Self {
        TaskBoundary { also: Vec::new(), min_words: 3, classifier: None }
    }
}

const MAX_WORDS: usize = 200;
const MAX_TEXT: usize = 32 * 1024;

impl TaskBoundary {
    /// The words of the goals, if there are enough.
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
        TASK_WORDS.list("files").iter().copied().chain(own).any(|pattern| path_fits(pattern, name))
            || is_temporary(name)
            || is_device(name)
            || in_scope.any(|pattern| glob::path_matches(pattern, name))
    }
}

/// Whether a pattern matches everything, and so shows nothing about the task.
fn is_everything(pattern: &str) -> bool {
    pattern.chars().all(|c| matches!(c, '*' | '/' | '.'))
}

/// The slice with the words of the files of the task so far.
fn key(context: &Context<'_>) -> Key<BTreeSet<String>> {
    Key::own(context, &format!("words/{}", context.event.task_id()))
}

/// The significant words of a text, in lowercase: `loginForm_v2` is `login` and `form`.
fn words(text: &str, all: &mut BTreeSet<String>) {
    let end = text.char_indices().nth(MAX_TEXT).map_or(text.len(), |(at, _)| at);
    let mut word = String::new();
    let mut was_lower = false;
    for c in text.get(..end).unwrap_or_default().chars().chain([' ']) {
        let starts = c.is_uppercase() && was_lower;
        if (!c.is_alphabetic() || starts) && !word.is_empty() {
            let whole = std::mem::take(&mut word);
            if whole.chars().count() >= 3 && !TASK_WORDS.has("words", &whole) && all.len() < MAX_WORDS {
                all.insert(whole);
            }
        }
        if c.is_alphabetic() {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
}

/// The words of a file's path, without the extension.
fn path_words(name: &str) -> BTreeSet<String> {
    let stem = match name.rsplit_once('.') {
        Some((stem, ending)) if !ending.contains('/') && !stem.is_empty() && !stem.ends_with('/') => stem,
        _ => name,
    };
    let mut all = BTreeSet::new();
    words(stem, &mut all);
    all
}

/// Common first letters of two forms of a word: `paginate`, `pagination`.
const STEM: usize = 5;

/// Whether two words may be forms of one word: `auth` and `authentication`, `user` and `users`.
fn is_related(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    let stem = |word: &str| word.chars().take(STEM).collect::<String>();
    one == other
        || (short.chars().count() >= 3
            && long.strip_prefix(short).is_some_and(|rest| rest == "s" || rest == "es"))
        || (short.chars().count() >= 4 && long.starts_with(short))
        || (short.chars().count() >= STEM && stem(one) == stem(other))
}

fn share(some: &BTreeSet<String>, others: &BTreeSet<String>) -> usize {
    some.iter().filter(|word| others.iter().any(|other| is_related(word, other))).count()
}

/// The words of a call's content and command.
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

/// Minimum number of common words of the goal and the written content.
const MIN_SHARED: usize = 2;

/// Minimum number of significant words of a call outside the project.
const MIN_CALL_WORDS: usize = 3;

impl TaskBoundary {
    fn classifier(&self) -> Option<DeepGuardrail> {
        self.classifier.as_ref().map(|settings| DeepGuardrail::new(settings.clone(), None))
    }
}

/// Whether a call does something outside the project: it contacts a host, or it is a tool of its own with a text.
fn acts_elsewhere(context: &Context<'_>, action: &Action) -> bool {
    let tool = context.event.tool_name().unwrap_or_default();
    match action.kind {
        ActionType::Network => true,
        // A tool of a server that reads or plans is no work of its own.
        ActionType::Other => {
            tool.starts_with("mcp__") || action.has_unknown_hosts || !action.hosts.is_empty()
        }
        ActionType::FileRead | ActionType::FileWrite | ActionType::Command => false,
    }
}

impl TaskBoundary {
    /// Checks a call outside the project by its words.
    fn check_call(
        &self,
        context: &Context<'_>,
        action: &Action,
        goal: &BTreeSet<String>,
    ) -> Result<Verdict, Fault> {
        let seen = key(context).read(context)?.unwrap_or_default();
        let said = call_words(context, action);
        // A short call shows too little.
        let is_related = share(&said, goal) > 0 || share(&said, &seen) > 0;
        if said.len() < MIN_CALL_WORDS || is_related {
            return Ok(Verdict::allow());
        }
        if let Some(verdict) = self.classified(context)? {
            return Ok(verdict);
        }
        let tool = context.event.tool_name().unwrap_or_default();
        Ok(Verdict::warn(format!(
            "This call of '{tool}' seems unrelated to the task: it has no word in common with the goal or with the \
             files of the task so far."
        ))
        .advise("Return to the task, or explain how this call serves it.")
        .with("tool", tool))
    }

    /// The verdict of the classifier, if there is one and it answers.
    fn classified(&self, context: &Context<'_>) -> Result<Option<Verdict>, Fault> {
        let Some(deep) = self.classifier() else { return Ok(None) };
        match deep.check(context) {
            Ok(verdict) => Ok(Some(as_warning(verdict))),
            Err(fault) if context.has_pending_needs() => Err(fault),
            // Without an answer, only the words count.
            Err(_) => Ok(None),
        }
    }
}

/// Turns an objection of the classifier into a warning.
fn as_warning(verdict: Verdict) -> Verdict {
    if verdict.effect == Effect::Block && !verdict.timed_out {
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
        if acts_elsewhere(context, action) {
            return self.check_call(context, action, &goal);
        }
        if !changes || action.writes.is_empty() || action.programs.iter().any(|it| it == "git") {
            return Ok(Verdict::allow());
        }
        let seen = key(context).read(context);
        let names: Vec<_> = action.writes.iter().map(|file| (file, context.places(file))).collect();
        let seen = seen?.unwrap_or_default();
        let mut unrelated = Vec::new();
        for (file, names) in names {
            let names = names?;
            // Without a working directory, `/tmp` is inside the root.
            let is_scratch = is_temporary(file) || is_device(file);
            let is_known = is_scratch
                || names.iter().any(|name| {
                    let words = path_words(name);
                    self.is_companion(context, name)
                        || words.is_empty()
                        || share(&words, &goal) > 0
                        || share(&words, &seen) > 0
                });
            if is_known {
                // One related file is enough.
                return Ok(Verdict::allow());
            }
            unrelated.push(file);
        }
        let Some(first) = unrelated.first() else { return Ok(Verdict::allow()) };
        if share(&call_words(context, action), &goal) >= MIN_SHARED.min(goal.len()) {
            return Ok(Verdict::allow());
        }
        if let Some(verdict) = self.classified(context)? {
            return Ok(verdict);
        }
        Ok(Verdict::warn(format!(
            "File '{first}' seems unrelated to the task: it has no word in common with the goal or with the files \
             of the task so far."
        ))
        .advise("Return to the task, or explain how this change serves it.")
        .with("path", first.as_str()))
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        let Some(goal) = self.goal(context).filter(|_| context.event.tool.is_some() && effect.allows())
        else {
            return Ok(());
        };
        let action = context.action()?;
        let seen = key(context).read(context)?.unwrap_or_default();
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
            key(context).write(changes, &after)?;
        }
        Ok(())
    }

    fn observes(&self) -> &[EventKind] {
        &[EventKind::BeforeTool]
    }

    fn max_effect(&self) -> Effect {
        match self.classifier {
            Some(_) => Effect::Halt,
            None => Effect::Warn,
        }
    }

    fn can_retry(&self, _: EventKind) -> bool {
        false
    }

    fn external_request(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.classifier()?.external_request()
    }

    fn has_late_answers(&self) -> bool {
        self.classifier.is_some()
    }

    fn timeout_effect(&self, then: Effect) -> Effect {
        if self.classifier.is_some() { then } else { Effect::Allow }
    }

    fn check_late_answer(&self, context: &Context<'_>, answer: &Value) -> Result<Verdict, Fault> {
        match self.classifier() {
            Some(deep) => deep.check_late_answer(context, answer).map(as_warning),
            None => Ok(Verdict::allow()),
        }
    }

    fn summary(&self) -> Option<String> {
        Some("Change only files that are related to your task.".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use midrail_core::{Event, Scope, Task};
    use serde_json::json;

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
    fn unrelated_change_warns() {
        assert_eq!(write("src/auth/password.rs"), Effect::Warn);
        assert_eq!(write("website/theme/colors.css"), Effect::Warn);
        assert_eq!(bash("echo x > src/auth/password.rs"), Effect::Warn);
        assert_eq!(bash("sed -i s/a/b/ /etc/nginx/nginx.conf"), Effect::Warn);
    }

    #[test]
    fn related_change_is_allowed() {
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
    fn companion_files_are_allowed() {
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
    fn reading_is_allowed() {
        let read = event(GOAL, "Read", json!({"file_path": "src/auth/password.rs"}));
        assert_eq!(Run::of(TaskBoundary::default()).decide(&read).effect, Effect::Allow);
    }

    #[test]
    fn related_content_is_allowed() {
        let args =
            json!({"file_path": "src/auth/password.rs", "content": "fn paginate(invoices: &[Invoice]) {}"});
        assert_eq!(
            Run::of(TaskBoundary::default()).decide(&event(GOAL, "Write", args)).effect,
            Effect::Allow
        );
    }

    #[test]
    fn neighbours_of_task_files_are_allowed() {
        let mut run = Run::of(TaskBoundary::default());
        let mut write = |file: &str| run.decide(&event(GOAL, "Write", json!({"file_path": file}))).effect;
        assert_eq!(write("src/billing/totals.rs"), Effect::Warn);
        assert_eq!(write("src/billing/invoice.rs"), Effect::Allow);
        assert_eq!(write("src/billing/totals.rs"), Effect::Allow);
        assert_eq!(write("src/auth/password.rs"), Effect::Warn);
    }

    #[test]
    fn files_read_for_the_task_make_neighbours_related() {
        let mut run = Run::of(TaskBoundary::default());
        run.decide(&event(GOAL, "Read", json!({"file_path": "src/billing/invoice.rs"})));
        let totals = event(GOAL, "Write", json!({"file_path": "src/billing/totals.rs"}));
        assert_eq!(run.decide(&totals).effect, Effect::Allow);
    }

    #[test]
    fn unrelated_calls_outside_the_project_warn() {
        let effect = |tool: &str, args: Value| {
            Run::of(TaskBoundary::default()).decide(&event(GOAL, tool, args)).effect
        };
        let search = |query: &str| effect("WebSearch", json!({"query": query}));
        assert_eq!(search("cheap flights from Berlin to Lisbon in summer"), Effect::Warn);
        assert_eq!(search("rust pagination cursor best practice"), Effect::Allow);
        assert_eq!(search("serde rename"), Effect::Allow);
        let mail =
            json!({"to": "team@example.org", "text": "Who wants to order pizza tonight after football?"});
        assert_eq!(effect("mcp__mail__send", mail), Effect::Warn);
        let issue = json!({"title": "Invoices are listed without pages", "text": "add a cursor"});
        assert_eq!(effect("mcp__github__create_issue", issue), Effect::Allow);
        assert_eq!(
            effect("TodoWrite", json!({"todos": [{"content": "order pizza tonight quickly"}]})),
            Effect::Allow
        );
    }

    #[test]
    fn short_goals_are_not_checked() {
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
    fn settings_and_scopes_add_files() {
        let stranger = || event(GOAL, "Write", json!({"file_path": "src/auth/password.rs"}));
        let also = TaskBoundary { also: vec![Pattern::new("src/auth/**")], ..TaskBoundary::default() };
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
    fn word_forms_are_related() {
        assert!(
            is_related("auth", "authentication")
                && is_related("user", "users")
                && is_related("paginate", "pagination")
        );
        assert!(!is_related("log", "login") && !is_related("car", "cart") && !is_related("invoice", "theme"));
        let mut all = BTreeSet::new();
        words("The loginForm_v2 of HTTPServer, in src/main.rs", &mut all);
        assert!(
            all.contains("login") && all.contains("form") && !all.contains("the") && !all.contains("src")
        );
    }

    #[test]
    fn stored_words_are_bounded() {
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
