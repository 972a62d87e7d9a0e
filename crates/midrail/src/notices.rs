//! Notices: stored with the record that causes them, and delivered through the channels of the packs.

pub(crate) mod channels;

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use midrail_core::{EventKind, Record};
use midrail_pack::Channel;
use midrail_store::{
    Approval, ApprovalChange, MAX_PAGE, NewNotice, Store, StoreError, StoredNotice, Urgency,
};
use serde_json::json;

use self::channels::Channels;
use crate::approvals::urgency_in_record;
use crate::background::Background;
use crate::deep::client::post;
use crate::engine::Engine;

/// A notice that is older when it is first delivered is skipped.
const FRESH: SignedDuration = SignedDuration::from_hours(1);

/// The timeout of a delivery.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The first delay before a retry, in seconds. It doubles each time, up to the longest.
const AGAIN_AFTER_S: u64 = 30;
const LONGEST_S: u64 = 6 * 60 * 60;

/// The most attempts to deliver a notice: about two days.
const MOST_TRIES: u64 = 16;

/// The most notices of one delivery.
const PAGE: usize = MAX_PAGE;

/// The notices of a decision: those of its guardrails, and one for each request to a person.
pub(crate) fn for_decision(record: &Record, approvals: &[ApprovalChange]) -> Vec<NewNotice> {
    let kind = match record.event.kind {
        EventKind::AfterHandoff | EventKind::BeforeHandoff => "handoff",
        EventKind::OnError => "error",
        _ => "decision",
    };
    let notices = record.decision.notices.iter().map(|notice| NewNotice {
        to: notice.to.clone(),
        kind: kind.to_owned(),
        message: notice.message.clone(),
        body: json!({"session": record.session, "agent": record.event.agent, "task": record.event.task_id()}),
    });
    let asked = approvals.iter().filter(|change| change.was.is_none()).map(|change| {
        let approval = &change.now;
        let who = approval.requested_by.as_deref().unwrap_or("an agent");
        let urgency = urgency_in_record(record, &approval.guardrail);
        let how = if urgency == Urgency::Normal { "asked for" } else { urgency.as_str() };
        let needed = approval.justification.as_ref().map(|why| format!(" ({how}: {why})"));
        NewNotice {
            to: approval.approver.clone(),
            kind: "approval".to_owned(),
            message: format!(
                "`{}` asks about `{}` of {who}: {}{}",
                approval.guardrail,
                approval.subject(),
                approval.reason,
                needed.unwrap_or_default()
            ),
            body: json!({"approval": Approval { urgency, ..approval.clone() }}),
        }
    });
    notices.chain(asked).collect()
}

impl Engine {
    /// Logs new notices, and delivers all that wait on a separate thread, which the engine joins when it is dropped.
    pub(crate) fn send_notices(&self, written: &[NewNotice]) {
        if written.is_empty() {
            return;
        }
        let channels = self.channels();
        for notice in written {
            if channels.0.get(&notice.to).is_none_or(|channel| channel.log != Some(false)) {
                log::info!(to:% = notice.to, kind:% = notice.kind, notice:% = notice.message; "notice");
            }
        }
        // Without channels no thread is started.
        if Way::ALL.iter().any(|way| way.is_set(&channels)) {
            let (store, now) = (self.store().clone(), self.now());
            self.spawn_delivery(move || deliver(&store, &channels, now));
        }
    }
}

impl Background<'_> {
    /// Delivers the notices that wait. Returns how many were sent.
    pub fn deliver_notices(&self) -> usize {
        deliver(self.engine.store(), &self.engine.channels(), self.engine.now())
    }
}

fn deliver(store: &Arc<dyn Store>, channels: &Channels, now: Timestamp) -> usize {
    let until = Instant::now() + TIMEOUT * 2;
    let mut delivered = 0;
    for way in Way::ALL.into_iter().filter(|way| way.is_set(channels)) {
        match deliver_by(way, store, channels, now, until) {
            Ok(count) => delivered += count,
            Err(error) => {
                log::error!(error:%; "notices could not be delivered");
                break;
            }
        }
    }
    delivered
}

/// Delivers the notices that wait for one channel. Those that fail are tried again later.
fn deliver_by(
    way: Way,
    store: &Arc<dyn Store>,
    channels: &Channels,
    now: Timestamp,
    until: Instant,
) -> Result<usize, StoreError> {
    let mut delivered = 0;
    let mut out_of_reach: BTreeSet<String> = BTreeSet::new();
    for undelivered in store.pending_deliveries(way.name(), PAGE)? {
        let (notice, attempts) = (&undelivered.notice, undelivered.attempts);
        let Some(target) = way.target(channels.0.get(&notice.to)) else {
            // The recipient has no such channel.
            store.mark_delivered(notice.id, way.name(), now)?;
            continue;
        };
        if attempts == 0 && now.duration_since(notice.time) > FRESH {
            // It was stored before the channel was configured.
            store.mark_delivered(notice.id, way.name(), now)?;
            continue;
        }
        if Instant::now() >= until {
            break;
        }
        if out_of_reach.contains(&target)
            || !store.claim_delivery(notice.id, way.name(), now, again_after_s(attempts))?
        {
            continue;
        }
        match way.send(&target, notice) {
            Ok(()) => {
                delivered += 1;
                store.mark_delivered(notice.id, way.name(), now)?;
            }
            Err(why) => {
                log::warn!(notice = notice.id, by = way.name(), error:% = why; "a notice could not be sent");
                out_of_reach.insert(target);
                if attempts + 1 >= MOST_TRIES {
                    log::error!(notice = notice.id, by = way.name(); "a notice is given up");
                    store.increment_counter("notices_given_up", 1)?;
                    store.mark_delivered(notice.id, way.name(), now)?;
                }
            }
        }
    }
    Ok(delivered)
}

/// Why a notice could not be delivered.
#[derive(Debug, thiserror::Error)]
enum DeliveryError {
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("`{command}` could not be started: {source}")]
    Start { command: String, source: std::io::Error },
    #[error("`{command}` ended with {status}")]
    Command { command: String, status: std::process::ExitStatus },
    #[error("`{0}` did not end within {limit} s", limit = TIMEOUT.as_secs())]
    CommandTimeout(String),
    #[error(transparent)]
    Request(#[from] crate::deep::question::DeepError),
    #[error("the webhook answered {0}")]
    Webhook(u16),
}

/// The delay before another attempt, in seconds.
fn again_after_s(attempts: u64) -> u64 {
    let doubled = u32::try_from(attempts.saturating_sub(1)).unwrap_or(u32::MAX).min(20);
    AGAIN_AFTER_S.saturating_mul(1 << doubled).min(LONGEST_S)
}

/// A kind of channel. The store knows it by its name.
#[derive(Debug, Clone, Copy)]
enum Way {
    Webhook,
    Command,
}

impl Way {
    const ALL: [Way; 2] = [Way::Webhook, Way::Command];

    /// Whether any recipient has it.
    fn is_set(self, channels: &Channels) -> bool {
        channels.0.values().any(|channel| self.target(Some(channel)).is_some())
    }

    fn name(self) -> &'static str {
        match self {
            Way::Webhook => "webhook",
            Way::Command => "command",
        }
    }

    /// The address of a recipient. `None`: it is not set.
    fn target(self, channel: Option<&Channel>) -> Option<String> {
        match self {
            Way::Webhook => channel?.webhook.clone(),
            Way::Command => channel?.command.clone(),
        }
    }

    fn send(self, target: &str, notice: &StoredNotice) -> Result<(), DeliveryError> {
        match self {
            Way::Webhook => to_webhook(target, notice),
            Way::Command => to_command(target, notice),
        }
    }
}

fn to_command(command: &str, notice: &StoredNotice) -> Result<(), DeliveryError> {
    let body = serde_json::to_vec(notice)?;
    let mut child = Command::new("sh")
        .arg("-c")
        .arg(command)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|source| DeliveryError::Start { command: command.to_owned(), source })?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read its input is judged by its exit status.
        std::thread::spawn(move || drop(stdin.write_all(&body)));
    }
    let until = Instant::now() + TIMEOUT;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => {
                return Err(DeliveryError::Command { command: command.to_owned(), status });
            }
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(DeliveryError::CommandTimeout(command.to_owned()));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn to_webhook(address: &str, notice: &StoredNotice) -> Result<(), DeliveryError> {
    let body = serde_json::to_string(notice)?;
    match post(address, &body, TIMEOUT)? {
        200..=299 => Ok(()),
        status => Err(DeliveryError::Webhook(status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_between_retries_doubles() {
        let gaps: Vec<u64> = (0..5).map(again_after_s).collect();
        assert_eq!(gaps, [30, 30, 60, 120, 240]);
        assert_eq!((again_after_s(12), again_after_s(u64::MAX)), (LONGEST_S, LONGEST_S));
    }
}
