//! What every store promises, asked of each of them.
//!
//! A promise is a function over a [`Medium`]; `suite!` makes each a test of each store. A store joins by a medium of its
//! own and one line below.
#![allow(clippy::unwrap_used)]

mod appends;
mod blobs;
mod counters;
mod folds;
mod inboxes;
mod listing;
mod medium;
mod ownership;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "postgres")]
#[path = "../support/postgres.rs"]
#[expect(dead_code, reason = "other tests need more of it")]
mod server;

/// Makes every promise a test of the store whose medium `$medium().await` gives; `None` skips, having said why.
macro_rules! suite {
    ($store:ident, $medium:path) => {
        mod $store {
            suite! { @ $medium, appends:
                what_is_appended_is_read_back,
                an_append_is_all_or_nothing,
                a_writer_that_knows_an_old_head_is_told_the_new_one,
                an_append_needs_a_session,
                records_begin_after_a_place,
                what_was_buffered_stands_before_what_is_durable,
                of_appends_at_one_place_one_is_kept,
                sessions_are_appended_to_side_by_side,
                each_hash_is_the_documented_one,
            }
            suite! { @ $medium, ownership:
                a_session_has_one_owner,
                a_second_open_on_the_same_host_takes_it,
                a_session_given_up_is_free,
                an_old_lease_gives_up_nothing,
                another_program_is_refused,
                sessions_of_a_dead_host_are_free,
                of_many_that_open_one_holds,
                a_lease_on_a_deleted_session_is_worth_nothing,
            }
            suite! { @ $medium, listing:
                a_list_says_what_a_session_is,
                a_title_is_the_first_words,
                the_one_used_last_comes_first,
                a_list_takes_program_limit_and_unfinished,
                a_list_says_who_owns_what,
                a_restored_session_is_the_same,
                a_restored_session_goes_on,
                damaged_records_are_not_restored,
                a_newer_event_is_kept_as_it_is,
                a_branch_has_the_events_and_the_blobs,
                a_deleted_session_is_gone,
                a_session_in_use_elsewhere_is_not_deleted,
            }
            suite! { @ $medium, blobs:
                a_blob_is_named_by_its_digest,
                a_blob_is_given_to_those_that_refer_to_it,
                the_largest_blob_fits_and_a_larger_one_does_not,
                an_old_owner_puts_no_blob,
                deleting_frees_what_nobody_refers_to,
            }
            suite! { @ $medium, inboxes:
                what_is_posted_waits_in_order,
                a_key_is_taken_once,
                any_host_may_post,
                what_is_taken_leaves_with_the_append,
                an_append_that_fails_takes_nothing,
                a_session_takes_only_what_is_its_own,
                an_inbox_is_its_owners,
                what_waits_already_wakes_at_once,
                a_post_wakes_the_owner,
                a_post_of_another_host_wakes_the_owner,
                posting_one_key_at_once_keeps_one,
            }
            suite! { @ $medium, counters:
                a_counter_stops_at_its_most,
                what_is_given_back_fits_again,
                extreme_amounts_are_no_fault,
                many_hosts_never_pass_the_most,
            }
            suite! { @ $medium, folds:
                any_events_come_back_and_fold_alike,
            }
        }
    };
    (@ $medium:path, $module:ident: $($promise:ident,)+) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                if let Some(medium) = $medium().await {
                    crate::$module::$promise(&medium).await;
                }
            }
        )+
    };
}

suite!(memory, crate::medium::memory);
#[cfg(feature = "sqlite")]
suite!(sqlite, crate::medium::sqlite);
#[cfg(feature = "postgres")]
suite!(postgres_store, crate::postgres::postgres);
