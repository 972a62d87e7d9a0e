//! The contract of all stores, tested with the store in memory, in SQLite and in PostgreSQL.

mod approvals;
mod instances;
mod log;
mod notices;
mod sessions;
pub(crate) mod shared;

#[cfg(feature = "postgres")]
use crate::postgres_server;

macro_rules! contract {
    ($($module:ident::$name:ident)*) => {
        mod memory {
            $(#[test] fn $name() { super::$module::$name(&midrail_store::MemoryStore::new().unwrap()); })*
        }
        mod sqlite {
            $(#[test] fn $name() {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("new/store.db");
                super::$module::$name(&midrail_store::SqliteStore::open(path).unwrap());
            })*
        }
        mod sqlite_with_readers {
            $(#[test] fn $name() {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("new/store.db");
                super::$module::$name(&midrail_store::SqliteStore::open_with_readers(path, 2).unwrap());
            })*
        }
        #[cfg(feature = "postgres")]
        mod postgres {
            $(#[test] fn $name() {
                if let Some(store) = super::postgres_store(stringify!($name)) {
                    super::$module::$name(&store);
                }
            })*
        }
    };
}

/// A project of its own for a test, all in one database.
#[cfg(feature = "postgres")]
fn postgres_store(name: &str) -> Option<midrail_store::PostgresStore> {
    use midrail_store::{PostgresOptions, PostgresStore};
    static STORE: std::sync::OnceLock<PostgresStore> = std::sync::OnceLock::new();
    let url = postgres_server::url()?;
    let store = STORE.get_or_init(|| PostgresStore::connect(&PostgresOptions::new(url)).unwrap());
    Some(store.project(&postgres_server::unique(name)))
}

contract! {
    instances::instance_with_another_policy_does_not_join
    instances::instance_that_is_not_renewed_is_gone
    instances::of_instances_that_start_together_one_policy_wins
    sessions::empty_store_has_nothing
    sessions::slices_come_back_in_the_order_of_the_keys
    sessions::version_of_a_slice_that_comes_back_is_new
    sessions::stale_read_is_a_conflict_and_writes_nothing
    sessions::of_many_commits_each_succeeds_or_fails_for_itself
    sessions::slice_that_appeared_is_a_conflict
    sessions::prefix_loads_its_slices_alone
    sessions::restore_replaces_the_whole_session
    sessions::threads_lose_no_update
    sessions::sessions_are_listed_by_last_activity
    sessions::sessions_are_found_by_name_and_come_in_pages
    sessions::of_two_deciders_one_wins
    sessions::approvals_are_listed_by_state_and_session
    sessions::policies_are_kept_as_first_saved
    log::filters_find_their_records
    log::pages_go_through_the_log_both_ways
    log::records_come_back_as_written
    log::checkpoints_are_signed_and_the_log_verifies
    log::head_that_was_noted_down_must_be_there
    log::keys_that_are_trusted_must_have_signed
    log::export_verifies_by_itself
    log::filtered_export_verifies_and_shows_no_other_content
    log::export_for_a_reader_withholds_the_rest
    sessions::keys_stay_the_same
    shared::shared_slices_are_every_sessions
    shared::shared_prefix_reads_them_and_no_other_does
    shared::restore_leaves_shared_slices_alone
    shared::shared_slices_make_no_session
    shared::shared_keys_are_listed_from_one_to_another
    shared::conflicts_reach_across_sessions
    shared::of_two_sessions_one_takes_the_lock
    approvals::approvals_come_back_with_all_that_is_known
    approvals::approvals_are_found_by_what_they_are
    approvals::approvals_are_counted_by_outcome
    approvals::decided_approval_never_goes_back
    approvals::approval_is_taken_back_or_used
    approvals::review_is_filed_once
    approvals::approver_is_known_by_the_key
    approvals::name_is_free_again_after_it_was_revoked
    notices::notices_come_with_their_record
    notices::notice_waits_until_its_channel_has_delivered_it
    notices::alert_cools_down
    notices::one_thread_of_many_raises_an_alert
    notices::figures_count_what_guardrails_said
    notices::verdict_in_shadow_mode_triggers_nothing
    notices::figures_are_saved_and_go_forward_only
    notices::readers_and_writers_count_alike
    notices::window_counts_actions_that_were_stopped
    notices::counters_add_up
}
