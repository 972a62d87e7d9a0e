//! The functions under a script's `ctx`: they look up the call that they belong to and ask its host.
//!
//! Nothing here holds a JavaScript value, so that no value outlives its realm.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use std::{array, thread};

use midrail_core::{HookAnswer, HookRequest, hex};
use midrail_shell::patch;
use rquickjs::atom::PredefinedAtom;
use rquickjs::function::{IntoJsFunc, Opt};
use rquickjs::promise::PromiseState;
use rquickjs::{Ctx, Exception, Function, Object, Result, Value};
use sha2::{Digest, Sha256};

use super::activity::{Activity, Timer};
use super::call::{Host, ScriptError};
use super::commands::RunningCommand;
use super::inbox::Message;
use super::prelude;
use crate::error::Unavailable;

/// Timers that may run at once.
const MAX_TIMERS: usize = 1000;

/// Commands that one call may have running at once.
const MAX_RUNS: usize = 16;

/// Files that one call may note as read or not, and how long path and checksum may be.
const MAX_READ: usize = 10_000;
const MAX_READ_LENGTH: usize = 8 << 10;

/// Lines that one call may print.
const MAX_LINES: usize = 200;

/// The longest time that a timer waits, as in browsers.
const MAX_DELAY: f64 = 2_147_483_647.0;

type Shared = Rc<RefCell<Activity>>;

/// All functions, as properties of one object that the prelude alone gets.
pub(super) fn object<'js>(ctx: &Ctx<'js>, activity: &Shared) -> Result<Object<'js>> {
    let native = Object::new(ctx.clone())?;
    let add = Add { ctx, native: &native };
    answers(&add, activity)?;
    files(&add, activity)?;
    processes(&add, activity)?;
    add.function("part", |ctx: Ctx<'js>, name: String| prelude::part(&ctx, &name))?;
    add.function("isProxy", |value: Value<'js>| value.is_proxy())?;
    add.function("there", there)?;
    add.function("targets", |ctx: Ctx<'js>, diff: String| {
        let files = patch::targets(&diff);
        // A text without files is no diff, and an empty list would mean that no file is stale.
        if files.is_empty() && !diff.trim().is_empty() {
            return Err(Exception::throw_type(
                &ctx,
                "this text names no file, so it is no diff that could be read",
            ));
        }
        Ok(files)
    })?;
    add.function("sha256", |content: String| hex::encode(&Sha256::digest(content.as_bytes())))?;
    let its = Rc::clone(activity);
    add.function("log", move |level: u32, text: String| log(&its, level, &text))?;
    Ok(native)
}

/// The value that a hook returned, if it is settled: an object that is not a promise, or the value of a resolved
/// promise. `None`: it has to be awaited.
fn there<'js>(value: Value<'js>) -> Option<Value<'js>> {
    let value = match value.as_promise().map(|promise| (promise.state(), promise)) {
        None => value,
        Some((PromiseState::Resolved, promise)) => promise.result().and_then(Result::ok)?,
        Some(_) => return None,
    };
    let object = value.as_object().filter(|_| !value.is_proxy())?;
    (!object.contains_key(PredefinedAtom::Then).unwrap_or(true)).then(|| value.clone())
}

struct Add<'a, 'js> {
    ctx: &'a Ctx<'js>,
    native: &'a Object<'js>,
}

impl<'js> Add<'_, 'js> {
    fn function<P>(&self, name: &str, function: impl IntoJsFunc<'js, P> + 'js) -> Result<()> {
        self.native.set(name, Function::new(self.ctx.clone(), function)?)
    }
}

/// How hooks answer.
fn answers(add: &Add<'_, '_>, activity: &Shared) -> Result<()> {
    let [pass, refuse, replace, fail, failed, uncaught] = array::from_fn(|_| Rc::clone(activity));
    add.function("pass", move |id: u64| pass.borrow_mut().settle(id, Ok(HookAnswer::Pass)))?;
    type Text = Opt<Option<String>>;
    add.function(
        "refuse",
        move |id: u64, message: String, suggestion: Text, reason: Text, urgency: Text| {
            let [suggestion, reason, urgency] = [suggestion, reason, urgency].map(|text| text.0.flatten());
            let request = reason.zip(urgency).map(|(reason, urgency)| HookRequest { reason, urgency });
            refuse.borrow_mut().settle(id, Ok(HookAnswer::Refuse { message, suggestion, request }));
        },
    )?;
    add.function("replace", move |id: u64, result: String, is_error: bool| {
        replace.borrow_mut().settle(id, Ok(HookAnswer::Replace { result, is_error }));
    })?;
    add.function("fail", move |id: u64, message: String, stack: String| {
        let mut activity = fail.borrow_mut();
        let error = activity.thrown(&message, &stack);
        activity.settle(id, Err(error));
    })?;
    add.function("failed", move |id: u64| {
        let mut activity = failed.borrow_mut();
        let error = activity.thrown(ScriptError::OUT_OF_MEMORY, "");
        activity.settle(id, Err(error));
    })?;
    add.function("uncaught", move |message: String, stack: String| {
        let mut activity = uncaught.borrow_mut();
        let error = activity.thrown(&message, &stack);
        activity.fail(error);
    })
}

/// What scripts see of files and of the conversation.
fn files<'js>(add: &Add<'_, 'js>, activity: &Shared) -> Result<()> {
    let [args, history, feedback, read_file, checksums, read_before, set_read, all_read] =
        array::from_fn(|_| Rc::clone(activity));
    add.function("args", move |ctx: Ctx<'js>, id: u64| {
        let mut activity = args.borrow_mut();
        let call = activity.call_with(id).ok_or_else(|| over(&ctx))?;
        Ok::<_, rquickjs::Error>(call.call.args.to_string())
    })?;
    add.function("history", move |ctx: Ctx<'js>, id: u64| {
        let messages = or_throw(&ctx, host(&ctx, &history, id)?.history())?;
        Ok::<_, rquickjs::Error>(serde_json::Value::Array(messages).to_string())
    })?;
    add.function("feedback", move |ctx: Ctx<'js>, id: u64| {
        let view = or_throw(&ctx, host(&ctx, &feedback, id)?.feedback())?;
        Ok::<_, rquickjs::Error>(view.to_string())
    })?;
    add.function("readFile", move |ctx: Ctx<'js>, id: u64, path: String| {
        or_throw(&ctx, host(&ctx, &read_file, id)?.read_file(&path))
    })?;
    add.function("checksum", move |ctx: Ctx<'js>, id: u64, path: String, is_agents: bool| {
        or_throw(&ctx, host(&ctx, &checksums, id)?.checksum(&path, is_agents))
    })?;
    add.function("readBefore", move |ctx: Ctx<'js>, id: u64, path: String| {
        let host = host(&ctx, &read_before, id)?;
        let place = host.place(&path);
        let noted =
            read_before.borrow_mut().call_with(id).and_then(|call| call.snapshot.get(&place).cloned());
        noted.map_or_else(|| or_throw(&ctx, host.read_before(&place)), Ok)
    })?;
    add.function("setRead", move |ctx: Ctx<'js>, id: u64, path: String, checksum: Opt<Option<String>>| {
        let place = host(&ctx, &set_read, id)?.place(&path);
        let checksum = checksum.0.flatten();
        let mut activity = set_read.borrow_mut();
        let call = activity.call_with(id).ok_or_else(|| over(&ctx))?;
        let length = place.len() + checksum.as_ref().map_or(0, String::len);
        if call.snapshot.len() >= MAX_READ || length > MAX_READ_LENGTH {
            return Err(Exception::throw_range(&ctx, "memory.snapshot holds too much"));
        }
        call.snapshot.insert(place, checksum);
        Ok::<_, rquickjs::Error>(())
    })?;
    add.function("allRead", move |ctx: Ctx<'js>, id: u64| {
        let mut all = or_throw(&ctx, host(&ctx, &all_read, id)?.all_read())?;
        if let Some(call) = all_read.borrow_mut().call_with(id) {
            for (place, checksum) in &call.snapshot {
                match checksum {
                    Some(checksum) => all.insert(place.clone(), checksum.clone()),
                    None => all.remove(place),
                };
            }
        }
        Ok::<_, rquickjs::Error>(all.into_iter().flat_map(<[String; 2]>::from).collect::<Vec<_>>())
    })
}

/// Commands and timers.
fn processes<'js>(add: &Add<'_, 'js>, activity: &Shared) -> Result<()> {
    let [execs, timers, clears] = array::from_fn(|_| Rc::clone(activity));
    add.function("exec", move |ctx: Ctx<'js>, id: u64, command: String| exec(&ctx, &execs, id, command))?;
    add.function("timer", move |ctx: Ctx<'js>, delay: f64, repeats: bool| {
        let mut activity = timers.borrow_mut();
        if activity.timers.len() >= MAX_TIMERS {
            return Err(Exception::throw_range(&ctx, &format!("more than {MAX_TIMERS} timers run")));
        }
        let delay = if delay.is_finite() { delay.clamp(1.0, MAX_DELAY) } else { 1.0 };
        let delay = Duration::from_secs_f64(delay / 1000.0);
        let is_of_call = activity.is_turn_of_call && !activity.is_loading;
        let id = activity.next_id();
        let every = repeats.then_some(delay);
        activity.timers.insert(id, Timer { due: Instant::now() + delay, is_of_call, every });
        Ok(id)
    })?;
    add.function("clear", move |id: u64| {
        clears.borrow_mut().timers.remove(&id);
    })
}

/// Starts a command on a thread of its own.
fn exec(ctx: &Ctx<'_>, activity: &Shared, id: u64, command: String) -> Result<u64> {
    let host = host(ctx, activity, id)?;
    let mut activity = activity.borrow_mut();
    let run = activity.next_id();
    let inbox = Arc::clone(&activity.inbox);
    let call = activity.call_with(id).ok_or_else(|| over(ctx))?;
    if call.runs.len() >= MAX_RUNS {
        return Err(Exception::throw_range(ctx, &format!("more than {MAX_RUNS} commands run for one call")));
    }
    let within = call.deadline.saturating_duration_since(Instant::now());
    let stop = Arc::new(AtomicBool::new(false));
    let (its_stop, running) = (Arc::clone(&stop), RunningCommand::new(&stop));
    let started = thread::Builder::new().name("midrail-script-exec".to_owned()).spawn(move || {
        let _running = running;
        let end = catch_unwind(AssertUnwindSafe(|| host.exec(&command, within, &its_stop)));
        let end = end.unwrap_or_else(|_| Err("the command could not be run".into()));
        // The realm may have ended meanwhile.
        let _ = inbox.push(Message::Ended { run, end });
    });
    match started {
        Ok(_) => {
            call.runs.insert(run, stop);
            Ok(run)
        }
        Err(error) => Err(Exception::throw_message(ctx, &format!("no thread to run the command: {error}"))),
    }
}

fn log(activity: &Shared, level: u32, text: &str) {
    let level = match level {
        0 => log::Level::Error,
        1 => log::Level::Warn,
        2 => log::Level::Info,
        3 => log::Level::Debug,
        _ => log::Level::Trace,
    };
    let (host, lines) = {
        let mut activity = activity.borrow_mut();
        let Some(call) = &mut activity.call else { return };
        call.lines = call.lines.saturating_add(1);
        (Arc::clone(&call.call.host), call.lines)
    };
    match lines.cmp(&MAX_LINES) {
        std::cmp::Ordering::Less => host.log(level, text),
        std::cmp::Ordering::Equal => host.log(log::Level::Warn, "further lines of this call are left out"),
        std::cmp::Ordering::Greater => {}
    }
}

fn host(ctx: &Ctx<'_>, activity: &Shared, id: u64) -> Result<Arc<dyn Host>> {
    let mut activity = activity.borrow_mut();
    activity.call_with(id).map(|call| Arc::clone(&call.call.host)).ok_or_else(|| over(ctx))
}

fn over(ctx: &Ctx<'_>) -> rquickjs::Error {
    Exception::throw_message(
        ctx,
        "this `ctx` belongs to a call that has ended; use the one that the hook is given",
    )
}

fn or_throw<T>(ctx: &Ctx<'_>, result: std::result::Result<T, Unavailable>) -> Result<T> {
    result.map_err(|error| Exception::throw_message(ctx, &error.to_string()))
}
