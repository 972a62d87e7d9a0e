//! The partitions of the audit log: one per month, created before the first record of the month.

use std::collections::BTreeSet;

use deadpool_postgres::Object;
use jiff::Timestamp;
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;
use parking_lot::Mutex;
use tokio_postgres::Error;

use crate::postgres::migrate::{EXISTS, TABLE_LOCK};

/// The months that have a partition, as far as this process knows.
#[derive(Default)]
pub(super) struct Months(Mutex<BTreeSet<Date>>);

/// Records before the first and after the last of these years share one partition: their clocks are wrong.
const YEARS: std::ops::RangeInclusive<i16> = 2020..=2099;

impl Months {
    /// The months of these times whose partitions are not known to exist.
    pub(super) fn missing(&self, times: impl Iterator<Item = Timestamp>) -> BTreeSet<Date> {
        let known = self.0.lock();
        times.filter_map(first_of_month).filter(|month| !known.contains(month)).collect()
    }

    /// Notes that a month has a partition.
    pub(super) fn add(&self, month: Date) {
        self.0.lock().insert(month);
    }
}

/// Creates the partitions of a month and of the next one, unless they exist.
pub(super) async fn create(client: &mut Object, month: Date) -> Result<(), Error> {
    let transaction = client.transaction().await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&TABLE_LOCK]).await?;
    for month in std::iter::once(month).chain(next(month).filter(|next| YEARS.contains(&next.year()))) {
        let name = format!("audit_{:04}_{:02}", month.year(), month.month());
        if transaction.query_one(EXISTS, &[&name]).await?.try_get(0)? {
            continue;
        }
        // Attaching a table does not block readers and writers, and creating it in place would.
        let (from, to) = (micros(month), next(month).map_or(i64::MAX, micros));
        let create = format!(
            "CREATE TABLE {name} (LIKE audit INCLUDING ALL);
             ALTER TABLE audit ATTACH PARTITION {name} FOR VALUES FROM ({from}) TO ({to})"
        );
        transaction.batch_execute(&create).await?;
    }
    transaction.commit().await
}

fn first_of_month(time: Timestamp) -> Option<Date> {
    let day = time.to_zoned(TimeZone::UTC).date();
    YEARS.contains(&day.year()).then(|| day.first_of_month())
}

fn next(month: Date) -> Option<Date> {
    month.last_of_month().tomorrow().ok()
}

fn micros(month: Date) -> i64 {
    let start = month.to_zoned(TimeZone::UTC).map(|zoned| zoned.timestamp());
    start.map_or_else(|_| micros(date(2020, 1, 1)), Timestamp::as_microsecond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_follow_each_other() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let month = first_of_month(at("2026-12-31T23:59:59.999999Z")).unwrap();
        assert_eq!((month, next(month)), (date(2026, 12, 1), Some(date(2027, 1, 1))));
        assert_eq!(micros(next(month).unwrap()), at("2027-01-01T00:00:00Z").as_microsecond());
        assert_eq!(next(date(2026, 1, 1)), Some(date(2026, 2, 1)));
        for off in [Timestamp::MIN, Timestamp::MAX, at("2019-12-31T23:59:59Z"), at("2100-01-01T00:00:00Z")] {
            assert_eq!(first_of_month(off), None);
        }
    }
}
