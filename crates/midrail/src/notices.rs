//! Notices: stored with the record that causes them, and delivered through the channels of the packs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use midrail_core::{EventKind, Record};
use midrail_guardrails::label;
use midrail_pack::Channel;
use midrail_store::{Approval, ApprovalChange, MAX_PAGE, NewNotice, Result, Store, StoredNotice, Urgency};
use serde_json::json;

use crate::admin::event::notice;
use crate::approvals::{Waiting, is_noticed, urgency_in_record};
use crate::background::Background;
use crate::deep::client::post;
use crate::engine::Engine;
use crate::error::{Available, Unavailable};

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
///
/// Requests of one call to the same approver share a notice, and alike requests are reported ever more rarely.
pub(crate) fn for_decision(
    record: &Record,
    approvals: &[ApprovalChange],
    waiting: &Waiting,
) -> Vec<NewNotice> {
    if record.decision.notices.is_empty() && approvals.is_empty() {
        return Vec::new();
    }
    let kind = match record.event.kind {
        EventKind::AfterHandoff | EventKind::BeforeHandoff => "handoff",
        EventKind::OnError => "error",
        _ => "decision",
    };
    let body =
        json!({"session": record.session, "agent": record.event.agent, "task": record.event.task_id()});
    let own = record.decision.notices.iter();
    let notices = own.map(|own| notice(&own.to, kind, own.message.clone(), body.clone()));
    let mut by_approver: BTreeMap<&str, Vec<&Approval>> = BTreeMap::new();
    for approval in approvals.iter().filter(|change| change.was.is_none()).map(|change| &change.now) {
        by_approver.entry(&approval.approver).or_default().push(approval);
    }
    let asked = by_approver.into_iter().filter_map(|(to, asked)| request_notice(record, to, &asked, waiting));
    notices.chain(asked).collect()
}

/// The notice about the requests of one call to an approver. `None`: enough alike ones are reported.
fn request_notice(record: &Record, to: &str, asked: &[&Approval], waiting: &Waiting) -> Option<NewNotice> {
    let first = asked.first()?;
    let alike = asked.iter().map(|approval| waiting.alike(approval)).min()?;
    if !is_noticed(alike) {
        return None;
    }
    let urgency = |approval: &Approval| urgency_in_record(record, &approval.guardrail);
    let questions: Vec<String> = asked
        .iter()
        .map(|approval| {
            let who = approval.requested_by.as_deref().unwrap_or("an agent");
            let urgency = urgency(approval);
            let how = if urgency == Urgency::Normal { "asked for" } else { urgency.as_str() };
            let needed =
                approval.justification.as_ref().map(|why| format!(" ({how}: {why})")).unwrap_or_default();
            let (guardrail, subject) = (label(&approval.guardrail), approval.subject());
            format!("`{guardrail}` asks about `{subject}` of {who}: {}{needed}", approval.reason)
        })
        .collect();
    let more = match alike {
        0 => String::new(),
        1 => " (an alike request waits already)".to_owned(),
        alike => format!(" ({alike} alike requests wait already)"),
    };
    let shown = |approval: &Approval| Approval { urgency: urgency(approval), ..approval.clone() };
    let mut body = json!({"approval": shown(first)});
    if let (Some(rest @ [_, ..]), Some(fields)) = (asked.get(1..), body.as_object_mut()) {
        fields.insert("same_call".to_owned(), json!(rest.iter().map(|rest| shown(rest)).collect::<Vec<_>>()));
    }
    if let (1.., Some(fields)) = (alike, body.as_object_mut()) {
        fields.insert("alike".to_owned(), alike.into());
    }
    Some(notice(to, "approval", format!("{}{more}", questions.join("; ")), body))
}

impl Engine {
    /// Logs new notices, and delivers all that wait on a separate thread, which the engine joins when it is dropped.
    pub(crate) fn send_notices(&self, written: &[NewNotice]) {
        if written.is_empty() {
            return;
        }
        let settings = self.pack_settings();
        for notice in written {
            if settings.channels.get(&notice.to).is_none_or(|channel| channel.log != Some(false)) {
                log::info!(to:% = notice.to, kind:% = notice.kind, notice:% = notice.message; "notice");
            }
        }
        // Without channels no thread is started.
        if WAYS.iter().any(|way| way.is_set(&settings.channels)) {
            let (store, now) = (self.store().clone(), self.now());
            self.spawn_delivery(move || deliver(&store, &settings.channels, now));
        }
    }
}

impl Background<'_> {
    /// Delivers the notices that wait. Returns how many were sent.
    pub fn deliver_notices(&self) -> usize {
        deliver(self.engine.store(), &self.engine.pack_settings().channels, self.engine.now())
    }
}

fn deliver(store: &Arc<dyn Store>, channels: &Channels, now: Timestamp) -> usize {
    let until = Instant::now() + TIMEOUT * 2;
    let mut delivered = 0;
    for way in WAYS.iter().filter(|way| way.is_set(channels)) {
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
    way: &Way,
    store: &Arc<dyn Store>,
    channels: &Channels,
    now: Timestamp,
    until: Instant,
) -> Result<usize> {
    let mut delivered = 0;
    let mut out_of_reach: BTreeSet<&String> = BTreeSet::new();
    for undelivered in store.pending_deliveries(way.name, PAGE)? {
        let (notice, attempts) = (&undelivered.notice, undelivered.attempts);
        // A notice that was stored before the channel was configured is not delivered.
        let is_stale = attempts == 0 && now.duration_since(notice.time) > FRESH;
        let target = channels.get(&notice.to).and_then(way.target).filter(|_| !is_stale);
        let Some(target) = target else {
            store.mark_delivered(notice.id, way.name, now)?;
            continue;
        };
        if Instant::now() >= until {
            break;
        }
        if out_of_reach.contains(target)
            || !store.claim_delivery(notice.id, way.name, now, again_after_s(attempts))?
        {
            continue;
        }
        match (way.send)(target, notice) {
            Ok(()) => {
                delivered += 1;
                store.mark_delivered(notice.id, way.name, now)?;
            }
            Err(why) => {
                log::warn!(notice = notice.id, by = way.name, error:% = why; "a notice could not be sent");
                out_of_reach.insert(target);
                if attempts + 1 >= MOST_TRIES {
                    log::error!(notice = notice.id, by = way.name; "a notice is given up");
                    store.increment_counter("notices_given_up", 1)?;
                    store.mark_delivered(notice.id, way.name, now)?;
                }
            }
        }
    }
    Ok(delivered)
}

/// The delay before another attempt, in seconds.
fn again_after_s(attempts: u64) -> u64 {
    let doubled = u32::try_from(attempts.saturating_sub(1)).unwrap_or(u32::MAX).min(20);
    AGAIN_AFTER_S.saturating_mul(1 << doubled).min(LONGEST_S)
}

/// The channels of notices, by recipient.
type Channels = BTreeMap<String, Channel>;

/// A kind of channel.
struct Way {
    /// The name in the store.
    name: &'static str,
    /// The address of a recipient. `None`: it is not set.
    target: fn(&Channel) -> Option<&String>,
    send: fn(&str, &StoredNotice) -> Available,
}

const WAYS: [Way; 2] = [
    Way { name: "webhook", target: |channel| channel.webhook.as_ref(), send: to_webhook },
    Way { name: "command", target: |channel| channel.command.as_ref(), send: to_command },
];

impl Way {
    /// Whether any recipient has it.
    fn is_set(&self, channels: &Channels) -> bool {
        channels.values().any(|channel| (self.target)(channel).is_some())
    }
}

fn to_command(command: &str, notice: &StoredNotice) -> Available {
    let body = serde_json::to_vec(notice).map_err(Unavailable::new)?;
    let mut child = Command::new("sh")
        .arg("-c")
        .arg(command)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("`{command}` could not be started: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read its input is judged by its exit status.
        std::thread::spawn(move || drop(stdin.write_all(&body)));
    }
    let until = Instant::now() + TIMEOUT;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("`{command}` ended with {status}").into()),
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(10)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("`{command}` did not end within {} s", TIMEOUT.as_secs()).into());
            }
            Err(error) => return Err(Unavailable::new(error)),
        }
    }
}

fn to_webhook(address: &str, notice: &StoredNotice) -> Available {
    let body = serde_json::to_string(notice).map_err(Unavailable::new)?;
    match post(address, &body, TIMEOUT)? {
        200..=299 => Ok(()),
        status => Err(format!("the webhook answered {status}").into()),
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
