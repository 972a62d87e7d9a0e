//! The partitions of the audit log: one a month, made before the first record of the month comes.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;
use tokio_postgres::Error;

use crate::postgres::failure::Trouble;
use crate::postgres::family::Family;
use crate::postgres::migrate::{IS_THERE, TABLES};

/// Months that have a partition, as far as this process knows.
#[derive(Default)]
pub(super) struct Months(Mutex<BTreeSet<Date>>);

/// Records from before the first and after the last of these years stand in one partition: their clocks are off.
const YEARS: std::ops::RangeInclusive<i16> = 2020..=2099;

impl Family {
    /// Makes sure that the months of these times have their partitions, and the months after them.
    pub(super) async fn months_for(&self, times: impl Iterator<Item = Timestamp>) -> Result<(), Trouble> {
        let lacking: BTreeSet<Date> = {
            let known = self.months.0.lock().unwrap_or_else(PoisonError::into_inner);
            times.filter_map(first_of_month).filter(|month| !known.contains(month)).collect()
        };
        for month in lacking {
            self.make(month).await?;
            self.months.0.lock().unwrap_or_else(PoisonError::into_inner).insert(month);
        }
        Ok(())
    }

    async fn make(&self, month: Date) -> Result<(), Trouble> {
        let mut client = self.client().await?;
        let next = next(month);
        let work = async {
            let transaction = client.transaction().await?;
            transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&TABLES]).await?;
            for month in std::iter::once(month).chain(next.filter(|next| YEARS.contains(&next.year()))) {
                let name = format!("audit_{:04}_{:02}", month.year(), month.month());
                if transaction.query_one(IS_THERE, &[&name]).await?.try_get(0)? {
                    continue;
                }
                // To attach one leaves readers and writers alone, and to make one in its place would not.
                let (from, to) = (micros(month), self::next(month).map_or(i64::MAX, micros));
                let make = format!(
                    "CREATE TABLE {name} (LIKE audit INCLUDING ALL);
                     ALTER TABLE audit ATTACH PARTITION {name} FOR VALUES FROM ({from}) TO ({to})"
                );
                transaction.batch_execute(&make).await?;
            }
            transaction.commit().await
        };
        self.in_time(work).await?.map_err(|error: Error| Trouble::of(&error))
    }
}

fn first_of_month(time: Timestamp) -> Option<Date> {
    let day = time.to_zoned(TimeZone::UTC).date();
    YEARS.contains(&day.year()).then(|| day.first_of_month())
}

fn next(month: Date) -> Option<Date> {
    let (year, number) =
        if month.month() == 12 { (month.year() + 1, 1) } else { (month.year(), month.month() + 1) };
    Date::new(year, number, 1).ok()
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
