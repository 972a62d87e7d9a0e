//! Figures of pages. A page never reads the whole log.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use std::thread;

use jiff::{SignedDuration, Timestamp};
use midrail::store::AuditStats;
use parking_lot::Mutex;

use crate::problem::HandlerResult;
use crate::project::Project;
use crate::timeline::Timeline;

/// The most records that are counted while a page is rendered. More are counted in the background.
const MAX_INLINE: u64 = 2_000;

/// The projects whose records are being counted.
static COUNTING: LazyLock<Mutex<BTreeSet<String>>> = LazyLock::new(Mutex::default);

/// A period of the overview.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    /// Its name in addresses.
    pub(crate) word: &'static str,
    /// Its name on the page.
    pub(crate) name: &'static str,
    /// Its length.
    pub(crate) back: SignedDuration,
    /// Bars of its chart.
    pub(crate) parts: usize,
}

/// All periods, the shortest first.
pub(crate) const RANGES: [Range; 3] = [
    Range { word: "1h", name: "1 hour", back: SignedDuration::from_hours(1), parts: 60 },
    Range { word: "24h", name: "24 hours", back: SignedDuration::from_hours(24), parts: 48 },
    Range { word: "7d", name: "7 days", back: SignedDuration::from_hours(7 * 24), parts: 56 },
];

/// The period with a name, or the default one.
pub(crate) fn range(word: Option<&str>) -> Range {
    let [_, usual, _] = RANGES;
    RANGES.into_iter().find(|range| Some(range.word) == word).unwrap_or(usual)
}

/// Decisions in a range up to now.
pub(crate) fn timeline(project: &Project, range: Range) -> HandlerResult<Timeline> {
    // A moment later, to include the latest decisions.
    let until = project.engine().now().checked_add(SignedDuration::from_millis(1)).unwrap_or(Timestamp::MAX);
    let since = until.checked_sub(range.back).unwrap_or(Timestamp::MIN);
    Timeline::load(&**project.store(), since, until, range.parts)
}

/// The figures of the log, and how many records are not counted yet.
pub(crate) fn log_figures(project: &Arc<Project>) -> HandlerResult<(AuditStats, u64)> {
    let store = project.store();
    let head = store.head()?.map_or(0, |head| head.seq);
    let saved = store.saved_stats()?.unwrap_or_default();
    let behind = head.saturating_sub(saved.seq);
    if behind <= MAX_INLINE {
        return Ok((store.audit_stats()?, 0));
    }
    count_in_background(project);
    Ok((saved, behind))
}

/// Counts records on a separate thread, one per project.
fn count_in_background(project: &Arc<Project>) {
    let (project, name) = (project.clone(), project.name().to_owned());
    if !COUNTING.lock().insert(name.clone()) {
        return;
    }
    let work = move || {
        if let Err(error) = project.store().audit_stats() {
            log::warn!(project = project.name(), error:%; "records cannot be counted");
        }
        COUNTING.lock().remove(project.name());
    };
    if let Err(error) = thread::Builder::new().name("midrail-count".to_owned()).spawn(work) {
        log::warn!(error:%; "no thread to count with");
        COUNTING.lock().remove(&name);
    }
}
