//! What others are told: written with the record that it comes from, and delivered as the packs say.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use midrail_core::{EventKind, Record};
use midrail_pack::{Channel, PolicySource};
use midrail_store::{
    Approval, ApprovalChange, MAX_PAGE, NewNotice, Store, StoreError, StoredNotice, Urgency,
};
use serde_json::json;

use crate::approvals::urgency_of;
use crate::deep::post;
use crate::engine::Engine;

/// A notice that nobody tried to deliver for so long is history.
const FRESH: SignedDuration = SignedDuration::from_hours(1);

/// How long one delivery may take.
const AT_MOST: Duration = Duration::from_secs(2);

/// Seconds after which a delivery that failed is tried again: twice as many each time, up to the longest.
const AGAIN_AFTER_S: u64 = 30;
const LONGEST_S: u64 = 6 * 60 * 60;

/// Tries before a notice is left to whoever reads the list of notices: after about two days.
const MOST_TRIES: u64 = 16;

/// Notices that are looked at in one go.
const PAGE: usize = MAX_PAGE;

/// The notices of a decision: those of its guardrails, and one for each request to a person.
pub(crate) fn of(record: &Record, approvals: &[ApprovalChange]) -> Vec<NewNotice> {
    let kind = match record.event.kind {
        EventKind::AfterHandoff | EventKind::BeforeHandoff => "handoff",
        EventKind::OnError => "error",
        _ => "decision",
    };
    let told = record.decision.notices.iter().map(|notice| NewNotice {
        to: notice.to.clone(),
        kind: kind.to_owned(),
        message: notice.message.clone(),
        body: json!({"session": record.session, "agent": record.event.agent, "task": record.event.task_id()}),
    });
    let asked = approvals.iter().filter(|change| change.was.is_none()).map(|change| {
        let approval = &change.now;
        let who = approval.requested_by.as_deref().unwrap_or("an agent");
        let urgency = urgency_of(record, &approval.guardrail);
        let how = if urgency == Urgency::Normal { "asked for" } else { urgency.word() };
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
    told.chain(asked).collect()
}

/// Where notices go, by whom they are for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Channels(BTreeMap<String, Channel>);

impl Channels {
    /// Those of all packs. A higher layer has the say.
    pub(crate) fn of(source: &PolicySource) -> Self {
        let mut channels: BTreeMap<String, Channel> = BTreeMap::new();
        for (to, channel) in source.0.iter().flat_map(|layered| &layered.pack.notify) {
            channels.entry(to.clone()).or_insert_with(|| channel.clone());
        }
        Channels(channels)
    }
}

impl Engine {
    /// Logs notices that were just written, and delivers what waits on a thread of its own. The engine waits for it
    /// when it is dropped.
    pub(crate) fn tell_others(&self, written: &[NewNotice]) {
        if written.is_empty() {
            return;
        }
        let channels = self.channels();
        for notice in written {
            if channels.0.get(&notice.to).is_none_or(|channel| channel.log != Some(false)) {
                log::info!(to:% = notice.to, kind:% = notice.kind, notice:% = notice.message; "notice");
            }
        }
        // Where nothing is to be reached, a decision does not pay for trying.
        if Way::ALL.iter().any(|way| way.is_set(&channels)) {
            let (store, now) = (self.store().clone(), self.now());
            self.in_background(move || deliver(&store, &channels, now));
        }
    }

    /// Delivers what waits. Answers how many notices went out.
    pub fn deliver_notices(&self) -> usize {
        deliver(self.store(), &self.channels(), self.now())
    }
}

fn deliver(store: &Arc<dyn Store>, channels: &Channels, now: Timestamp) -> usize {
    let until = Instant::now() + AT_MOST * 2;
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

/// Delivers what waits for one way of delivery. What cannot be reached now is left for later.
fn deliver_by(
    way: Way,
    store: &Arc<dyn Store>,
    channels: &Channels,
    now: Timestamp,
    until: Instant,
) -> Result<usize, StoreError> {
    let mut delivered = 0;
    let mut out_of_reach: BTreeSet<String> = BTreeSet::new();
    for undelivered in store.undelivered(way.name(), PAGE)? {
        let (notice, attempts) = (&undelivered.notice, undelivered.attempts);
        let Some(target) = way.target(channels.0.get(&notice.to)) else {
            // Nothing is set for whom it is for, so nothing is owed.
            store.mark_delivered(notice.id, way.name(), now)?;
            continue;
        };
        if attempts == 0 && now.duration_since(notice.time) > FRESH {
            // It was written before there was anywhere to send it.
            store.mark_delivered(notice.id, way.name(), now)?;
            continue;
        }
        if Instant::now() >= until {
            break;
        }
        if out_of_reach.contains(&target)
            || !store.try_delivery(notice.id, way.name(), now, again_after_s(attempts))?
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
                    log::error!(notice = notice.id, by = way.name(); "a notice is not sent any more");
                    store.count("notices_given_up", 1)?;
                    store.mark_delivered(notice.id, way.name(), now)?;
                }
            }
        }
    }
    Ok(delivered)
}

/// Seconds after which a delivery that failed so often may be tried again.
fn again_after_s(attempts: u64) -> u64 {
    let doubled = u32::try_from(attempts.saturating_sub(1)).unwrap_or(u32::MAX).min(20);
    AGAIN_AFTER_S.saturating_mul(1 << doubled).min(LONGEST_S)
}

/// A way of delivery. Its name is that of the store's channel.
#[derive(Debug, Clone, Copy)]
enum Way {
    Webhook,
    Command,
}

impl Way {
    const ALL: [Way; 2] = [Way::Webhook, Way::Command];

    /// Whether anybody is reached by it.
    fn is_set(self, channels: &Channels) -> bool {
        channels.0.values().any(|channel| self.target(Some(channel)).is_some())
    }

    fn name(self) -> &'static str {
        match self {
            Way::Webhook => "webhook",
            Way::Command => "command",
        }
    }

    /// Where notices go by it. `None`: it is not set, and nothing is owed.
    fn target(self, channel: Option<&Channel>) -> Option<String> {
        match self {
            Way::Webhook => channel?.webhook.clone(),
            Way::Command => channel?.command.clone(),
        }
    }

    fn send(self, target: &str, notice: &StoredNotice) -> Result<(), String> {
        match self {
            Way::Webhook => to_webhook(target, notice),
            Way::Command => to_command(target, notice),
        }
    }
}

fn to_command(command: &str, notice: &StoredNotice) -> Result<(), String> {
    let body = serde_json::to_vec(notice).map_err(|error| error.to_string())?;
    let mut child = Command::new("sh")
        .arg("-c")
        .arg(command)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("`{command}` could not be started: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that does not read is judged by how it ends, and is not waited for here.
        std::thread::spawn(move || drop(stdin.write_all(&body)));
    }
    let until = Instant::now() + AT_MOST;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("`{command}` ended with {status}")),
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("`{command}` did not end within {} s", AT_MOST.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

fn to_webhook(address: &str, notice: &StoredNotice) -> Result<(), String> {
    let body = serde_json::to_string(notice).map_err(|error| error.to_string())?;
    match post(address, &body, AT_MOST)? {
        200..=299 => Ok(()),
        status => Err(format!("the webhook answered {status}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_deliveries_are_tried_less_and_less_often() {
        let gaps: Vec<u64> = (0..5).map(again_after_s).collect();
        assert_eq!(gaps, [30, 30, 60, 120, 240]);
        assert_eq!((again_after_s(12), again_after_s(u64::MAX)), (LONGEST_S, LONGEST_S));
    }
}
