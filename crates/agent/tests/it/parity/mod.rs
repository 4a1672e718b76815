//! Every scenario on every store (A5, Q5). The names of the tests are the matrix: `sqlite::x`, `postgres::x`.

mod deciding;
mod limits;
mod people;
mod recovery;
mod repeats;
mod replicas;
mod running;
mod upkeep;

/// Makes two tests of each scenario, one for each store.
macro_rules! scenarios {
    ($($module:ident::$name:ident,)*) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$module::$name(crate::bed::Engine::Sqlite).await;
            })*
        }

        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$module::$name(crate::bed::Engine::Postgres).await;
            })*
        }
    };
}

scenarios! {
    running::a_message_is_answered_and_the_session_rests,
    running::tools_are_called_and_their_results_shown,
    running::arguments_and_tools_that_are_wrong_are_told_to_the_model,
    running::arguments_are_checked_against_the_tools_schema,
    running::a_last_answer_that_does_not_fit_is_asked_for_again_and_then_fails,
    running::output_of_a_running_command_is_shown_and_one_that_hangs_is_killed,
    running::what_is_old_is_removed_from_streams,
    running::pieces_of_an_answer_go_and_are_read_as_they_were,
    running::a_long_result_is_kept_and_read_on,
    running::parallel_changes_of_the_state_all_count,
    running::a_spent_limit_waits_for_a_person,
    running::a_circle_is_noticed,
    running::a_model_that_stumbles_is_asked_again,
    running::another_model_answers_where_the_first_does_not,
    running::a_stream_resumes_from_any_entry_without_gap_or_repeat,
    running::a_branch_and_a_way_back_share_the_steps_before,
    limits::the_same_error_again_and_again_is_told_and_then_waits_for_a_person,
    limits::steps_that_bring_nothing_new_are_noticed_and_new_results_are_not,
    limits::no_more_calls_run_at_once_than_the_cap_and_all_are_done,
    limits::calls_that_need_the_same_file_never_run_beside_each_other,
    limits::models_use_up_the_months_budget_and_go_on_when_it_is_raised,
    limits::an_org_has_no_more_sessions_at_work_than_it_may,
    people::an_approval_is_waited_for_and_used_once,
    people::a_denied_call_is_told_to_the_model,
    people::edited_arguments_are_kept_apart,
    people::a_tool_of_the_caller_is_handed_in_once,
    people::the_user_is_asked_a_question,
    people::an_approval_is_remembered_until_the_rule_is_revoked,
    people::what_a_rule_denies_nobody_allows,
    people::an_answer_has_to_fit_the_schema_of_its_question,
    people::a_message_while_busy_does_what_it_says,
    people::an_interrupted_run_can_be_resumed_and_an_aborted_one_has_failed,
    people::the_same_key_is_the_same_message,
    deciding::an_approval_that_nobody_gives_expires_and_the_model_is_told,
    deciding::a_decision_after_an_abort_changes_nothing,
    deciding::an_approval_counts_for_its_own_session_only,
    deciding::of_two_decisions_at_once_one_counts,
    deciding::a_new_version_of_the_agent_leaves_the_question_as_it_was,
    deciding::a_result_of_the_caller_may_have_a_megabyte_and_is_read_on,
    replicas::an_interrupt_cuts_what_runs_when_its_deadline_has_come,
    replicas::a_stop_at_another_process_reaches_the_one_that_works,
    replicas::a_message_at_another_process_reaches_the_one_that_works,
    replicas::a_reader_at_another_process_misses_nothing,
    upkeep::long_results_go_when_their_session_is_old_or_its_workspace_is_removed,
    upkeep::who_follows_a_session_is_told_that_it_went_back,
    upkeep::a_session_that_waits_ends_with_a_workspace_that_went_while_nobody_looked,
    upkeep::a_blank_message_is_refused,
    upkeep::an_old_step_shows_the_tools_as_they_were_offered_then,
    upkeep::a_decision_that_nobody_heard_of_is_found,
    recovery::a_crash_in_the_middle_of_an_answer_repeats_nothing_that_was_done,
    recovery::a_crash_in_the_middle_of_a_call_tells_that_its_end_is_unknown,
    recovery::a_suspended_session_outlives_a_crash_and_holds_nothing,
    recovery::a_frozen_owner_is_taken_over_and_cannot_write_late,
    recovery::a_process_that_is_alone_takes_sessions_up_at_once,
    repeats::the_same_decision_with_a_key_is_answered_the_same,
    repeats::the_same_result_and_the_same_stop_with_a_key_are_answered_the_same,
    repeats::an_upgrade_tells_what_changes_and_a_tool_that_is_gone_is_told_to_the_model,
    repeats::what_a_model_was_shown_is_shared_out_and_holds_no_secret,
}
