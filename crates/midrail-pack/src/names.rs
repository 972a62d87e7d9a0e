//! The names of expressions, and their values in an event.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};

use jiff::Zoned;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use midrail_core::{Action, Context, Missing, Resource, SandboxOutcome, path};
use midrail_guardrails::{
    FeedbackHistory, ProviderFeedback, call_classes, call_destinations, feedback_history, file_pattern,
    flow_labels, flow_sources, is_known_program, overrides_fact, provider_feedback, swept_patterns,
};
use serde_json::Value as Json;

use crate::diagnostic::Diagnostic;
use crate::expr::{AlertCondition, Expected, Expression, Name, Scope, Term, Type, Value, Vocabulary, walk};

/// The names of conditions, checks and keys.
pub const EVENT_NAMES: Vocabulary = Vocabulary::new(&[
    Term::new("action.type", Type::Text, "file_read, file_write, command, network or other"),
    Term::new("action.tool_name", Type::Text, "the tool's name"),
    Term::new("action.target_file", Type::Path, "the file that it accesses, or each of several"),
    Term::new("action.target_files", Type::Paths, "the files that it accesses, relative to the root"),
    Term::new("action.reads", Type::Paths, "the files among them that it reads"),
    Term::new("action.writes", Type::Paths, "the files among them that it creates, changes or removes"),
    Term::new("action.command", Type::Text, "the command line"),
    Term::new("action.programs", Type::List, "the programs that its command line starts"),
    Term::new(
        "action.hosts",
        Type::List,
        "the hosts that it connects to; unknown, as far as the call does not show them",
    ),
    Term::new(
        "action.does",
        Type::List,
        "the classes of the call: send, change, run; unknown, as far as the call does not show them",
    ),
    Term::new("action.destinations", Type::List, "where it sends to, and what it changes; unknown as above"),
    Term::new(
        "flow.labels",
        Type::List,
        "the labels of what the agent has seen, if the policy has `flow` rules",
    ),
    Term::new("flow.sources", Type::List, "the tools, hosts and files that set these labels"),
    Term::new("action.dangers", Type::List, "the dangerous operations in it, by the name of the rule"),
    Term::new(
        "action.complete",
        Type::Bool,
        "whether its command line shows all that it does: every program is known, and no other code runs",
    ),
    Term::new(
        "action.opaque",
        Type::List,
        "the programs and files in it that run code which it does not show",
    ),
    Term::new("agent.id", Type::Text, "the id of the agent"),
    Term::new("agent.role", Type::Text, "the role of the agent"),
    Term::new("agent.capabilities", Type::List, "what the agent can do"),
    Term::new("agent.allowed_tools", Type::Patterns, "the agent's tools; all, if no list is set"),
    Term::new("agent.autonomy_level", Type::Any, "how much the agent may decide on its own"),
    Term::new("task.id", Type::Text, "the id of the task"),
    Term::new("task.goal", Type::Text, "the goal of the task"),
    Term::new("task.risk", Type::Text, "low, medium, high or critical"),
    Term::new("task.token_budget", Type::Number, "the token budget; infinite, if none is set"),
    Term::new("task.time_budget", Type::Number, "the time budget in seconds; infinite, if none is set"),
    Term::new("task.time_budget_s", Type::Number, "the same"),
    Term::new("task.api_call_budget", Type::Number, "the budget of external calls; infinite, if none is set"),
    Term::new("task.cost_budget", Type::Number, "the cost budget; infinite, if none is set"),
    Term::new("task.additional_tools", Type::Patterns, "tools that the task adds"),
    Term::new("task.scope.files.read", Type::Patterns, "files that may be read; all, if no list is set"),
    Term::new("task.scope.files.write", Type::Patterns, "files that may be changed; all, if no list is set"),
    Term::new("task.scope.files.deny", Type::Patterns, "files that may not be accessed"),
    Term::new("current_tokens", Type::Number, "tokens used so far"),
    Term::new("estimated_action_tokens", Type::Number, "tokens that this action is expected to use"),
    Term::new("current_elapsed", Type::Number, "seconds since the start of the task"),
    Term::new("estimated_action_duration", Type::Number, "seconds that this action is expected to take"),
    Term::new("usage.tokens", Type::Number, "tokens used so far, as the host reports them"),
    Term::new("usage.elapsed_s", Type::Number, "seconds so far, as the host reports them"),
    Term::new("usage.api_calls", Type::Number, "external calls so far"),
    Term::new("usage.cost", Type::Number, "cost so far"),
    Term::new("tool.name", Type::Text, "the tool's name"),
    Term::new("tool.call_id", Type::Text, "the id of the call at the host"),
    Term::new("tool.args.*", Type::Any, "an argument of the call"),
    Term::new("result.ok", Type::Bool, "whether the call succeeded"),
    Term::new("result.content", Type::Any, "the result of the tool"),
    Term::new("result.content.*", Type::Any, "a part of the result of the tool"),
    Term::new("result.exit_code", Type::Number, "the exit code of the program that ran"),
    Term::new(
        "result.box.refused",
        Type::List,
        "the files, and `network`, that the sandbox of the call probably refused",
    ),
    Term::new(
        "result.box.changed",
        Type::List,
        "protected files that the call changed and the sandbox restored",
    ),
    Term::new(
        "result.box.lost",
        Type::List,
        "files that the call wrote to an empty home and that are gone with the sandbox",
    ),
    Term::new("text", Type::Text, "the text for or from the model"),
    Term::new("event.kind", Type::Text, "the kind of event"),
    Term::new("session.*", Type::Any, "a variable of the session"),
    Term::new("session_id", Type::Text, "the id of the session"),
    Term::new("prompt", Type::Text, "the id of the prompt"),
    Term::new("parent", Type::Text, "the agent that started this sub-agent"),
    Term::new("cwd", Type::Path, "the working directory of the agent"),
    Term::new("handoff.to", Type::Text, "the receiving agent"),
    Term::new("handoff.rationale", Type::Text, "the reason of the hand-off"),
    Term::new("handoff.context.*", Type::Any, "the context of the hand-off"),
    Term::new("error.message", Type::Text, "the error message"),
    Term::new("error.kind", Type::Text, "the kind of error"),
    Term::new("error.attempt", Type::Number, "the number of attempts"),
    Term::new("output", Type::Any, "the final output of the agent"),
    Term::new("output.*", Type::Any, "a part of it"),
    Term::new("stop_reason", Type::Text, "why the agent wants to stop"),
    Term::new("adapter", Type::Text, "the adapter that sent the event, such as `claude-code`"),
    Term::new("last_assistant", Type::Text, "the last message of the assistant"),
    Term::new("available_tools", Type::List, "the tools that the model can choose from"),
    Term::new("answer", Type::Any, "the answer of the external service, in the `check` of `deep`"),
    Term::new("answer.*", Type::Any, "a part of it"),
    Term::new("signals.max_tool_risk", Type::Text, "the highest risk of the tools in the event"),
    Term::new("signals.previous_violations", Type::Number, "strikes in this session so far"),
    Term::new("signals.requests_system_info", Type::Bool, "whether a text asks for the model's instructions"),
    Term::new(
        "signals.contains_untrusted",
        Type::Bool,
        "the session variable of that name; false, if not set",
    ),
    Term::new("feedback.calls", Type::Number, "calls including this one, per prompt"),
    Term::new("feedback.calls_since", Type::Number, "those since the last feedback of this provider"),
    Term::new("feedback.calls_since_any", Type::Number, "those since the last feedback of any provider"),
    Term::new("feedback.last", Type::Text, "the last feedback of any provider; empty before the first"),
    Term::new("feedback.last_provider", Type::Text, "the name of its provider"),
    Term::new("feedback.calls_since_by.*", Type::Number, "calls since the last feedback of that provider"),
    Term::new("feedback.last_by.*", Type::Text, "the last feedback of that provider; empty before the first"),
    Term::new("feedback.recent", Type::List, "the tools of the last 40 calls, the latest last"),
    Term::new("git.branch", Type::Text, "the branch that is checked out; empty, if there is none"),
    Term::new("git.dirty", Type::Bool, "whether there are changes that are not committed"),
    Term::new("git.remote", Type::Text, "the address of the remote; empty, if there is none"),
    Term::new("git.ahead", Type::Number, "the commits that are not pushed; unknown without an upstream"),
    Term::new("kube.context", Type::Text, "the current context of kubectl; empty, if there is none"),
    Term::new("ci", Type::Bool, "whether continuous integration runs the agent"),
    Term::new(
        "env.*",
        Type::Text,
        "a variable that the pack lists under `env_vars`; empty, if it is not set",
    ),
    Term::new("host.name", Type::Text, "the name of the machine"),
    Term::new("time.weekday", Type::Text, "monday to sunday, in the pack's `time_zone`"),
    Term::new("time.hour", Type::Number, "0 to 23, in the pack's `time_zone`"),
    Term::new("deadline.remaining_s", Type::Number, "seconds until the deadline; infinite, if none is set"),
])
.with_path_keys(midrail_guardrails::is_path_argument);

/// The names of alert conditions.
pub const ALERT_NAMES: Vocabulary = Vocabulary::new(&[
    Term::new("block_rate", Type::Number, "the share of blocked decisions"),
    Term::new("bypass_requests", Type::Number, "bypass requests"),
    Term::new("avg_duration_ms", Type::Number, "the average duration of a guardrail in milliseconds"),
]);

/// The words that may follow `per` in an alert condition.
pub const ALERT_GROUPS: &[&str] = &["agent", "guardrail", "session", "task"];

/// Parses an expression about an event.
pub(crate) fn event_expression(source: &str, expected: Expected) -> Result<Expression, Vec<Diagnostic>> {
    Expression::parse(source, &EVENT_NAMES, expected)
}

/// Parses the condition of an alert.
pub(crate) fn alert_expression(source: &str) -> Result<Expression, Vec<Diagnostic>> {
    Expression::parse(source, &ALERT_NAMES, Expected::Alert { groups: ALERT_GROUPS })
}

impl AlertCondition {
    /// Parses a condition such as `block_rate > 30% over 10 minute window`. `None`: it is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        alert_expression(text).ok()?.alert().cloned()
    }
}

/// The values of the names in one event.
pub(crate) struct EventScope<'a> {
    context: &'a Context<'a>,
    places: OnceCell<Option<Vec<String>>>,
    /// The target file that the expression is evaluated for. Absent: all of them.
    file: Cell<Option<usize>>,
    history: OnceCell<Option<FeedbackHistory>>,
    /// Where the times of day are. `None`: UTC.
    zone: Option<&'a TimeZone>,
}

impl<'a> EventScope<'a> {
    pub(crate) fn new(context: &'a Context<'a>) -> Self {
        EventScope {
            context,
            places: OnceCell::new(),
            file: Cell::new(None),
            history: OnceCell::new(),
            zone: None,
        }
    }

    /// The same, with times in a time zone.
    pub(crate) fn in_zone(self, zone: Option<&'a TimeZone>) -> Self {
        EventScope { zone, ..self }
    }

    /// A fact of the project or the machine. Unknown, if the event's own command line overrides it.
    fn project_fact(&self, name: &str) -> Value<'a> {
        if self.is_overridden(name) {
            return Value::Unknown;
        }
        self.context.probe_answer(name).map_or(Value::Unknown, |value| walk(&[], value))
    }

    fn is_overridden(&self, name: &str) -> bool {
        overrides_fact(self.context, name).unwrap_or(true)
    }

    fn local_time(&self) -> Option<Zoned> {
        let now = self.context.now().ok()?;
        Some(now.to_zoned(self.zone.cloned().unwrap_or(TimeZone::UTC)))
    }

    /// The calls and the feedback so far.
    fn history(&self) -> Option<&FeedbackHistory> {
        self.history.get_or_init(|| feedback_history(self.context).ok()).as_ref()
    }

    /// The last feedback of the provider in a name.
    fn feedback_by(&self, name: &Name) -> Option<ProviderFeedback> {
        match name.tail() {
            [provider] => provider_feedback(self.context, provider.key()?).ok(),
            _ => None,
        }
    }

    /// The target files without `..`, so that `src/../.env` is `.env`: each path, and the targets of its links.
    fn places(&self) -> Option<&[String]> {
        let places = self.places.get_or_init(|| {
            let action = self.context.action().ok()?;
            let swept = swept_patterns(action);
            let files = action.target_files.as_ref()?.iter().chain(&swept);
            self.all_places(action, files)
        });
        places.as_deref()
    }

    /// Whether an action may touch further files: its command line is not analysed completely, or names files in a folder that is
    /// not known.
    fn has_unknown_places(&self, files: impl Fn(&'a Action) -> &'a [String]) -> bool {
        let action = self.context.action().ok();
        action.is_some_and(|action| {
            action.is_partial || files(action).iter().any(|file| path::below_unknown(file).is_some())
        })
    }

    fn has_unknown_targets(&self) -> bool {
        self.has_unknown_places(|action| action.target_files.as_deref().unwrap_or_default())
    }

    /// Evaluates an expression about `action.target_file` for each target file: whether it holds for every file, or for one
    /// of them.
    pub(crate) fn for_each_file(
        &self,
        every: bool,
        holds: impl Fn(&Self) -> Result<bool, Missing>,
    ) -> Result<bool, Missing> {
        let files = self.places().map_or(0, <[String]>::len);
        if files < 2 {
            return holds(self);
        }
        let unknown = || Missing("`action.target_file` is not known".to_owned());
        let mut undetermined = self.has_unknown_targets().then(unknown);
        for file in 0..files {
            self.file.set(Some(file));
            match holds(self) {
                Ok(holds) if holds != every => return Ok(holds),
                Ok(_) => {}
                Err(missing) => undetermined = Some(missing),
            }
        }
        undetermined.map_or(Ok(every), Err)
    }

    /// Some of the target files. An expression rarely uses them twice, so they are not cached.
    fn some_places(&self, files: impl Fn(&'a Action) -> &'a [String]) -> Value<'_> {
        let action = self.context.action().ok().filter(|action| action.target_files.is_some());
        let places = action.and_then(|action| {
            // Files that a program finds and that are changed.
            let is_written = std::ptr::eq(files(action), action.writes.as_slice());
            let swept = if is_written { swept_patterns(action) } else { Vec::new() };
            self.all_places(action, files(action).iter().chain(&swept))
        });
        let places =
            places.map_or(Value::Unknown, |places| Value::List(places.into_iter().map(Cow::Owned).collect()));
        places.partial_if(self.has_unknown_places(files))
    }

    fn all_places<'f>(
        &self,
        action: &Action,
        files: impl Iterator<Item = &'f String>,
    ) -> Option<Vec<String>> {
        // Every file is read before giving up, so that all facts are fetched at once.
        let aliases: Vec<_> = files.map(|file| self.context.places(&file_pattern(action, file))).collect();
        let aliases: Option<Vec<Vec<String>>> = aliases.into_iter().map(Result::ok).collect();
        aliases.map(|aliases| aliases.concat())
    }

    /// The lowest limit of the event's task and of the definitions. Without one, there is no limit.
    fn limit(&self, resource: Resource) -> Value<'_> {
        let limits = self.context.tasks().filter_map(|task| resource.limit(task));
        Value::Number(limits.fold(f64::INFINITY, f64::min))
    }

    /// A list that restricts: that of the event's task, or of the first definition with one. If there are several, the
    /// built-ins enforce all of them.
    fn limits(&self, get: impl Fn(&'a midrail_core::Task) -> Option<&'a [String]>) -> Value<'_> {
        match self.context.tasks().find_map(get) {
            Some(list) => Value::list(list),
            None => everything(),
        }
    }

    /// A list that extends: those of the event's task and of all definitions together.
    fn union(&self, get: impl Fn(&'a midrail_core::Task) -> Option<&'a [String]>) -> Value<'_> {
        self.context.tasks().filter_map(get).flatten().map(String::as_str).collect::<Vec<_>>().into()
    }
}

/// A list that is not set does not restrict.
fn everything<'s>() -> Value<'s> {
    vec!["**"].into()
}

impl Scope for EventScope<'_> {
    fn path_fits(&self, pattern: &str, path: &str) -> Option<bool> {
        let fits = |pattern: &str, path: &str| self.context.path_fits(pattern, path).ok().flatten();
        // `rm -rf tests`: a folder is a part of the pattern of its content.
        match (fits(pattern, path), pattern.strip_suffix("/**")) {
            (Some(true), _) => Some(true),
            (is_inside, None | Some("" | "**")) => is_inside,
            (is_inside, Some(folder)) => match fits(folder, path.trim_end_matches('/')) {
                Some(false) => is_inside,
                is_folder => is_folder,
            },
        }
    }

    fn absolute_names(&self, path: &str) -> Vec<String> {
        self.context.absolute_names(path)
    }

    fn lookup<'s>(&'s self, name: &Name) -> Value<'s> {
        let context = self.context;
        let event = context.event;
        let text = |text: Option<&'s str>| text.map_or(Value::Unknown, Value::text);
        let list = |list: Option<&'s [String]>| list.map_or(Value::Unknown, Value::list);
        let flag = |flag: Option<bool>| flag.map_or(Value::Unknown, Value::Bool);
        let number = |number: Option<f64>| number.map_or(Value::Unknown, Value::Number);
        let count = |count: Option<u64>| number(count.map(as_number));
        let json = |root: Option<&'s Json>| root.map_or(Value::Unknown, |root| walk(name.tail(), root));
        let action = || context.action().ok();
        let (agent, task, tool) = (event.agent.as_ref(), event.task.as_ref(), event.tool.as_ref());
        let (usage, result) = (event.usage.as_ref(), event.result.as_ref());
        let box_list = |list: fn(&SandboxOutcome) -> &Vec<String>| {
            let outcome = result.and_then(|result| result.sandbox.as_ref());
            Value::list(outcome.map_or(&[], |outcome| list(outcome)))
        };
        let (handoff, error) = (event.handoff.as_ref(), event.error.as_ref());
        match name.term() {
            "action.type" => text(action().map(|action| action.kind.as_str())),
            "action.tool_name" | "tool.name" => text(event.tool_name()),
            "action.target_file" => match self.file.get() {
                Some(file) => {
                    let place = self.places().and_then(|places| places.get(file)).map(String::as_str);
                    text(place.filter(|place| path::below_unknown(place).is_none()))
                }
                None => list(self.places()).partial_if(self.has_unknown_targets()),
            },
            "action.target_files" => list(self.places()).partial_if(self.has_unknown_targets()),
            "action.reads" => self.some_places(|action| &action.reads),
            "action.writes" => self.some_places(|action| &action.writes),
            "action.programs" => action().map_or(Value::Unknown, |action| {
                let is_partial = action.is_partial || action.has_unknown_programs;
                Value::List(programs(action)).partial_if(is_partial)
            }),
            "action.hosts" => {
                let is_partial = action().is_some_and(|it| it.has_unknown_hosts || it.is_partial);
                list(action().map(|action| action.hosts.as_slice())).partial_if(is_partial)
            }
            "action.does" => match call_classes(context) {
                Ok((classes, is_partial)) => Value::from(classes).partial_if(is_partial),
                Err(_) => Value::Unknown,
            },
            "action.destinations" => match call_destinations(context) {
                Ok((all, is_partial)) => texts(all).partial_if(is_partial),
                Err(_) => Value::Unknown,
            },
            "flow.labels" => flow_labels(context).map_or(Value::Unknown, texts),
            "flow.sources" => flow_sources(context).map_or(Value::Unknown, texts),
            "action.dangers" => action().map_or(Value::Unknown, |action| {
                let dangers = action.dangers.iter().filter(|danger| !danger.is_inside);
                dangers.map(|danger| danger.rule.as_str()).collect::<Vec<_>>().into()
            }),
            "action.complete" => action().map_or(Value::Unknown, |action| Value::Bool(action.is_complete())),
            "action.opaque" => action().map_or(Value::Unknown, |action| {
                let parts = action.opaque.iter().map(|part| part.what.as_str());
                Value::from(parts.collect::<Vec<_>>()).partial_if(action.is_partial)
            }),
            "action.command" => text(action().and_then(|action| action.command.as_deref())),
            "agent.id" => text(agent.and_then(|agent| agent.id.as_deref())),
            "agent.role" => text(agent.and_then(|agent| agent.role.as_deref())),
            "agent.capabilities" => list(agent.and_then(|agent| agent.capabilities.as_deref())),
            "agent.allowed_tools" => {
                context.tool_lists().next().map_or_else(everything, |(tools, _)| Value::list(tools))
            }
            "agent.autonomy_level" => json(agent.and_then(|agent| agent.autonomy_level.as_ref())),
            "task.id" => text(task.and_then(|task| task.id.as_deref())),
            "task.goal" => text(task.and_then(|task| task.goal.as_deref())),
            "task.risk" => text(context.tasks().filter_map(|task| task.risk).max().map(|risk| risk.as_str())),
            "task.token_budget" => self.limit(Resource::Tokens),
            "task.time_budget" | "task.time_budget_s" => self.limit(Resource::Time),
            "task.api_call_budget" => self.limit(Resource::Calls),
            "task.cost_budget" => self.limit(Resource::Cost),
            "task.additional_tools" => self.union(|task| task.additional_tools.as_deref()),
            "task.scope.files.read" => self.limits(|task| task.scope.as_ref()?.files.read.as_deref()),
            "task.scope.files.write" => self.limits(|task| task.scope.as_ref()?.files.write.as_deref()),
            "task.scope.files.deny" => self.union(|task| task.scope.as_ref()?.files.deny.as_deref()),
            // These count as zero until the host reports them.
            "current_tokens" => count(usage.and_then(|usage| usage.tokens).or(Some(0))),
            "estimated_action_tokens" => count(usage.and_then(|usage| usage.estimated_tokens).or(Some(0))),
            "current_elapsed" => number(usage.and_then(|usage| usage.elapsed_s).or(Some(0.0))),
            "estimated_action_duration" => number(usage.and_then(|usage| usage.estimated_s).or(Some(0.0))),
            "usage.tokens" => count(usage.and_then(|usage| usage.tokens)),
            "usage.elapsed_s" => number(usage.and_then(|usage| usage.elapsed_s)),
            "usage.api_calls" => count(usage.and_then(|usage| usage.api_calls)),
            "usage.cost" => number(usage.and_then(|usage| usage.cost)),
            "tool.call_id" => text(tool.and_then(|tool| tool.call_id.as_deref())),
            "tool.args.*" => walk_below(name, |key| tool?.args.get(key)),
            "result.ok" => flag(result.and_then(|result| result.ok)),
            "result.content" | "result.content.*" => json(result.and_then(|result| result.content.as_ref())),
            "result.box.refused" => box_list(|outcome| &outcome.refused),
            "result.box.changed" => box_list(|outcome| &outcome.changed),
            "result.box.lost" => box_list(|outcome| &outcome.lost),
            "result.exit_code" => {
                let code = result.and_then(|result| result.exit_code);
                number(code.and_then(|code| i32::try_from(code).ok()).map(f64::from))
            }
            "text" => text(event.text.as_deref()),
            "event.kind" => text(Some(event.kind.as_str())),
            "session.*" => walk_below(name, |variable| context.variable(variable).ok().flatten()),
            "session_id" => text(event.session.as_deref()),
            "prompt" => text(event.prompt.as_deref()),
            "parent" => text(event.parent.as_deref()),
            "cwd" => text(event.cwd.as_deref()),
            "handoff.to" => text(handoff.and_then(|handoff| handoff.to.as_deref())),
            "handoff.rationale" => text(handoff.and_then(|handoff| handoff.rationale.as_deref())),
            "handoff.context.*" => json(handoff.and_then(|handoff| handoff.context.as_ref())),
            "error.message" => text(error.and_then(|error| error.message.as_deref())),
            "error.kind" => text(error.and_then(|error| error.kind.as_deref())),
            "error.attempt" => number(error.and_then(|error| error.attempt).map(f64::from)),
            "output" | "output.*" => json(event.output.as_ref()),
            "stop_reason" => text(event.stop_reason.as_deref()),
            "adapter" => text(event.host.as_ref().map(|host| host.name.as_str())),
            "last_assistant" => text(event.last_assistant.as_deref()),
            "available_tools" => list(event.available_tools.as_deref()),
            "answer" | "answer.*" => json(context.external_answer()),
            "signals.max_tool_risk" => text(Some(context.tool_risk().map_or("low", |risk| risk.as_str()))),
            "signals.previous_violations" => number(violations(context)),
            "signals.requests_system_info" => flag(
                context
                    .injections()
                    .ok()
                    .map(|found| found.iter().any(|finding| finding.kind == "prompt-exfiltration")),
            ),
            "signals.contains_untrusted" => {
                let variable = context.variable("contains_untrusted").ok();
                flag(variable.map(|value| value.and_then(Json::as_bool).unwrap_or(false)))
            }
            "feedback.calls" => count(self.history().map(|history| history.calls)),
            "feedback.calls_since" => count(self.history().map(|history| history.calls_since)),
            "feedback.calls_since_any" => count(self.history().map(|history| history.calls_since_any)),
            // Before the first feedback it is an empty text and not unknown.
            "feedback.last" => text(self.history().map(|history| history.last.as_deref().unwrap_or(""))),
            "feedback.last_provider" => {
                text(self.history().map(|history| history.last_provider.as_deref().unwrap_or("")))
            }
            "feedback.calls_since_by.*" => count(self.feedback_by(name).map(|feedback| feedback.calls_since)),
            "feedback.last_by.*" => self.feedback_by(name).map_or(Value::Unknown, |feedback| {
                Value::Text(Cow::Owned(feedback.last.unwrap_or_default()))
            }),
            "feedback.recent" => list(self.history().map(|history| history.recent.as_slice())),
            "git.branch" if self.is_overridden("git.branch") => Value::Unknown,
            "git.branch" => match context.git() {
                Ok(git) => text(Some(git.and_then(|git| git.branch.as_deref()).unwrap_or_default())),
                Err(_) => Value::Unknown,
            },
            "git.dirty" | "git.remote" | "git.ahead" | "kube.context" | "ci" | "host.name" => {
                self.project_fact(name.term())
            }
            "env.*" => match name.tail() {
                [variable] => {
                    match variable.key().map(|variable| self.project_fact(&format!("env.{variable}"))) {
                        Some(Value::Null) => Value::text(""),
                        value => value.unwrap_or(Value::Unknown),
                    }
                }
                _ => Value::Unknown,
            },
            "time.weekday" => {
                self.local_time().map_or(Value::Unknown, |time| Value::text(weekday_name(time.weekday())))
            }
            "time.hour" => number(self.local_time().map(|time| f64::from(time.hour()))),
            "deadline.remaining_s" => match (self.context.deadline(), event.time) {
                (Ok(Some(deadline)), Some(now)) => Value::Number(deadline.duration_since(now).as_secs_f64()),
                (Ok(Some(_)), None) | (Err(_), _) => Value::Unknown,
                (Ok(None), _) => Value::Number(f64::INFINITY),
            },
            // A name of the vocabulary without a line here would be unknown, which fails closed; a test checks that.
            _ => Value::Unknown,
        }
    }
}

fn texts(all: Vec<String>) -> Value<'static> {
    Value::List(all.into_iter().map(Cow::Owned).collect())
}

fn weekday_name(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "monday",
        Weekday::Tuesday => "tuesday",
        Weekday::Wednesday => "wednesday",
        Weekday::Thursday => "thursday",
        Weekday::Friday => "friday",
        Weekday::Saturday => "saturday",
        Weekday::Sunday => "sunday",
    }
}

/// The programs that an action starts. A file that is named like a known program but is not the system's counts with its path as
/// well: `./ls`.
fn programs(action: &Action) -> Vec<Cow<'_, str>> {
    let base = |path: &str| path.rsplit('/').next().map(str::to_owned).unwrap_or_default();
    let is_other = |path: &&String| action.programs.contains(&base(path)) && is_known_program(&base(path));
    let files = action.scripts.iter().filter(is_other).map(|path| match path.contains('/') {
        true => Cow::Borrowed(path.as_str()),
        false => Cow::Owned(format!("./{path}")),
    });
    action.programs.iter().map(|program| Cow::Borrowed(program.as_str())).chain(files).collect()
}

/// The strikes of the session.
fn violations(context: &Context<'_>) -> Option<f64> {
    let strikes = context.slice(midrail_core::STRIKES).ok()?;
    let counts = strikes.and_then(Json::as_object).into_iter().flat_map(|counts| counts.values());
    Some(as_number(counts.filter_map(Json::as_u64).fold(0, u64::saturating_add)))
}

/// The value of a name whose first key `get` finds.
fn walk_below<'s>(name: &Name, get: impl FnOnce(&str) -> Option<&'s Json>) -> Value<'s> {
    let Some((first, rest)) = name.tail().split_first() else { return Value::Unknown };
    first.key().and_then(get).map_or(Value::Unknown, |value| walk(rest, value))
}

/// Counts beyond 2^53 are rounded.
fn as_number(count: u64) -> f64 {
    Json::from(count).as_f64().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alert_conditions_are_parsed() {
        let rate = AlertCondition::parse("block_rate > 30% over 10 minute window").unwrap();
        assert_eq!((rate.metric.as_str(), rate.window_seconds), ("block_rate", Some(600)));
        assert!(rate.holds(0.31) && !rate.holds(0.3));
        let abuse = AlertCondition::parse("bypass_requests > 5 per agent per hour").unwrap();
        assert_eq!((abuse.window_seconds, abuse.group_by.as_deref()), (Some(3600), Some("agent")));
        assert!(abuse.holds(6.0) && !abuse.holds(5.0));
        let slow = AlertCondition::parse("avg_duration_ms > 500").unwrap();
        assert!(slow.window_seconds.is_none() && slow.holds(501.0));
        assert_eq!(AlertCondition::parse("block_rate"), None);
    }

    #[test]
    fn times_are_compared_with_values_that_they_have() {
        for (source, help) in [
            ("time.weekday == 'Friday'", "write `'friday'`"),
            ("time.weekday != 'fri'", "write `'friday'`"),
            ("'Sat' == time.weekday", "write `'saturday'`"),
            ("time.weekday in ['friday', 'Sunday']", "write `'sunday'`"),
            ("time.weekday == 'firday'", "did you mean `friday`?"),
            ("time.hour > 24", "it is a number from 0 to 23"),
            ("time.hour == -1", "it is a number from 0 to 23"),
            ("time.hour in [22, 24]", "it is a number from 0 to 23"),
        ] {
            let problems = event_expression(source, Expected::Bool).unwrap_err();
            let help_texts: Vec<_> = problems.iter().filter_map(|problem| problem.help.as_deref()).collect();
            assert_eq!(help_texts, [help], "{source}");
        }
        for source in ["time.weekday in ['friday', 'sunday']", "time.hour >= 18 OR time.hour < 6"] {
            assert!(event_expression(source, Expected::Bool).is_ok(), "{source}");
        }
    }
}
