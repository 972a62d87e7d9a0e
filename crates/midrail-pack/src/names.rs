//! The names that expressions know, and what they stand for in an event.

use std::borrow::Cow;
use std::cell::OnceCell;

use midrail_core::{Action, Context, glob};
use midrail_guardrails::{FeedbackHistory, ProviderFeedback, feedback_history, provider_feedback};
use serde_json::Value as Json;

use crate::expr::{Glob, Globs, Name, Scope, Segment, Term, Texts, Type, Value, Vocabulary};

/// The names of conditions, checks and keys.
pub const EVENT_NAMES: Vocabulary = Vocabulary::new(&[
    Term::new("action.type", Type::Text, "file_read, file_write, command, network or other"),
    Term::new("action.tool_name", Type::Text, "the tool's name"),
    Term::new("action.target_file", Type::Texts, "the file it touches; with several, each of them"),
    Term::new("action.target_files", Type::List, "the files it touches, relative to the root"),
    Term::new("action.reads", Type::List, "the files among them that it reads"),
    Term::new("action.writes", Type::List, "the files among them that it creates, changes or removes"),
    Term::new("action.command", Type::Text, "the command line"),
    Term::new("action.programs", Type::List, "the programs that its command line starts"),
    Term::new("action.hosts", Type::List, "the hosts that it talks to"),
    Term::new("action.dangers", Type::List, "what it might destroy, by the name of the rule"),
    Term::new("agent.id", Type::Text, "the agent's name"),
    Term::new("agent.role", Type::Text, "the agent's role"),
    Term::new("agent.capabilities", Type::List, "what the agent can do"),
    Term::new(
        "agent.allowed_tools",
        Type::Patterns,
        "the tools that the agent may call; all, where no list is set",
    ),
    Term::new("agent.autonomy_level", Type::Any, "how much the agent may decide by itself"),
    Term::new("task.id", Type::Text, "the task's name"),
    Term::new("task.goal", Type::Text, "what is to be reached"),
    Term::new("task.risk", Type::Text, "low, medium, high or critical"),
    Term::new("task.token_budget", Type::Number, "tokens that may be spent; without end, where none is set"),
    Term::new("task.time_budget", Type::Number, "seconds that may be spent; without end, where none is set"),
    Term::new("task.time_budget_s", Type::Number, "the same"),
    Term::new("task.api_call_budget", Type::Number, "calls to the outside; without end, where none is set"),
    Term::new("task.cost_budget", Type::Number, "money; without end, where none is set"),
    Term::new("task.additional_tools", Type::Patterns, "tools that the task adds"),
    Term::new("task.scope.files.read", Type::Patterns, "files that may be read; all, where no list is set"),
    Term::new(
        "task.scope.files.write",
        Type::Patterns,
        "files that may be changed; all, where no list is set",
    ),
    Term::new("task.scope.files.deny", Type::Patterns, "files that may not be touched"),
    Term::new("current_tokens", Type::Number, "tokens used so far"),
    Term::new("estimated_action_tokens", Type::Number, "tokens that this action is expected to use"),
    Term::new("current_elapsed", Type::Number, "seconds since the task began"),
    Term::new("estimated_action_duration", Type::Number, "seconds that this action is expected to take"),
    Term::new("usage.tokens", Type::Number, "tokens used so far, as the host reports them"),
    Term::new("usage.elapsed_s", Type::Number, "seconds so far, as the host reports them"),
    Term::new("usage.api_calls", Type::Number, "calls to the outside so far"),
    Term::new("usage.cost", Type::Number, "money spent so far"),
    Term::new("tool.name", Type::Text, "the tool's name"),
    Term::new("tool.call_id", Type::Text, "the host's name for this call"),
    Term::new("tool.args.*", Type::Any, "an argument of the call"),
    Term::new("result.ok", Type::Bool, "whether the call went well"),
    Term::new("result.content", Type::Any, "what the tool answered"),
    Term::new("result.content.*", Type::Any, "a part of what the tool answered"),
    Term::new("result.exit_code", Type::Number, "the exit code of the program that ran"),
    Term::new("text", Type::Text, "the text for or from the model"),
    Term::new("event.kind", Type::Text, "the kind of event"),
    Term::new("session.*", Type::Any, "a variable of the session"),
    Term::new("session_id", Type::Text, "the session's name"),
    Term::new("prompt", Type::Text, "the prompt's name"),
    Term::new("parent", Type::Text, "who started this sub-agent"),
    Term::new("cwd", Type::Text, "the folder that the agent works in"),
    Term::new("handoff.to", Type::Text, "the agent that takes over"),
    Term::new("handoff.rationale", Type::Text, "why it takes over"),
    Term::new("handoff.context.*", Type::Any, "what it is told"),
    Term::new("error.message", Type::Text, "what the error says"),
    Term::new("error.kind", Type::Text, "the class of the error"),
    Term::new("error.attempt", Type::Number, "how many times the action has been tried"),
    Term::new("output", Type::Any, "what the agent wants to end with"),
    Term::new("output.*", Type::Any, "a part of it"),
    Term::new("stop_reason", Type::Text, "why the agent wants to stop"),
    Term::new("last_assistant", Type::Text, "the assistant's last message"),
    Term::new("available_tools", Type::List, "the tools that the model can choose from"),
    Term::new(
        "answer",
        Type::Any,
        "what somebody outside answered; in the `check` of a guardrail with `deep`",
    ),
    Term::new("answer.*", Type::Any, "a part of it"),
    Term::new("signals.max_tool_risk", Type::Text, "the highest risk of the tools that the event speaks of"),
    Term::new("signals.previous_violations", Type::Number, "strikes in this session so far"),
    Term::new("signals.requests_system_info", Type::Bool, "whether a text asks for the model's instructions"),
    Term::new(
        "signals.contains_untrusted",
        Type::Bool,
        "the session variable `contains_untrusted`; false where nobody set it",
    ),
    Term::new(
        "feedback.calls",
        Type::Number,
        "calls that went well, this one among them; counted for each prompt",
    ),
    Term::new("feedback.calls_since", Type::Number, "those since this feedback provider last spoke"),
    Term::new("feedback.calls_since_any", Type::Number, "those since any feedback provider last spoke"),
    Term::new(
        "feedback.last",
        Type::Text,
        "what a feedback provider said last; nothing before the first time",
    ),
    Term::new("feedback.last_provider", Type::Text, "the name of the provider that said it"),
    Term::new(
        "feedback.calls_since_by.*",
        Type::Number,
        "calls since the provider of that name last spoke, as in `feedback.calls_since_by.Deadline`",
    ),
    Term::new(
        "feedback.last_by.*",
        Type::Text,
        "what the provider of that name said last; nothing before the first time",
    ),
    Term::new("feedback.recent", Type::List, "the tools of the last 40 calls, the latest at the end"),
    Term::new(
        "deadline.remaining_s",
        Type::Number,
        "seconds to the deadline; without end, where none is set",
    ),
]);

/// The names of alert conditions.
pub const ALERT_NAMES: Vocabulary = Vocabulary::new(&[
    Term::new("block_rate", Type::Number, "the share of decisions that block"),
    Term::new("bypass_requests", Type::Number, "requests to lift a guardrail"),
    Term::new("avg_duration_ms", Type::Number, "milliseconds that a guardrail takes, on average"),
]);

/// The words that may follow `per` in an alert condition.
pub const ALERT_GROUPS: &[&str] = &["agent", "guardrail", "session", "task"];

/// How patterns in expressions are matched.
pub const GLOBS: Globs = Globs { compile: compile_glob, matches: glob::path_matches };

fn compile_glob(pattern: &str) -> Result<Glob, String> {
    glob::check(pattern)?;
    let pattern = pattern.to_owned();
    Ok(Box::new(move |text| glob::path_matches(&pattern, text)))
}

/// What the names stand for in one event.
pub(crate) struct EventScope<'a> {
    context: &'a Context<'a>,
    places: OnceCell<Option<Vec<String>>>,
    past: OnceCell<Option<FeedbackHistory>>,
}

impl<'a> EventScope<'a> {
    pub(crate) fn new(context: &'a Context<'a>) -> Self {
        EventScope { context, places: OnceCell::new(), past: OnceCell::new() }
    }

    /// The calls and the feedback so far.
    fn past(&self) -> Option<&FeedbackHistory> {
        self.past.get_or_init(|| feedback_history(self.context).ok()).as_ref()
    }

    /// What the feedback provider that a name speaks of said last.
    fn said_by(&self, name: &Name) -> Option<ProviderFeedback> {
        match name.tail() {
            [provider] => provider_feedback(self.context, provider.key()?).ok(),
            _ => None,
        }
    }

    /// The target files as places, so that `src/../.env` is `.env`: what each path says, and where its links lead.
    fn places(&self) -> Value<'_> {
        let places = self.places.get_or_init(|| {
            let files = self.context.action().ok()?.target_files.as_ref()?;
            // Every file is asked about before giving up, so that all facts are fetched in one go.
            let names: Vec<_> = files.iter().map(|file| self.context.path_aliases(file)).collect();
            let names: Option<Vec<Vec<String>>> = names.into_iter().map(Result::ok).collect();
            names.map(|names| names.concat())
        });
        places.as_deref().map_or(Value::Unknown, Value::list)
    }

    /// Some of the files as places. They are many at most once in an expression, so they are not kept.
    fn places_of(&self, files: impl Fn(&'a Action) -> &'a Vec<String>) -> Value<'_> {
        let Ok(action) = self.context.action() else { return Value::Unknown };
        if action.target_files.is_none() {
            return Value::Unknown;
        }
        let names: Vec<_> = files(action).iter().map(|file| self.context.path_aliases(file)).collect();
        let names: Option<Vec<Vec<String>>> = names.into_iter().map(Result::ok).collect();
        names.map_or(Value::Unknown, |names| {
            Value::List(Texts::Mixed(names.concat().into_iter().map(Cow::Owned).collect()))
        })
    }

    /// A limit of the event's task or of the definitions: the tightest. None set: no limit.
    fn limit(&self, of: impl Fn(&'a midrail_core::Task) -> Option<f64>) -> Value<'_> {
        Value::Number(self.context.tasks().filter_map(of).fold(f64::INFINITY, f64::min))
    }

    /// A list that limits: that of the event's task, or of the first definition that has one. Where several hold, the
    /// built-ins hold to all of them.
    fn limits(&self, of: impl Fn(&'a midrail_core::Task) -> Option<&'a [String]>) -> Value<'_> {
        match self.context.tasks().find_map(of) {
            Some(list) => Value::list(list),
            None => Value::List(Texts::Slices(EVERYTHING)),
        }
    }

    /// A list that adds: those of the event's task and of all definitions together.
    fn union(&self, of: impl Fn(&'a midrail_core::Task) -> Option<&'a [String]>) -> Value<'_> {
        self.context.tasks().filter_map(of).flatten().map(String::as_str).collect::<Vec<_>>().into()
    }
}

/// A list that was not set sets no limit.
const EVERYTHING: &[&str] = &["**"];

impl Scope for EventScope<'_> {
    fn lookup<'s>(&'s self, name: &Name) -> Value<'s> {
        let context = self.context;
        let event = context.event;
        let text = |text: Option<&'s str>| text.map_or(Value::Unknown, Value::text);
        let number = |number: Option<f64>| number.map_or(Value::Unknown, Value::Number);
        let count = |count: Option<u64>| number(count.map(as_number));
        let (agent, task, tool, usage) = (&event.agent, &event.task, &event.tool, event.usage.as_ref());
        match name.term() {
            "action.type" => text(context.action().ok().map(|action| action.kind.as_str())),
            "action.tool_name" | "tool.name" => text(event.tool_name()),
            "action.target_file" | "action.target_files" => self.places(),
            "action.reads" => self.places_of(|action| &action.reads),
            "action.writes" => self.places_of(|action| &action.writes),
            "action.programs" => {
                context.action().ok().map_or(Value::Unknown, |action| Value::list(&action.programs))
            }
            "action.hosts" => {
                context.action().ok().map_or(Value::Unknown, |action| Value::list(&action.hosts))
            }
            "action.dangers" => context.action().ok().map_or(Value::Unknown, |action| {
                let dangers = action.dangers.iter().filter(|danger| !danger.is_inside);
                dangers.map(|danger| danger.rule.as_str()).collect::<Vec<_>>().into()
            }),
            "action.command" => text(context.action().ok().and_then(|action| action.command.as_deref())),
            "agent.id" => text(agent.as_ref().and_then(|agent| agent.id.as_deref())),
            "agent.role" => text(agent.as_ref().and_then(|agent| agent.role.as_deref())),
            "agent.capabilities" => agent
                .as_ref()
                .and_then(|agent| agent.capabilities.as_deref())
                .map_or(Value::Unknown, Value::list),
            "agent.allowed_tools" => match context.tool_lists().next() {
                Some((list, _)) => Value::list(list),
                None => Value::List(Texts::Slices(EVERYTHING)),
            },
            "agent.autonomy_level" => json(agent.as_ref().and_then(|agent| agent.autonomy_level.as_ref())),
            "task.id" => text(task.as_ref().and_then(|task| task.id.as_deref())),
            "task.goal" => text(task.as_ref().and_then(|task| task.goal.as_deref())),
            "task.risk" => text(context.tasks().filter_map(|task| task.risk).max().map(|risk| risk.as_str())),
            "task.token_budget" => self.limit(|task| task.token_budget.map(as_number)),
            "task.time_budget" | "task.time_budget_s" => self.limit(|task| task.time_budget_s),
            "task.api_call_budget" => self.limit(|task| task.api_call_budget.map(as_number)),
            "task.cost_budget" => self.limit(|task| task.cost_budget),
            "task.additional_tools" => self.union(|task| task.additional_tools.as_deref()),
            "task.scope.files.read" => self.limits(|task| task.scope.as_ref()?.files.read.as_deref()),
            "task.scope.files.write" => self.limits(|task| task.scope.as_ref()?.files.write.as_deref()),
            "task.scope.files.deny" => self.union(|task| task.scope.as_ref()?.files.deny.as_deref()),
            "current_tokens" => count(usage.map_or(Some(0), |usage| usage.tokens.or(Some(0)))),
            "estimated_action_tokens" => {
                count(usage.map_or(Some(0), |usage| usage.estimated_tokens.or(Some(0))))
            }
            "current_elapsed" => number(usage.map_or(Some(0.0), |usage| usage.elapsed_s.or(Some(0.0)))),
            "estimated_action_duration" => {
                number(usage.map_or(Some(0.0), |usage| usage.estimated_s.or(Some(0.0))))
            }
            "usage.tokens" => count(usage.and_then(|usage| usage.tokens)),
            "usage.elapsed_s" => number(usage.and_then(|usage| usage.elapsed_s)),
            "usage.api_calls" => count(usage.and_then(|usage| usage.api_calls)),
            "usage.cost" => number(usage.and_then(|usage| usage.cost)),
            "tool.call_id" => text(tool.as_ref().and_then(|tool| tool.call_id.as_deref())),
            "tool.args.*" => walk_args(tool.as_ref().map(|tool| &tool.args), name),
            "result.ok" => {
                event.result.as_ref().and_then(|result| result.ok).map_or(Value::Unknown, Value::Bool)
            }
            "result.content" => json(event.result.as_ref().and_then(|result| result.content.as_ref())),
            "result.content.*" => event
                .result
                .as_ref()
                .and_then(|result| result.content.as_ref())
                .map_or(Value::Unknown, |content| name.walk(content)),
            "result.exit_code" => {
                let code = event.result.as_ref().and_then(|result| result.exit_code);
                number(code.and_then(|code| i32::try_from(code).ok()).map(f64::from))
            }
            "text" => text(event.text.as_deref()),
            "event.kind" => text(Some(event.kind.as_str())),
            "session.*" => self.session_variable(name),
            "session_id" => text(event.session.as_deref()),
            "prompt" => text(event.prompt.as_deref()),
            "parent" => text(event.parent.as_deref()),
            "cwd" => text(event.cwd.as_deref()),
            "handoff.to" => text(event.handoff.as_ref().and_then(|handoff| handoff.to.as_deref())),
            "handoff.rationale" => {
                text(event.handoff.as_ref().and_then(|handoff| handoff.rationale.as_deref()))
            }
            "handoff.context.*" => event
                .handoff
                .as_ref()
                .and_then(|handoff| handoff.context.as_ref())
                .map_or(Value::Unknown, |context| name.walk(context)),
            "error.message" => text(event.error.as_ref().and_then(|error| error.message.as_deref())),
            "error.kind" => text(event.error.as_ref().and_then(|error| error.kind.as_deref())),
            "error.attempt" => number(event.error.as_ref().and_then(|error| error.attempt).map(f64::from)),
            "output" => json(event.output.as_ref()),
            "output.*" => event.output.as_ref().map_or(Value::Unknown, |output| name.walk(output)),
            "stop_reason" => text(event.stop_reason.as_deref()),
            "last_assistant" => text(event.last_assistant.as_deref()),
            "available_tools" => event.available_tools.as_deref().map_or(Value::Unknown, Value::list),
            "answer" => json(context.external_answer()),
            "answer.*" => context.external_answer().map_or(Value::Unknown, |answer| name.walk(answer)),
            "signals.max_tool_risk" => text(Some(context.tool_risk().map_or("low", |risk| risk.as_str()))),
            "signals.previous_violations" => number(violations(context)),
            "signals.requests_system_info" => context.injections().map_or(Value::Unknown, |found| {
                Value::Bool(found.iter().any(|finding| finding.kind == "prompt-exfiltration"))
            }),
            "signals.contains_untrusted" => context
                .variable("contains_untrusted")
                .map_or(Value::Unknown, |value| Value::Bool(value.and_then(Json::as_bool).unwrap_or(false))),
            "feedback.calls" => count(self.past().map(|past| past.calls)),
            "feedback.calls_since" => count(self.past().map(|past| past.calls_since)),
            "feedback.calls_since_any" => count(self.past().map(|past| past.calls_since_any)),
            // Before the first time it is an empty text and not unknown: it is known that nothing was said.
            "feedback.last" => text(self.past().map(|past| past.last.as_deref().unwrap_or_default())),
            "feedback.last_provider" => {
                text(self.past().map(|past| past.last_provider.as_deref().unwrap_or_default()))
            }
            "feedback.calls_since_by.*" => count(self.said_by(name).map(|said| said.calls_since)),
            "feedback.last_by.*" => self
                .said_by(name)
                .map_or(Value::Unknown, |said| Value::Text(Cow::Owned(said.last.unwrap_or_default()))),
            "feedback.recent" => self.past().map_or(Value::Unknown, |past| Value::list(&past.recent)),
            "deadline.remaining_s" => match (self.context.deadline(), event.time) {
                (Ok(Some(deadline)), Some(now)) => Value::Number(deadline.duration_since(now).as_secs_f64()),
                (Ok(Some(_)), None) | (Err(_), _) => Value::Unknown,
                (Ok(None), _) => Value::Number(f64::INFINITY),
            },
            // A name of the vocabulary without a line here would be unknown, which fails closed; a test forbids it.
            _ => Value::Unknown,
        }
    }
}

impl EventScope<'_> {
    fn session_variable(&self, name: &Name) -> Value<'_> {
        let Some((first, rest)) = name.tail().split_first() else { return Value::Unknown };
        let Some(variable) = first.key() else { return Value::Unknown };
        let Ok(Some(mut value)) = self.context.variable(variable) else { return Value::Unknown };
        for segment in rest {
            let next = match segment {
                Segment::Key(key) => value.get(key),
                Segment::Index(index) => value.get(index),
            };
            let Some(next) = next else { return Value::Unknown };
            value = next;
        }
        json(Some(value))
    }
}

/// The strikes of the session.
fn violations(context: &Context<'_>) -> Option<f64> {
    let strikes = context.slice(midrail_core::STRIKES).ok()?;
    let counts = strikes.and_then(Json::as_object).into_iter().flat_map(|counts| counts.values());
    Some(as_number(counts.filter_map(Json::as_u64).fold(0, u64::saturating_add)))
}

fn walk_args<'s>(args: Option<&'s serde_json::Map<String, Json>>, name: &Name) -> Value<'s> {
    let Some((first, rest)) = name.tail().split_first() else { return Value::Unknown };
    let Some(mut value) = first.key().and_then(|key| args?.get(key)) else { return Value::Unknown };
    for segment in rest {
        let next = match segment {
            Segment::Key(key) => value.get(key),
            Segment::Index(index) => value.get(index),
        };
        let Some(next) = next else { return Value::Unknown };
        value = next;
    }
    json(Some(value))
}

fn json(value: Option<&Json>) -> Value<'_> {
    value.map_or(Value::Unknown, Value::Json)
}

/// Counts beyond 2^53 are compared as the nearest number.
fn as_number(count: u64) -> f64 {
    let (high, low) = (count >> 32, count & 0xffff_ffff);
    f64::from(u32::try_from(high).unwrap_or(u32::MAX)) * 4_294_967_296.0
        + f64::from(u32::try_from(low).unwrap_or(0))
}
