//! The contract suite: what every backend must do, as plain async functions that panic with what went wrong.
//!
//! A backend calls [`contract_tests!`](crate::contract_tests) in its integration tests with the path of an async
//! function that opens a fresh, empty database, and gets one test per case. What that function returns must have
//! a method `store(&self) -> Arc<dyn Store>`; it is dropped at the end of the case, and may then clear up.

pub mod agents;
pub mod approvals;
pub mod audit;
pub mod box_holders;
pub mod chat;
pub mod delegations;
pub mod deliveries;
pub mod events;
pub mod invitations;
pub mod leases;
pub mod made_with;
pub mod memory;
pub mod orgs;
pub mod positions;
pub mod push_configs;
pub mod registrations;
pub mod repeats;
pub mod request_heads;
mod samples;
pub mod schedules;
pub mod secrets;
pub mod session_keys;
pub mod session_leases;
pub mod session_messages;
pub mod session_results;
mod session_samples;
pub mod session_steps;
pub mod session_stream;
pub mod sessions;
pub mod spending;
pub mod tasks;
pub mod templates;
pub mod tokens;
pub mod tool_rules;
pub mod transactions;
pub mod users;
pub mod vitals;
pub mod webhooks;
pub mod workspaces;

/// Makes one `#[tokio::test]` for each case of the suite, in one module per noun.
#[macro_export]
macro_rules! contract_tests {
    ($open:path) => {
        $crate::contract_tests! { @modules $open;
            workspaces {
                every_status_comes_back_as_it_was_written
                every_field_comes_back_as_it_was_written
                a_change_writes_what_differs_and_nothing_else
                absence_is_none
                an_id_is_taken_once
                an_unknown_parent_is_refused
                lists_come_in_order_and_in_pages
                filters_narrow_and_removed_rows_are_hidden
                removed_rows_do_not_count
                a_name_is_borne_by_one_living_workspace_of_an_org
                of_many_who_ask_for_a_name_at_once_one_gets_it
                a_stale_version_conflicts_and_writes_nothing
                parallel_increments_are_all_counted
                removed_is_terminal
                a_removed_workspace_can_still_be_written
                what_one_engine_could_not_keep_is_refused
                living_ids_come_in_order_and_without_the_removed
                only_a_removed_workspace_is_erased_and_its_tokens_with_it
            }
            vitals {
                reports_come_back_as_they_were_written_and_touch_no_version
                reports_of_unknown_workspaces_and_odd_values_are_refused
                reports_of_many_are_read_at_once
                what_is_due_is_found_the_longest_overdue_first
            }
            registrations {
                the_last_registration_is_kept
            }
            events {
                every_kind_comes_back_as_it_was_written
                numbers_begin_at_one_and_rollbacks_leave_no_gap
                numbers_have_no_gap_under_concurrent_writers_and_rollbacks
                a_reader_that_follows_misses_nothing
                events_of_one_transaction_keep_their_order
                filters_hide_what_belongs_to_others
                pages_lead_to_the_end_of_the_log
                the_signal_moves_after_the_commit_and_not_before
                unicode_and_large_data_come_back_as_they_were_written
                old_events_are_cleared_from_the_front_and_numbers_go_on
            }
            tokens {
                every_field_and_kind_comes_back_as_it_was_written
                a_token_is_found_by_its_hash_only
                a_hash_is_stored_once
                a_token_of_an_unknown_workspace_is_refused
                a_token_is_revoked_once
                a_token_is_used_up_by_one_of_many
                last_use_only_moves_forward
                ended_and_passing_tokens_do_not_count
                lists_are_filtered_and_come_in_pages
                the_last_use_of_each_owner_is_told_by_org
                tokens_that_ended_long_ago_are_cleared
                a_runtimes_tokens_end_together_and_others_stay
            }
            spending {
                spending_adds_up_by_workspace_and_month
                reservations_are_settled_and_the_sum_never_goes_below_zero
            }
            leases {
                a_lease_is_taken_once_of_many
                an_expired_lease_is_taken_over_with_a_larger_fence
                an_old_fence_is_refused
                the_same_owner_keeps_the_fence
                a_lease_ends_at_the_very_moment_it_expires
                a_released_lease_is_free_and_its_fence_still_grows
                a_lost_lease_rolls_back_the_write_it_guards
            }
            secrets {
                every_field_comes_back_as_it_was_written
                an_owner_has_a_name_once
                a_secret_of_an_unknown_workspace_is_refused
                a_stale_version_or_key_conflicts_and_writes_nothing
                lists_are_per_owner_by_name_and_in_pages
                a_workspace_gets_its_own_and_its_orgs_and_nobody_elses
                a_secret_is_removed_once_and_a_workspaces_all_together
                what_another_key_sealed_is_found_in_pages_and_counted
                a_change_raises_the_generation_of_those_it_reaches
                whether_a_workspace_is_behind_of_secrets_alone_stands_in_its_row
            }
            audit {
                every_field_comes_back_as_it_was_written_and_hashed
                entries_are_written_with_the_change_or_not_at_all
                concurrent_writers_and_rollbacks_keep_the_chain_whole
                filters_narrow_and_pages_lead_to_the_end
            }
            templates {
                a_template_comes_back_as_it_was_written
                a_template_is_written_only_at_the_version_it_was_read
                templates_are_listed_by_name_in_pages_and_per_org
                the_longest_provision_timeout_of_a_runtime_holds
            }
            positions {
                positions_are_kept_per_principal_and_go_with_their_workspace
            }
            tasks {
                a_task_comes_back_as_it_was_written_in_every_state
                tasks_are_listed_by_their_last_change_without_a_gap
                tasks_are_listed_youngest_first_and_filtered
                what_has_ended_goes_after_its_time_and_with_its_workspace
            }
            deliveries {
                the_queue_goes_by_priority_then_turn_then_age
                a_position_counts_those_before_it
                a_claim_is_written_once_and_an_old_attempt_is_refused
                a_delivery_ends_once_whatever_a_program_believes
                a_locked_queue_is_claimed_by_one_at_a_time
                lanes_with_work_are_found_by_their_order
                what_is_due_is_found_the_longest_overdue_first_and_lists_are_in_pages
            }
            repeats {
                a_key_is_taken_once_per_sender_and_forgotten_after_its_time
            }
            delegations {
                a_delegation_moves_only_from_the_state_it_was_read_in
            }
            chat {
                a_conversation_and_its_messages_come_back_as_they_were_written
                a_conversation_is_written_only_at_the_version_it_was_read
                a_held_conversation_numbers_its_messages_without_a_gap
                messages_are_read_from_either_end_in_pages
                conversations_are_listed_youngest_first_and_counted
                messages_are_found_by_their_words
                a_conversation_goes_with_its_messages_and_with_its_workspace
                what_was_said_long_ago_is_cleared_with_conversations_in_which_nothing_is_left
                a_notices_key_is_per_workspace_written_over_and_forgotten_after_its_time
            }
            push_configs {
                a_push_config_comes_back_as_it_was_written_and_is_replaced_by_its_id
                a_call_is_owed_while_the_task_is_newer_than_what_was_told
                a_call_is_taken_up_by_one_of_many
                what_is_sealed_is_found_in_pages_and_replaced_once
            }
            webhooks {
                webhooks_and_channels_come_back_as_they_were_written
                an_event_is_owed_to_a_webhook_once
                a_call_is_claimed_once_and_ends_once
                what_is_due_is_found_by_webhook_and_not_for_stopped_ones
                they_go_with_what_they_belong_to
            }
            schedules {
                every_field_comes_back_as_it_was_written
                a_schedule_is_written_only_at_the_version_it_was_read
                lists_are_filtered_and_come_in_pages
                what_is_due_is_found_the_longest_overdue_first
                a_slot_is_claimed_by_one_of_many
                a_run_is_written_once_per_state_and_attempt
                unfinished_and_waiting_runs_are_found_again
                a_schedule_is_postponed_at_its_version_and_nothing_else_of_it_changes
                runs_go_with_their_schedule_and_old_ones_are_cleared
            }
            memory {
                every_field_comes_back_as_it_was_written
                a_memory_is_written_only_at_the_version_it_was_read
                all_words_must_begin_a_word_in_a_place_that_is_asked_for
                what_has_expired_is_not_shown_and_then_cleared
                memories_end_with_their_workspace_and_the_orgs_stay
            }
            approvals {
                a_question_comes_back_as_it_was_written_and_with_its_answer
                of_many_that_decide_one_does
                a_question_about_a_call_comes_back_with_what_it_is_about
                questions_are_listed_newest_first_and_late_ones_are_found
                what_was_decided_goes_after_its_time_and_all_with_the_workspace
            }
            agents {
                a_name_stands_for_what_was_stored_last_and_every_version_stays
                agents_are_listed_by_name_each_once
            }
            sessions {
                a_session_comes_back_as_it_was_written_in_every_phase
                a_name_is_taken_once_in_an_org
                an_update_writes_what_differs_at_its_version_and_leaves_the_lease
                those_who_hold_a_session_write_one_after_the_other
                sessions_are_listed_newest_first_filtered_and_in_pages
                a_session_goes_with_all_its_rows_but_not_before_those_that_show_its_steps
                a_branch_stays_in_its_workspace
                sessions_go_with_their_workspace
            }
            session_leases {
                a_session_is_claimed_by_one_of_many
                only_an_active_session_without_a_live_lease_is_claimed
                an_owner_who_was_taken_over_cannot_write_or_renew
                leases_that_are_ended_can_be_claimed_at_once
                pieces_are_numbered_by_the_owner_of_an_open_step
                a_takeover_and_a_guarded_write_do_not_pass_each_other
                what_is_due_is_found_the_longest_waiting_first
            }
            session_steps {
                a_step_and_its_calls_come_back_as_they_were_written
                a_call_gets_one_outcome_and_a_closed_step_does_not_change
                a_calls_name_is_used_once_in_a_session
                a_lineage_is_read_in_its_order_over_sessions
            }
            session_messages {
                a_message_is_delivered_or_dropped_once
                messages_are_found_queued_by_ids_and_in_pages
            }
            session_stream {
                a_stream_is_read_on_from_any_sequence
                the_pieces_of_closed_steps_go_and_nothing_else
                old_entries_are_cleared_and_open_pieces_stay
            }
            session_results {
                any_part_of_a_result_is_read
                a_result_that_is_too_long_never_reaches_the_database
                results_of_old_sessions_and_removed_workspaces_are_cleared
            }
            request_heads {
                the_same_head_is_kept_once_and_found_in_its_org
            }
            session_keys {
                a_session_key_is_taken_once_and_forgotten_after_its_time
            }
            tool_rules {
                the_rules_in_force_come_from_the_narrowest_scope_to_the_widest
                rules_are_listed_newest_first_and_go_with_what_they_are_for
            }
            made_with {
                what_was_made_is_found_by_its_token_until_nothing_is_left_of_it
                what_somebody_made_in_an_org_is_found_whatever_their_token_was
            }
            users {
                the_person_who_started_this_warren_is_there_from_the_beginning
                every_field_comes_back_and_a_name_is_taken_once_until_its_owner_is_removed
                looks_are_taken_by_one_of_many
                a_providers_person_is_one_users
                a_token_is_found_with_its_holder_as_they_stand_now
            }
            orgs {
                orgs_come_back_as_they_were_written_and_in_pages
                members_are_listed_counted_and_kept_when_they_leave
                spending_and_running_sessions_are_counted_by_org
                who_holds_an_org_counts_its_people_right
            }
            invitations {
                an_invitation_is_used_by_one_of_many
                invitations_are_listed_by_org_and_cleared_when_old
            }
            box_holders {
                a_box_has_one_holder_and_a_late_claim_is_refused
                replicas_are_known_by_name_until_they_leave_or_are_forgotten
            }
            transactions {
                an_error_leaves_nothing_behind
                a_transaction_sees_its_own_writes_and_others_do_not
                a_read_is_one_consistent_snapshot
                a_refused_statement_dooms_its_transaction
                a_conflict_can_be_got_over
                a_panic_is_the_callers_own
                one_failure_does_not_touch_its_neighbours
                health_tells_engine_schema_and_durability
                closing_finishes_what_was_accepted_and_refuses_the_rest
            }
        }
    };
    (@modules $open:path; $($noun:ident { $($case:ident)* })*) => {
        $(mod $noun {
            use super::*;

            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let database = $open().await;
                $crate::contract::$noun::$case(database.store()).await;
            })*
        })*
    };
}

#[cfg(test)]
mod tests {
    /// A case that is written but not listed would never run.
    #[test]
    fn every_case_is_listed() {
        let list = include_str!("mod.rs");
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/contract");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let sources: Vec<_> = files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
        let mut count = 0;
        for line in sources.iter().flat_map(|source| source.lines()) {
            if let Some(rest) = line.strip_prefix("pub async fn ") {
                let name = rest.split('(').next().unwrap();
                let is_listed = list.lines().any(|line| line.trim() == name);
                assert!(is_listed, "{name} is not in contract_tests!");
                count += 1;
            }
        }
        assert!(count > 40, "found {count} cases");
    }
}
