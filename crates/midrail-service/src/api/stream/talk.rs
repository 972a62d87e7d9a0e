//! One stream and whoever sends it: what a message leads to.

use std::time::Instant;

use axum::http::HeaderMap;
use midrail::{Effect, Stream, StreamOptions, StreamStep};

use super::{StreamMessage, StreamOpening, StreamedStep};
use crate::access::{Caller, Right};
use crate::api::decide::speaks_for;
use crate::api::input::{parse, within};
use crate::app::App;
use crate::problem::{Outcome, Problem};
use crate::work::blocking;

/// Bytes that may be collected before they are decided.
const MAX_COLLECTED: usize = 64 << 10;

/// The longest name of a session or a stream.
const MAX_NAME: usize = 1_000;

/// One stream, and whoever sends it.
pub(super) struct Talk {
    app: App,
    caller: Caller,
    headers: HeaderMap,
    stream: Option<Stream>,
    /// A person was asked, and may take their time.
    is_asked: bool,
    until: Instant,
}

/// What a message led to.
pub(super) enum Heard {
    /// It was taken in.
    Nothing,
    /// Something came of it.
    Step(StreamedStep),
    /// Something came of it, and nothing more will.
    Last(StreamedStep),
}

impl Talk {
    pub(super) fn new(app: App, caller: Caller, headers: HeaderMap) -> Self {
        let until = Instant::now() + app.config.limits.stream;
        Talk { app, caller, headers, stream: None, is_asked: false, until }
    }

    pub(super) fn app(&self) -> &App {
        &self.app
    }

    /// How long the next message may take.
    pub(super) fn patience(&self) -> std::time::Duration {
        let left = self.until.saturating_duration_since(Instant::now());
        if self.is_asked { left } else { left.min(self.app.config.limits.silence) }
    }

    /// Opens the stream with the first message.
    pub(super) async fn open(&mut self, text: &[u8]) -> Outcome<StreamedStep> {
        let message: StreamMessage = parse(text)?;
        let is_alone = message.text.is_none() && !message.flush && !message.finish && !message.resume;
        let Some(opening) = message.open.filter(|_| is_alone) else {
            return Err(Problem::invalid("the first message opens the stream, and does nothing else")
                .help("send {\"open\":{\"session\":\"NAME\"}} first"));
        };
        let stream = self.opened(opening)?;
        let step = StreamedStep { stream: Some(stream.id().to_owned()), ..StreamedStep::default() };
        self.stream = Some(stream);
        Ok(step)
    }

    fn opened(&self, opening: StreamOpening) -> Outcome<Stream> {
        let StreamOpening { session, stream, max_bytes, agent, task, cwd, prompt, parent } = opening;
        within("session", &session, MAX_NAME)?;
        if let Some(stream) = &stream {
            within("stream", stream, MAX_NAME)?;
        }
        let of_agent = agent.as_ref().and_then(|agent| agent.extra.keys().next());
        let of_task = task.as_ref().and_then(|task| task.extra.keys().next());
        if let Some(name) = of_agent.or(of_task) {
            return Err(Problem::invalid(format!("unknown field `{}`", crate::project::short(name))));
        }
        speaks_for(&self.caller, agent.as_ref().and_then(|agent| agent.id.as_deref()))?;
        let mut handle = self.caller.project().engine().session(session);
        if let Some(agent) = agent {
            handle = handle.agent(agent);
        }
        if let Some(task) = task {
            handle = handle.task(task);
        }
        if let Some(cwd) = cwd {
            handle = handle.cwd(cwd);
        }
        if let Some(prompt) = prompt {
            handle = handle.prompt(prompt);
        }
        if let Some(parent) = parent {
            handle = handle.sub_agent(parent);
        }
        let usual = StreamOptions::default();
        let max_bytes = max_bytes.unwrap_or(usual.max_bytes).min(MAX_COLLECTED);
        Ok(handle.stream(StreamOptions { id: stream, max_bytes }))
    }

    /// Does what a message says. What fails ends the stream.
    pub(super) async fn hear(&mut self, text: &[u8]) -> Heard {
        match self.done(text).await {
            Ok(None) => Heard::Nothing,
            Ok(Some(step)) => {
                let effect = step.decision.as_ref().map(|decision| decision.effect);
                self.is_asked = step.over && effect == Some(Effect::Escalate);
                let is_last = step.over && !self.is_asked;
                let user_message = step.user_message().map(str::to_owned);
                let StreamStep { text, decision, over } = step;
                let step = StreamedStep { text, over, decision, user_message, ..StreamedStep::default() };
                if is_last { Heard::Last(step) } else { Heard::Step(step) }
            }
            Err(problem) => Heard::Last(StreamedStep::broken(problem)),
        }
    }

    async fn done(&mut self, text: &[u8]) -> Outcome<Option<StreamStep>> {
        let message: StreamMessage = parse(text)?;
        let StreamMessage { open, text, flush, finish, resume } = message;
        let wishes = [open.is_some(), text.is_some(), flush, finish, resume];
        if open.is_some() || wishes.iter().filter(|wish| **wish).count() != 1 {
            return Err(Problem::invalid("a message has one of `text`, `flush`, `finish` and `resume`"));
        }
        // A key that is revoked meanwhile is good for nothing more.
        let who = self.app.doorkeeper.who(&self.app, &self.headers, Right::Decide).await?;
        if !who.is_some_and(|who| who.may(Right::Decide)) {
            return Err(Problem::unauthenticated("the key is not known any more"));
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
            self.keep_pace().await?;
        }
        Ok(Some(step).filter(|step| is_answered || step.over || step.decision.is_some()))
    }

    /// A key that may ask only so often is made to wait: every decision counts.
    async fn keep_pace(&self) -> Outcome<()> {
        while let Err(wait) = self.app.doorkeeper.take(self.caller.who(), 1) {
            if Instant::now() + wait > self.until {
                return Err(Problem::too_many("this key may not ask so often"));
            }
            tokio::select! {
                () = self.app.closed() => return Err(Problem::unavailable("the service is being stopped")),
                () = tokio::time::sleep(wait) => {}
            }
        }
        Ok(())
    }
}
