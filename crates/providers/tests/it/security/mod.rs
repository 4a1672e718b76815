//! The security cases `sec/S01`–`sec/S28`, `sec/B01`–`sec/B15` and those of `sec/T` that need a box, on both providers that
//! isolate.
//!
//! ```text
//!   case      opens boxes of either provider          probe     what a hostile program would try (crates/probe)
//!   oracles   how an attack is judged                  outside   the same attack without the defence: the control
//! ```
//!
//! An attack is judged by what happened, not by its exit code: **A** files outside are unchanged, **B** nothing reached a
//! listener, **C** no process is left, **D** no answer holds a canary. Each case has a control: the same attack with the
//! defence off succeeds. `// sec/S01` stands above a test, `// control: sec/S01` above its control; `cargo xtask security`
//! counts them.

#![expect(clippy::print_stdout, reason = "the figures of an attack are told with its result")]

mod case;
mod oracles;
mod outside;
mod probe;

mod bad_input;
mod calls;
mod containers;
mod disk;
mod endings;
mod files;
mod git;
mod hostile_trees;
mod identity;
mod leaks;
mod limits;
mod neighbours;
mod network;
mod preconditions;
mod runner;
mod secrets;
mod shell_tool;
mod side_doors;
mod supervisor;

/// Makes two tests of an attack, one per provider: `attack::sandbox` and `attack::docker`.
macro_rules! in_each_box {
    ($($attack:ident),+ $(,)?) => {
        $(mod $attack {
            use crate::security::case::Case;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sandbox() {
                super::$attack(Case::sandbox()).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn docker() {
                super::$attack(Case::docker()).await;
            }
        })+
    };
}
use in_each_box;
