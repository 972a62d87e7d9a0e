//! One stream of a caller, and the handling of its messages.

use std::time::Instant;

use axum::http::HeaderMap;
use midrail::{Agent, Decision, Effect, Event, EventKind, Stream, StreamOptions, StreamStep, Task};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Caller, Right};
use crate::api::input::{check_length, parse};
use crate::app::App;
use crate::blocking::blocking;
use crate::problem::{HandlerResult, Problem};

/// Bytes that may be collected before they are decided.
const MAX_COLLECTED: usize = 64 << 10;

/// The longest name of a session or a stream.
const MAX_NAME: usize = 1_000;

/// One stream of a caller.
pub(super) struct StreamSession {
    pub(super) app: App,
    caller: Caller,
    headers: HeaderMap,
    stream: Option<Stream>,
    /// An approval is requested, so the stream may be silent.
    awaits_approval: bool,
    until: Instant,
}

/// The reply to a message.
pub(super) enum Reply {
    /// No reply.
    Nothing,
    /// A step.
    Step(StreamedStep),
    /// The last step.
    Last(StreamedStep),
}

impl StreamSession {
    pub(super) fn new(app: App, caller: Caller, headers: HeaderMap) -> Self {
        let until = Instant::now() + app.config.limits.stream;
        StreamSession { app, caller, headers, stream: None, awaits_approval: false, until }
    }

    /// How long the next message may take.
    pub(super) fn message_timeout(&self) -> std::time::Duration {
        let left = self.until.saturating_duration_since(Instant::now());
        if self.awaits_approval { left } else { left.min(self.app.config.limits.silence) }
    }

    /// Opens the stream with the first message.
    pub(super) async fn open(&mut self, text: &[u8]) -> HandlerResult<StreamedStep> {
        let message: StreamMessage = parse(text)?;
        let is_alone = message.text.is_none() && !message.flush && !message.finish && !message.resume;
        let Some(opening) = message.open.filter(|_| is_alone) else {
            return Err(Problem::invalid("the first message opens the stream, and does nothing else")
                .help("send {\"open\":{\"session\":\"NAME\"}} first"));
        };
        let named = Event::new(EventKind::ModelChunk).in_session(&*opening.session);
        self.caller.check_session_of(&named).await?;
        let stream = self.open_stream(opening)?;
        let step = StreamedStep { stream: Some(stream.id().to_owned()), ..StreamedStep::default() };
        self.stream = Some(stream);
        Ok(step)
    }

    fn open_stream(&self, opening: StreamOpening) -> HandlerResult<Stream> {
        let StreamOpening { session, stream, max_bytes, agent, task, cwd, prompt, parent } = opening;
        check_length("session", &session, MAX_NAME)?;
        if let Some(stream) = &stream {
            check_length("stream", stream, MAX_NAME)?;
        }
        let unknown = agent.as_ref().and_then(|agent| agent.extra.keys().next());
        if let Some(name) = unknown.or(task.as_ref().and_then(|task| task.extra.keys().next())) {
            return Err(Problem::invalid(format!("unknown field `{}`", crate::text::short(name))));
        }
        self.caller.check_agent(agent.as_ref().and_then(|agent| agent.id.as_deref()))?;
        let template = Event { agent, task, cwd, prompt, parent, ..Event::new(EventKind::ModelChunk) };
        let handle = self.caller.project.engine().session(session).with_template(template);
        let defaults = StreamOptions::default();
        let max_bytes = max_bytes.unwrap_or(defaults.max_bytes).min(MAX_COLLECTED);
        Ok(handle.stream(StreamOptions { id: stream, max_bytes }))
    }

    /// Handles a message; the first one opens the stream. An error ends it.
    pub(super) async fn handle(&mut self, text: &[u8]) -> Reply {
        if self.stream.is_none() {
            return match self.open(text).await {
                Ok(step) => Reply::Step(step),
                Err(problem) => Reply::Last(StreamedStep::failed(problem)),
            };
        }
        match self.apply(text).await {
            Ok(None) => Reply::Nothing,
            Ok(Some(step)) => {
                let effect = step.decision.as_ref().map(|decision| decision.effect);
                self.awaits_approval = step.over && effect == Some(Effect::Escalate);
                let is_last = step.over && !self.awaits_approval;
                let user_message = step.user_message().map(str::to_owned);
                let StreamStep { text, decision, over } = step;
                let step = StreamedStep { text, over, decision, user_message, ..StreamedStep::default() };
                if is_last { Reply::Last(step) } else { Reply::Step(step) }
            }
            Err(problem) => Reply::Last(StreamedStep::failed(problem)),
        }
    }

    async fn apply(&mut self, text: &[u8]) -> HandlerResult<Option<StreamStep>> {
        let message: StreamMessage = parse(text)?;
        let StreamMessage { open, text, flush, finish, resume } = message;
        let actions = [open.is_some(), text.is_some(), flush, finish, resume];
        if open.is_some() || actions.iter().filter(|is_set| **is_set).count() != 1 {
            return Err(Problem::invalid("a message has one of `text`, `flush`, `finish` and `resume`"));
        }
        // The key may have been revoked in the meantime.
        let who = self.app.authenticator.identify(&self.headers, Right::Decide).await?;
        if !who.is_some_and(|who| who.may(Right::Decide)) {
            return Err(Problem::unauthenticated("the key is not valid any more"));
        }
        let Some(mut stream) = self.stream.take() else {
            return Err(Problem::internal("the stream is not open"));
        };
        let is_answered = text.is_none();
        let (stream, step) = blocking(move || {
            let step = match text {
                Some(chunk) => stream.push(&chunk),
                None if flush => stream.flush(),
                None if finish => stream.finish(),
                None => stream.resume(),
            };
            Ok((stream, step))
        })
        .await?;
        self.stream = Some(stream);
        if step.decision.is_some() {
            self.wait_for_rate_limit().await?;
        }
        Ok(Some(step).filter(|step| is_answered || step.over || step.decision.is_some()))
    }

    /// Waits until the rate limit of the key permits another decision.
    async fn wait_for_rate_limit(&self) -> HandlerResult<()> {
        while let Err(wait) = self.app.authenticator.take(&self.caller.identity, 1) {
            if Instant::now() + wait > self.until {
                return Err(Problem::too_many("this key has reached its rate limit"));
            }
            tokio::select! {
                () = self.app.closed() => return Err(Problem::unavailable("the service is being stopped")),
                () = tokio::time::sleep(wait) => {}
            }
        }
        Ok(())
    }
}

/// One message to a stream. The first one opens it; each of the others is one of the rest.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StreamMessage {
    /// The owner of the stream. Only the first message has this field, and requires it.
    open: Option<StreamOpening>,
    /// The next chunk of text.
    text: Option<String>,
    /// Decides the collected text now. It is always answered.
    flush: bool,
    /// Decides the rest and ends the stream.
    finish: bool,
    /// Retries the text that waits for an approval.
    resume: bool,
}

/// The owner of a stream.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StreamOpening {
    /// The session.
    session: String,
    /// The name of the stream. Absent: a generated one.
    #[serde(default)]
    stream: Option<String>,
    /// Chunks are collected up to this many bytes and decided together. Absent: 4096; at most 65536. 0: each chunk is
    /// decided on its own.
    #[serde(default)]
    max_bytes: Option<usize>,
    /// The agent.
    #[serde(default)]
    agent: Option<Agent>,
    /// The task of the agent.
    #[serde(default)]
    task: Option<Task>,
    /// The folder that it works in.
    #[serde(default)]
    cwd: Option<String>,
    /// The prompt that it runs under.
    #[serde(default)]
    prompt: Option<String>,
    /// The agent that started this sub-agent.
    #[serde(default)]
    parent: Option<String>,
}

/// A step of a stream.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct StreamedStep {
    /// The name of the stream, in the first answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<String>,
    /// The text that is allowed now.
    text: String,
    /// Whether the stream has ended. If the decision is `escalate`, `resume` may continue it.
    over: bool,
    /// The decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Decision>,
    /// The message for the user, if the run was halted.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_message: Option<String>,
    /// Why the stream was aborted. Undecided text is withheld.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<Problem>,
}

impl StreamedStep {
    pub(super) fn failed(problem: Problem) -> Self {
        StreamedStep { over: true, problem: Some(problem), ..StreamedStep::default() }
    }

    pub(super) fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| r#"{"text":"","over":true}"#.to_owned())
    }
}
