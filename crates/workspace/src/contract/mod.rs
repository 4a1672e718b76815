//! The contract suite (W7): what every provider must do, as cases that anyone can run against theirs.
//!
//! Implement [`Harness`] for your provider and name the groups of cases for the capabilities it offers. Each case becomes
//! a `#[test]` of its own:
//!
//! ```text
//! use warren_workspace::contract::Harness;
//!
//! struct Mine { directory: tempfile::TempDir }
//!
//! impl Harness for Mine {
//!     fn provider(&self) -> std::sync::Arc<dyn warren_workspace::Provider> { /* a new provider over `directory` */ }
//!     fn config(&self) -> warren_model::ProviderConfig { /* max_file_mb: 2, max_grep_file_mb: 1, … */ }
//!     fn is_durable(&self) -> bool { true }
//! }
//!
//! warren_workspace::contract_tests!(Mine { directory: tempfile::tempdir().unwrap() }, [provider, fs, shell]);
//! ```
//!
//! The groups are `provider` (every provider), `fs` and `shell`. The harness is made anew for each case.

#![expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "cases are assertions: a panic is how they fail"
)]

pub mod fs;
mod listing;
pub mod provider;
pub mod shell;

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use warren_doors::{Clock, Entropy, OsEntropy, SystemClock};
use warren_model::{CapabilitySet, ErrorCode, ProviderConfig, WorkspaceId};

use crate::fs::{ByteRange, ByteStream, Fs, WriteMode, Written};
use crate::{Error, OpenRequest, Opened, Provider, Workspace, WorkspacePath};

/// How the suite gets at a provider.
pub trait Harness: Send + Sync {
    /// A provider over this harness's own storage. Called twice in one case, it stands for a restarted process.
    fn provider(&self) -> Arc<dyn Provider>;

    /// A config the provider takes, with `max_grep_file_mb` below `max_file_mb`, and at least 30 s per command.
    fn config(&self) -> ProviderConfig;

    /// Whether files outlive the process.
    fn is_durable(&self) -> bool;
}

/// Runs one case. Used by [`contract_tests!`](crate::contract_tests).
pub fn block_on(case: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(case);
}

/// Makes a test of each case of the named groups. To be called once in a module of its own, whose name tells the tests
/// of two providers apart.
#[macro_export]
macro_rules! contract_tests {
    ($harness:expr, [$($group:ident),+ $(,)?]) => {
        $( $crate::contract_tests!(@group $group, $harness); )+
    };
    (@group provider, $harness:expr) => {
        $crate::contract_tests!(@cases provider, $harness, [
            modules_are_exactly_the_declared_capabilities,
            an_undeclared_offer_is_a_permanent_failure_that_names_both,
            a_ref_resolves_to_the_same_files_while_the_process_lives,
            a_ref_of_another_process_resolves_only_if_files_are_durable,
            refs_of_other_versions_and_providers_are_refused_for_good,
            payloads_are_strict,
            a_config_of_another_kind_is_refused,
            workspaces_do_not_see_each_other,
            destroy_is_final_and_idempotent,
            reaping_never_touches_an_open_or_live_workspace,
            a_closed_workspace_answers_evicted_and_closes_again,
            limits_are_told_as_an_object,
        ]);
    };
    (@group fs, $harness:expr) => {
        $crate::contract_tests!(@cases fs, $harness, [
            what_is_written_is_read_back_whole_and_in_ranges,
            a_write_makes_parents_and_says_whether_it_created,
            create_new_refuses_what_is_there,
            append_creates_and_extends,
            a_failed_write_leaves_the_old_contents,
            a_file_over_the_limit_is_refused_while_it_streams,
            a_file_with_a_limit_of_its_own_is_held_to_that_one,
            readers_never_see_half_a_write,
            an_edit_must_match_once,
            concurrent_edits_are_not_lost,
            missing_things_and_wrong_kinds_have_their_codes,
            directories_are_made_with_parents_and_again,
            removal_needs_recursive_for_what_is_not_empty,
            the_root_is_protected,
            moves_keep_contents_and_refuse_to_overwrite,
            copies_are_independent_and_deep,
            nothing_moves_or_copies_into_itself,
            listings_are_sorted_by_bytes_at_any_depth,
            pages_of_a_listing_join_without_gap_or_repeat,
            odd_names_round_trip,
            globs_find_files_and_stay_within_the_limit,
            grep_finds_lines_with_context_and_filters,
            grep_stops_at_its_limit_and_lists_what_it_skipped,
            ignore_files_count_only_on_request,
            bad_patterns_are_refused,
            changes_are_told_to_watchers,
        ]);
    };
    (@group shell, $harness:expr) => {
        $crate::contract_tests!(@cases shell, $harness, [
            a_command_tells_its_output_and_exit_code,
            a_signal_is_told_apart_from_an_exit_code,
            input_environment_and_directory_reach_the_command,
            the_environment_holds_nothing_of_the_host,
            reserved_variables_are_refused,
            commands_without_sense_are_refused,
            a_missing_program_is_named,
            long_output_keeps_head_and_tail,
            the_whole_output_is_spilled_on_request,
            a_spill_does_not_cut_short_whoever_reads_the_old_file,
            a_timeout_ends_the_command,
            a_stream_tells_output_and_then_one_end,
            a_dropped_stream_ends_its_command,
            a_background_process_is_polled_by_offset,
            output_and_errors_of_a_process_keep_their_order,
            a_background_process_takes_input,
            a_terminal_is_a_terminal,
            a_killed_process_tells_its_signal,
            unknown_processes_are_not_found,
            closing_ends_background_processes,
            closing_ends_commands_that_somebody_waits_for,
        ]);
    };
    (@cases $group:ident, $harness:expr, [$($case:ident),+ $(,)?]) => {
        $(
            #[test]
            fn $case() {
                let harness = $harness;
                $crate::contract::block_on($crate::contract::$group::$case(&harness));
            }
        )+
    };
}

/// A workspace of the harness's provider with everything that it offers.
pub(crate) async fn open(harness: &dyn Harness) -> Opened {
    let provider = harness.provider();
    let declared = provider.capabilities();
    open_with(harness, provider.as_ref(), new_id(), declared).await.unwrap()
}

pub(crate) async fn open_with(
    harness: &dyn Harness,
    provider: &dyn Provider,
    workspace_id: WorkspaceId,
    declared: CapabilitySet,
) -> Result<Opened, Error> {
    provider.open(OpenRequest { workspace_id, config: harness.config(), declared }).await
}

pub(crate) fn new_id() -> WorkspaceId {
    (&OsEntropy as &dyn Entropy).id(SystemClock.now())
}

pub(crate) fn files(workspace: &Arc<dyn Workspace>) -> &dyn Fs {
    workspace.fs().expect("the provider offers fs")
}

pub(crate) fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

pub(crate) fn contents(text: impl AsRef<[u8]>) -> ByteStream {
    let bytes = Bytes::copy_from_slice(text.as_ref());
    stream::iter([Ok(bytes)]).boxed()
}

pub(crate) async fn put(fs: &dyn Fs, at: &str, text: impl AsRef<[u8]>) -> Written {
    fs.write(&path(at), contents(text), WriteMode::Replace).await.unwrap()
}

pub(crate) async fn get(fs: &dyn Fs, at: &str) -> Result<Vec<u8>, Error> {
    get_range(fs, at, ByteRange::default()).await
}

pub(crate) async fn get_range(fs: &dyn Fs, at: &str, range: ByteRange) -> Result<Vec<u8>, Error> {
    let mut stream = fs.read(&path(at), range).await?.stream;
    let mut all = Vec::new();
    while let Some(piece) = stream.next().await {
        all.extend_from_slice(&piece?);
    }
    Ok(all)
}

#[track_caller]
pub(crate) fn assert_code<T: std::fmt::Debug>(result: Result<T, Error>, code: ErrorCode) {
    let error = result.expect_err("an error was expected");
    assert_eq!(error.code(), code, "{error}");
}
