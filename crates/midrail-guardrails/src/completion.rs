//! completion: an agent that wants to stop has done what it was to do. What is missing is told, and it goes on.

use std::fmt;
use std::sync::Arc;

use midrail_core::path::{self, Place, Roots};
use midrail_core::{
    Autonomy, Changes, Condition, Context, Effect, EventKind, Fault, FileState, Guardrail, Missing, Notice,
    Tools, Verdict,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::feedback::block as feedback_block;
use crate::json_form::JsonForm;
use crate::ran::{CommandLine, Required, Timeout, all_files};
use crate::settings::Pattern;
use crate::todo_list::{self, TodoList};

/// How many missing things of a kind are named.
const NAMED: usize = 3;

/// How deep `all` and `any` may be nested.
const MAX_DEPTH: usize = 8;

/// How many commands may be asked, one after the other.
const MAX_COMMANDS: usize = 3;

/// The slice that holds the agent's to-do list.
const TODOS: &str = "todos";

/// The slice that holds what the agent was last told between two calls.
const TOLD: &str = "told";

macro_rules! with_checks {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            /// Files that have to be there: paths below the root. One that ends with `/` is a folder.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub files: Option<Vec<String>>,
            /// A glob pattern that files below the root have to fit.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub glob: Option<Pattern>,
            /// How many files have to fit `glob`: 1 unless set.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub at_least: Option<u64>,
            /// `none_open`: nothing on the agent's to-do list is left to be done.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub todos: Option<Todos>,
            /// What the agent ends with has this form.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub output: Option<Output>,
            /// An expression that has to hold.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub check: Option<Holds>,
            /// All of these have to be complete. The first that is not is told.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub all: Option<Vec<Checks>>,
            /// One of these has to be complete.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub any: Option<Vec<Checks>>,
            /// A command that has to exit with 0. It runs once all that stands beside it is complete.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub command: Option<CommandLine>,
            /// How long `command` may take: ten minutes unless set.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub timeout: Option<Timeout>,
            /// `command` runs again once one of these files changed: all files unless set; empty: every time.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub when_changed: Option<Vec<Pattern>>,
            $($(#[$field_doc])* #[serde(skip_serializing_if = "is_default")] pub $field: $kind,)*
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                serde_json::to_value(self).ok() == serde_json::to_value(other).ok()
            }
        }
    };
}

with_checks! {
    /// What has to be complete. Several things in one map have to be complete together.
    Checks {}
}

with_checks! {
    /// The settings of `completion`. Several things in one map have to be complete together.
    Completion {
        /// After each call the agent is told what is still missing, whenever that changed. Commands are not run for it.
        also_after_tool: bool,
        /// Whether the stops of sub-agents are checked.
        sub_agents: SubAgents,
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// What is asked of a to-do list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Todos {
    /// Nothing is left to be done.
    NoneOpen,
}

/// The form of an output.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// Its JSON Schema.
    pub schema: JsonForm,
}

/// Whether the stops of sub-agents are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SubAgents {
    /// They are not: what the run has to bring is not for each of its helpers to bring.
    #[default]
    Exempt,
    /// They are.
    Check,
}

/// An expression, and what it was compiled to.
#[derive(Clone)]
pub struct Holds {
    /// As it is written.
    pub source: String,
    condition: Option<Arc<dyn Condition>>,
}

impl fmt::Debug for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Holds").field(&self.source).finish()
    }
}

impl Serialize for Holds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.source)
    }
}

impl<'de> Deserialize<'de> for Holds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Holds { source: String::deserialize(deserializer)?, condition: None })
    }
}

impl JsonSchema for Holds {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Expression".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// Makes a condition of an expression that stands at a place of the settings, given as a JSON pointer.
pub type Bind<'b> = dyn FnMut(&str, &str) -> Option<Arc<dyn Condition>> + 'b;

/// What is wrong with the settings: where, as a JSON pointer, and what.
type Problem = (String, String);

impl Completion {
    /// Everything that has to be complete.
    fn checks(&self) -> Checks {
        let Completion {
            files,
            glob,
            at_least,
            todos,
            output,
            check,
            all,
            any,
            command,
            timeout,
            when_changed,
            also_after_tool: _,
            sub_agents: _,
        } = self.clone();
        Checks { files, glob, at_least, todos, output, check, all, any, command, timeout, when_changed }
    }

    /// The guardrail, with its expressions made into conditions, or all that is wrong with the settings.
    pub fn compiled(&self, bind: &mut Bind<'_>) -> Result<Arc<dyn Guardrail>, Vec<Problem>> {
        let mut checks = self.checks();
        let mut problems = Vec::new();
        checks.problems("", 0, &mut problems);
        let commands = checks.count_commands();
        if commands > MAX_COMMANDS {
            let message =
                format!("there are {commands} commands, and {MAX_COMMANDS} are run at most: join them");
            problems.push((String::new(), message));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        checks.bind("", bind);
        let part = Part::of(&checks);
        let mut watches = vec![EventKind::AfterTool];
        watches.retain(|_| self.also_after_tool || part.has_todos());
        if commands > 0 {
            watches.extend([EventKind::BeforeStop, EventKind::BeforeHandoff]);
        }
        Ok(Arc::new(Checker {
            part,
            also_after_tool: self.also_after_tool,
            sub_agents: self.sub_agents,
            watches,
        }))
    }
}

impl Checks {
    fn problems(&self, at: &str, depth: usize, problems: &mut Vec<Problem>) {
        let mut wrong = |name: &str, what: &str| problems.push((format!("{at}/{name}"), what.to_owned()));
        if depth > MAX_DEPTH {
            return wrong("all", "this is nested too deep");
        }
        if self.at_least.is_some() && self.glob.is_none() {
            wrong("at_least", "`at_least` goes with `glob`");
        }
        if self.at_least == Some(0) {
            wrong("at_least", "no file at all always fits");
        }
        if self.timeout.is_some() && self.command.is_none() {
            wrong("timeout", "`timeout` goes with `command`");
        }
        if self.when_changed.is_some() && self.command.is_none() {
            wrong("when_changed", "`when_changed` goes with `command`");
        }
        if self.any.as_ref().is_some_and(Vec::is_empty) {
            wrong("any", "one of none can never be complete");
        }
        for (name, parts) in [("all", &self.all), ("any", &self.any)] {
            for (i, part) in parts.iter().flatten().enumerate() {
                part.problems(&format!("{at}/{name}/{i}"), depth.saturating_add(1), problems);
            }
        }
    }

    fn count_commands(&self) -> usize {
        let below = self.all.iter().chain(&self.any).flatten().map(Checks::count_commands);
        usize::from(self.command.is_some()).saturating_add(below.sum())
    }

    fn bind(&mut self, at: &str, bind: &mut Bind<'_>) {
        if let Some(check) = &mut self.check {
            check.condition = bind(&format!("{at}/check"), &check.source);
        }
        for (name, parts) in [("all", &mut self.all), ("any", &mut self.any)] {
            for (i, part) in parts.iter_mut().flatten().enumerate() {
                part.bind(&format!("{at}/{name}/{i}"), bind);
            }
        }
    }
}

/// Settings alone have no expressions that could be asked: a check by one is never complete.
impl Guardrail for Completion {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        self.as_checker()?.check(context)
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        self.as_checker()?.observe(context, effect, changes)
    }

    fn watches(&self) -> &[EventKind] {
        &[EventKind::AfterTool, EventKind::BeforeStop, EventKind::BeforeHandoff]
    }

    fn ceiling(&self) -> Effect {
        Effect::Retry
    }
}

impl Completion {
    fn as_checker(&self) -> Result<Arc<dyn Guardrail>, Fault> {
        let wrong = |problems: Vec<Problem>| {
            let problems: Vec<String> =
                problems.into_iter().map(|(at, what)| format!("`{at}`: {what}")).collect();
            Fault::Failed(problems.join("; "))
        };
        self.compiled(&mut |_, _| None).map_err(wrong)
    }
}

/// Something that has to be complete.
enum Part {
    Files(Vec<String>),
    Glob { pattern: Pattern, at_least: u64 },
    Todos,
    Output(JsonForm),
    Holds(Holds),
    Command { name: String, run: CommandLine, timeout: Timeout, files: Vec<Pattern> },
    All(Vec<Part>),
    Any(Vec<Part>),
}

/// How far something is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Complete,
    /// What is missing, in a sentence.
    Incomplete(String),
    /// It is not looked at now.
    Unknown,
}

/// When it is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// The agent wants to stop, or to hand on.
    Stop,
    /// The agent is at work.
    Call,
    /// All is over.
    End,
}

impl Part {
    fn of(checks: &Checks) -> Part {
        Part::named(checks, "command")
    }

    /// The parts of a map, what costs most last. `name` is that of its command, under which its state is kept.
    fn named(checks: &Checks, name: &str) -> Part {
        let mut parts = Vec::new();
        parts.extend(checks.files.clone().map(Part::Files));
        if let Some(pattern) = checks.glob.clone() {
            parts.push(Part::Glob { pattern, at_least: checks.at_least.unwrap_or(1) });
        }
        parts.extend(checks.todos.map(|Todos::NoneOpen| Part::Todos));
        parts.extend(checks.output.clone().map(|output| Part::Output(output.schema)));
        parts.extend(checks.check.clone().map(Part::Holds));
        let below = |of: &[Checks], word: &str| {
            let of = of.iter().enumerate();
            of.map(|(i, checks)| Part::named(checks, &format!("{name}-{word}-{i}"))).collect::<Vec<_>>()
        };
        parts.extend(checks.all.as_deref().map(|all| Part::All(below(all, "all"))));
        parts.extend(checks.any.as_deref().map(|any| Part::Any(below(any, "any"))));
        if let Some(run) = checks.command.clone() {
            let timeout = checks.timeout.unwrap_or(Timeout::minutes(10));
            let files = checks.when_changed.clone().unwrap_or_else(all_files);
            parts.push(Part::Command { name: name.to_owned(), run, timeout, files });
        }
        match parts.len() {
            1 => parts.pop().unwrap_or(Part::All(Vec::new())),
            _ => Part::All(parts),
        }
    }

    fn each<'p>(&'p self, visit: &mut dyn FnMut(&'p Part)) {
        visit(self);
        if let Part::All(parts) | Part::Any(parts) = self {
            parts.iter().for_each(|part| part.each(visit));
        }
    }

    fn has_todos(&self) -> bool {
        let mut has = false;
        self.each(&mut |part| has |= matches!(part, Part::Todos));
        has
    }

    /// The command of a part, with the context that holds its state.
    fn required<'p, 'a>(&'p self, context: &Context<'a>) -> Option<(Required<'p>, Context<'a>)> {
        let Part::Command { name, run, timeout, files } = self else { return None };
        let required = Required {
            run,
            timeout: *timeout,
            files,
            effect: Effect::Retry,
            wrong: "A command that has to end well does not",
            advice: String::new(),
        };
        Some((required, context.part(name)))
    }
}

/// What looks at the parts at one moment.
struct Look<'l, 'a> {
    whole: &'l Part,
    context: &'l Context<'a>,
    moment: Moment,
}

impl Look<'_, '_> {
    /// Asks for all that is had cheaply, so that it is fetched at once.
    fn prime(&self) {
        self.whole.each(&mut |part| match part {
            Part::Files(files) => files.iter().for_each(|file| {
                let _ = self.context.file(&self.place(file));
            }),
            Part::Glob { pattern, .. } => {
                let _ = self.context.count(std::slice::from_ref(&pattern.0));
            }
            Part::Todos => {
                let _ = self.context.state(&todos_of(self.context));
            }
            Part::Command { .. } if self.moment != Moment::Call => {
                if let Some((required, context)) = part.required(self.context) {
                    required.prime(&context);
                }
            }
            Part::Output(_) | Part::Holds(_) | Part::Command { .. } | Part::All(_) | Part::Any(_) => {}
        });
    }

    /// Where a path of the pack leads: it is meant from the root, wherever the agent is.
    fn place(&self, file: &str) -> Place {
        path::place(file, None, Roots { root: self.context.root(), aliases: &[] }, None)
    }

    /// What was asked for, or why it cannot be had. What is still to be fetched ends the look.
    fn had<T>(&self, asked: Result<T, Missing>) -> Result<Result<T, Missing>, Fault> {
        match asked {
            Err(missing) if self.context.awaits() => Err(missing.into()),
            had => Ok(had),
        }
    }

    fn state(&self, part: &Part) -> Result<State, Fault> {
        match part {
            Part::Files(files) => self.files(files),
            Part::Glob { pattern, at_least } => self.glob(pattern, *at_least),
            Part::Todos => self.todos(),
            Part::Output(_) if self.moment != Moment::Stop => Ok(State::Unknown),
            Part::Output(form) => Ok(self.output(form)),
            Part::Holds(holds) => self.holds(holds),
            Part::Command { .. } => self.command(part),
            Part::All(parts) => self.all(parts),
            Part::Any(parts) => self.any(parts),
        }
    }

    fn all(&self, parts: &[Part]) -> Result<State, Fault> {
        let mut state = State::Complete;
        for part in parts {
            match self.state(part)? {
                State::Complete => {}
                State::Unknown => state = State::Unknown,
                incomplete @ State::Incomplete(_) => return Ok(incomplete),
            }
        }
        Ok(state)
    }

    fn any(&self, parts: &[Part]) -> Result<State, Fault> {
        let mut is_known = true;
        let mut missing = Vec::new();
        for part in parts {
            match self.state(part)? {
                State::Complete => return Ok(State::Complete),
                State::Unknown => is_known = false,
                State::Incomplete(what) => missing.push(what),
            }
        }
        if !is_known {
            return Ok(State::Unknown);
        }
        Ok(State::Incomplete(match missing.as_slice() {
            [one] => one.clone(),
            _ => format!("One of these is needed: {}", missing.join(" Or: ")),
        }))
    }

    fn files(&self, files: &[String]) -> Result<State, Fault> {
        let mut missing: Vec<&str> = Vec::new();
        for file in files {
            match self.had(self.context.file(&self.place(file)))? {
                Ok(FileState::File { .. }) if !file.ends_with('/') => {}
                Ok(FileState::Special) if file.ends_with('/') => {}
                Ok(_) => missing.push(file),
                Err(why) => {
                    let (are, count) = (plural(files.len(), "file"), files.len());
                    return Ok(State::Incomplete(format!(
                        "No filesystem tells of them: cannot verify the {count} required output {are} ({why})."
                    )));
                }
            }
        }
        let count = missing.len();
        Ok(match count {
            0 => State::Complete,
            1 => State::Incomplete(format!("1 required output file is missing: {}.", named(&missing))),
            _ => State::Incomplete(format!("{count} required output files are missing: {}", named(&missing))),
        })
    }

    fn glob(&self, pattern: &Pattern, at_least: u64) -> Result<State, Fault> {
        let Pattern(pattern) = pattern;
        let asked = self.context.count(std::slice::from_ref(pattern));
        Ok(match self.had(asked)? {
            Ok(count) if count >= at_least => State::Complete,
            Ok(count) => State::Incomplete(format!(
                "At least {at_least} {} have to fit `{pattern}`, and {count} {}.",
                if at_least == 1 { "file" } else { "files" },
                if count == 1 { "does" } else { "do" },
            )),
            Err(why) => State::Incomplete(format!(
                "No filesystem tells of them: cannot verify the files that have to fit `{pattern}` ({why})."
            )),
        })
    }

    fn todos(&self) -> Result<State, Fault> {
        let list = TodoList::kept(self.context.state(&todos_of(self.context))?);
        let open = list.open();
        Ok(match open.len() {
            0 => State::Complete,
            1 => State::Incomplete(format!("1 item of the to-do list is open: {}.", named(&open))),
            count => State::Incomplete(format!("{count} items of the to-do list are open: {}", named(&open))),
        })
    }

    fn output(&self, form: &JsonForm) -> State {
        let output = self.context.event.output.clone().unwrap_or(Value::Null);
        let problems = form.problems(&output, true, NAMED);
        if problems.is_empty() {
            return State::Complete;
        }
        let problems: Vec<String> = problems.iter().map(|(at, what)| format!("`{at}` {what}")).collect();
        State::Incomplete(format!(
            "The output does not have the form that is asked for: {}.",
            problems.join("; ")
        ))
    }

    fn holds(&self, holds: &Holds) -> Result<State, Fault> {
        let Holds { source, condition } = holds;
        let held = match condition {
            Some(condition) => self.had(condition.holds(self.context))?,
            None => Err(Missing("the expression cannot be read".to_owned())),
        };
        Ok(match held {
            Ok(true) => State::Complete,
            Ok(false) => State::Incomplete(format!("This has to hold: {}", source.trim())),
            // What an agent ends with is not known before it ends, and neither is much else.
            Err(_) if self.moment != Moment::Stop => State::Unknown,
            Err(why) => State::Incomplete(format!("This has to hold, and {why}: {}", source.trim())),
        })
    }

    /// A command is run when the agent wants to stop. Afterwards its last outcome counts.
    fn command(&self, part: &Part) -> Result<State, Fault> {
        let Some((required, context)) = part.required(self.context) else { return Ok(State::Unknown) };
        let said = match self.moment {
            Moment::Call => return Ok(State::Unknown),
            Moment::End if required.files.is_empty() => return Ok(State::Unknown),
            Moment::End => match required.last(&context) {
                Ok(Some(said)) => Ok(said),
                Ok(None) => {
                    return Ok(State::Incomplete(format!(
                        "`{}` has not run on the files as they are.",
                        required.run.0
                    )));
                }
                Err(fault) => Err(fault),
            },
            Moment::Stop => {
                self.whole.each(&mut |part| {
                    if let Some((other, context)) = part.required(self.context) {
                        other.prime_files(&context);
                    }
                });
                required.verdict(&context)
            }
        };
        Ok(match said {
            Ok(said) if said.effect == Effect::Allow => State::Complete,
            Ok(said) => State::Incomplete(said.reason),
            Err(fault) if self.context.awaits() => return Err(fault),
            Err(fault) => {
                State::Incomplete(format!("It is not known whether `{}` ends well: {fault}.", required.run.0))
            }
        })
    }
}

/// The first of several names.
fn named(names: &[&str]) -> String {
    let first: Vec<&str> = names.iter().take(NAMED).copied().collect();
    let more = if names.len() > NAMED { "..." } else { "" };
    format!("{}{more}", first.join(", "))
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

/// Each agent has a to-do list of its own, sub-agents too.
fn todos_of(context: &Context<'_>) -> String {
    format!("{TODOS}/{}", context.actor())
}

/// Characters of what is told to be missing after a call.
const MAX_FEEDBACK: usize = 2_000;

/// The guardrail.
struct Checker {
    part: Part,
    also_after_tool: bool,
    sub_agents: SubAgents,
    watches: Vec<EventKind>,
}

impl Checker {
    fn look<'l, 'a>(&'l self, context: &'l Context<'a>, moment: Moment) -> Result<State, Fault> {
        let look = Look { whole: &self.part, context, moment };
        look.prime();
        look.state(&self.part)
    }

    /// Why nothing is checked, if nothing is.
    fn passes_over(&self, context: &Context<'_>) -> Result<Option<&'static str>, Missing> {
        let (deadline, autonomy) = (context.deadline(), context.autonomy());
        let (deadline, autonomy) = (deadline?, autonomy?);
        if let Some(deadline) = deadline
            && context.now()? >= deadline
        {
            return Ok(Some("not checked: the deadline has passed"));
        }
        Ok((autonomy == Autonomy::Halt).then_some("not checked: the budget is used up"))
    }

    fn at_stop(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let passes_over = self.passes_over(context);
        if matches!(passes_over, Ok(None) | Err(_)) {
            // Asked for before anything is lacking, so that all of it is fetched together.
            Look { whole: &self.part, context, moment: Moment::Stop }.prime();
        }
        if let Some(why) = passes_over? {
            return Ok(Verdict::new(Effect::Allow, why));
        }
        let State::Incomplete(what) = self.look(context, Moment::Stop)? else { return Ok(Verdict::allow()) };
        let advice = "Go on with the work until this is done, and stop then.";
        let mut verdict =
            Verdict::new(Effect::Retry, format!("The work is not complete. {what}")).advise(advice);
        verdict.retry_message = Some(format!("{}\n\n{advice}", verdict.reason));
        Ok(verdict.with("missing", what))
    }

    /// How far the work is after a call, and what the agent was last told of it. `None`: it is not to be told.
    fn at_call<'a>(&self, context: &Context<'a>) -> Result<Option<(State, Option<&'a str>)>, Fault> {
        if !self.also_after_tool || !context.event.is_success() {
            return Ok(None);
        }
        let (told, state) = (context.state(TOLD), self.look(context, Moment::Call));
        Ok(Some((state?, told?.and_then(Value::as_str))))
    }

    fn at_end(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let State::Incomplete(what) = self.look(context, Moment::End)? else { return Ok(Verdict::allow()) };
        let mut verdict = Verdict::warn(format!("The run ended with its work not complete. {what}"));
        let message = format!("`{}`: {}", context.session(), verdict.reason);
        verdict.notices.push(Notice { to: "orchestrator".to_owned(), message });
        Ok(verdict.with("missing", what))
    }
}

impl Guardrail for Checker {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if context.event.parent.is_some() && self.sub_agents == SubAgents::Exempt {
            return Ok(Verdict::new(Effect::Allow, "not checked: sub-agents are exempt"));
        }
        match context.event.kind {
            EventKind::SessionEnd => self.at_end(context),
            EventKind::AfterTool => {
                let feedback = match self.at_call(context)? {
                    Some((State::Incomplete(what), told)) if told != Some(&what) => Some(feedback_block(
                        &context.spec.id,
                        &format!("Still missing: {what}"),
                        MAX_FEEDBACK,
                    )),
                    _ => None,
                };
                Ok(Verdict { feedback, ..Verdict::allow() })
            }
            _ => self.at_stop(context),
        }
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        let mut outcome = Ok(());
        self.part.each(&mut |part| {
            if let Some((required, context)) = part.required(context)
                && outcome.is_ok()
            {
                outcome = required.observe(&context, changes);
            }
        });
        outcome?;
        if context.event.kind != EventKind::AfterTool {
            return Ok(());
        }
        let is_todo_tool = context.event.tool_name().is_some_and(|name| todo_list::TOOLS.contains(&name));
        if is_todo_tool && self.part.has_todos() && context.succeeded(effect)? {
            let before = context.state(&todos_of(context))?;
            if let Some(after) = TodoList::kept(before).after(context.event) {
                let after = serde_json::to_value(after).map_err(|error| Fault::Failed(error.to_string()))?;
                changes.set(context.key(&todos_of(context)), after);
            }
        }
        let is_told = context.spec.on.contains(&EventKind::AfterTool)
            && !(context.event.parent.is_some() && self.sub_agents == SubAgents::Exempt);
        if is_told && effect.goes_on() {
            match self.at_call(context)? {
                Some((State::Incomplete(what), told)) if told != Some(&what) => {
                    changes.set(context.key(TOLD), what);
                }
                Some((State::Complete | State::Unknown, Some(_))) => changes.remove(context.key(TOLD)),
                _ => {}
            }
        }
        Ok(())
    }

    fn watches(&self) -> &[EventKind] {
        &self.watches
    }

    fn tools(&self) -> Tools {
        match self.part.has_todos() && !self.also_after_tool {
            true => Tools::only(todo_list::TOOLS.iter().copied()),
            false => Tools::All,
        }
    }

    fn ceiling(&self) -> Effect {
        Effect::Retry
    }

    fn summary(&self) -> Option<String> {
        let mut needs = Vec::new();
        self.part.each(&mut |part| match part {
            Part::Files(files) if !files.is_empty() => {
                needs.push(files.iter().map(|file| format!("`{file}`")).collect::<Vec<_>>().join(", "));
            }
            Part::Glob { pattern, at_least } => needs.push(format!("{at_least} of `{}`", pattern.0)),
            Part::Todos => needs.push("no open item on the to-do list".to_owned()),
            Part::Output(_) => needs.push("an output in the form that is asked for".to_owned()),
            Part::Holds(holds) => needs.push(holds.source.trim().to_owned()),
            Part::Command { run, .. } => needs.push(format!("`{}` to end well", run.0)),
            Part::Files(_) | Part::All(_) | Part::Any(_) => {}
        });
        (!needs.is_empty()).then(|| format!("Before you stop, this is needed: {}.", needs.join("; ")))
    }
}

#[cfg(test)]
#[path = "completion_tests.rs"]
mod tests;
