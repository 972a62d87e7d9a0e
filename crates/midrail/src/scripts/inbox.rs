//! What waits for a realm: calls, and commands that have ended.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};
use std::{hint, thread};

use midrail_core::HookOutcome;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::call::{Call, ScriptError};
use crate::error::Available;
use crate::probes::Exec;

/// How long an announced call is awaited without sleeping.
const AWAKE: Duration = Duration::from_micros(200);

/// Something for a realm to do.
pub(super) enum Message {
    Call(Box<Request>),
    /// A command that the script ran has ended.
    Ended {
        run: u64,
        end: Available<Exec>,
    },
}

/// A call, and who waits for it.
pub(super) struct Request {
    pub(super) call: Call,
    pub(super) deadline: Instant,
    pub(super) reply: SyncSender<Reply>,
}

/// What becomes of a call.
pub(super) enum Reply {
    End(Box<Result<HookOutcome, ScriptError>>),
    /// The realm ended before the call started.
    NotStarted(Box<Call>),
}

/// What a realm finds when it looks.
pub(super) enum Wakeup {
    Message(Message),
    /// The time is up.
    Time,
    /// Nothing will come any more.
    Closed,
}

#[derive(Default)]
pub(super) struct Inbox {
    queue: Mutex<Queue>,
    bell: Condvar,
    /// Counts the messages that were pushed, for readers without the lock.
    left: AtomicUsize,
}

#[derive(Default)]
struct Queue {
    messages: VecDeque<Message>,
    /// A call is about to come, waits or runs.
    is_reserved: bool,
    /// No more calls will come.
    is_closed: bool,
    /// The realm has ended.
    has_ended: bool,
    /// The realm sleeps until the bell rings.
    is_asleep: bool,
    /// A call is about to come.
    is_roused: bool,
    /// Set while it runs after it was stopped. Counts stuck realms.
    stuck: Option<Arc<AtomicUsize>>,
    /// Until when what runs now may run. `None`: nothing does.
    runs_until: Option<Instant>,
}

impl Inbox {
    /// Adds a message. It is returned if the realm takes none.
    pub(super) fn push(&self, message: Message) -> Result<(), Message> {
        let mut queue = self.queue.lock();
        let is_call = matches!(message, Message::Call(_));
        if queue.has_ended || (is_call && queue.is_closed) {
            queue.is_reserved &= !is_call;
            self.wake(queue);
            return Err(message);
        }
        queue.messages.push_back(message);
        self.left.fetch_add(1, Ordering::Release);
        self.wake(queue);
        Ok(())
    }

    /// Reserves the realm for a call. `false`: it is busy.
    pub(super) fn reserve(&self) -> bool {
        !std::mem::replace(&mut self.queue.lock().is_reserved, true)
    }

    /// A call is about to come: to be woken takes longer than most hooks do.
    pub(super) fn prewarm(&self) {
        let mut queue = self.queue.lock();
        queue.is_roused = queue.is_asleep;
        self.wake(queue);
    }

    /// Wakes the realm where it sleeps. The lock is released first, because the woken thread takes it.
    fn wake(&self, mut queue: MutexGuard<'_, Queue>) {
        let is_asleep = std::mem::take(&mut queue.is_asleep);
        drop(queue);
        if is_asleep {
            self.bell.notify_one();
        }
    }

    /// The next message, waiting for it until then.
    pub(super) fn pop(&self, until: Option<Instant>) -> Wakeup {
        let mut queue = self.queue.lock();
        loop {
            if std::mem::take(&mut queue.is_roused) {
                drop(queue);
                self.stay_awake(until);
                queue = self.queue.lock();
            }
            if let Some(message) = queue.messages.pop_front() {
                return Wakeup::Message(message);
            }
            if queue.is_closed && !queue.is_reserved {
                return Wakeup::Closed;
            }
            queue.is_asleep = true;
            match until {
                None => self.bell.wait(&mut queue),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        queue.is_asleep = false;
                        return Wakeup::Time;
                    }
                    self.bell.wait_for(&mut queue, left);
                }
            };
        }
    }

    /// Waits without sleep for a call that was announced.
    fn stay_awake(&self, until: Option<Instant>) {
        let before = self.left.load(Ordering::Acquire);
        if !self.queue.lock().messages.is_empty() {
            return;
        }
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let at_most = left.map_or(AWAKE, |left| left.min(AWAKE));
        watch(at_most, || (self.left.load(Ordering::Acquire) != before).then_some(()));
    }

    /// The call has ended.
    pub(super) fn release(&self) {
        self.queue.lock().is_reserved = false;
    }

    /// Whether the realm takes calls.
    pub(super) fn is_open(&self) -> bool {
        let queue = self.queue.lock();
        !queue.has_ended && !queue.is_closed && queue.stuck.is_none()
    }

    /// Whether a call waits or runs.
    pub(super) fn is_busy(&self) -> bool {
        self.queue.lock().is_reserved
    }

    /// The script's files have changed: this call and all that follow are for another realm.
    pub(super) fn turn_away(&self, request: Request) {
        let mut queue = self.queue.lock();
        queue.is_closed = true;
        queue.is_reserved = false;
        // The caller may be gone.
        let _ = request.reply.try_send(Reply::NotStarted(Box::new(request.call)));
    }

    /// No more calls will come.
    pub(super) fn close(&self) {
        let mut queue = self.queue.lock();
        queue.is_closed = true;
        self.left.fetch_add(1, Ordering::Release);
        self.wake(queue);
    }

    /// Until when what runs now may run.
    pub(super) fn runs_until(&self, deadline: Option<Instant>) {
        self.queue.lock().runs_until = deadline;
    }

    /// Stops waiting. Where it does not stop what it should have stopped, the realm is given up.
    pub(super) fn give_up(&self, stuck: &Arc<AtomicUsize>, grace: Duration) -> bool {
        let mut queue = self.queue.lock();
        let is_stuck = queue.runs_until.is_some_and(|until| until + grace <= Instant::now());
        if is_stuck && !queue.has_ended && queue.stuck.is_none() {
            stuck.fetch_add(1, Ordering::Relaxed);
            queue.stuck = Some(Arc::clone(stuck));
        }
        is_stuck
    }

    /// Whether it was given up.
    pub(super) fn is_given_up(&self) -> bool {
        self.queue.lock().stuck.is_some()
    }

    /// The realm ends. Calls that it did not come to go back to where they came from.
    pub(super) fn end(&self) {
        let mut queue = self.queue.lock();
        queue.has_ended = true;
        if let Some(stuck) = queue.stuck.take() {
            stuck.fetch_sub(1, Ordering::Relaxed);
        }
        for message in queue.messages.drain(..) {
            if let Message::Call(request) = message {
                // The caller may be gone.
                let _ = request.reply.try_send(Reply::NotStarted(Box::new(request.call)));
            }
        }
    }
}

/// The number of spin hints between two checks: about a microsecond, in which the other thread of the core runs freely.
const PAUSES: u32 = 32;

/// Polls until there is a value, at most for a time. It yields between two polls, because the awaited thread may have
/// been woken on the same core.
pub(super) fn watch<T>(at_most: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if began.elapsed() >= at_most {
            return None;
        }
        for _ in 0..PAUSES {
            hint::spin_loop();
        }
        thread::yield_now();
    }
}
