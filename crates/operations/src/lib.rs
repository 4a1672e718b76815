//! What is done in a workspace, once for HTTP, MCP, the CLI and agents: one struct per subject, one method per use-case.
//!
//! ```text
//!   who, workspace, request ─▶ access ─▶ budget ─▶ secrets ─▶ registry ─▶ journal ─▶ typed result
//!                              (fleet)   (tools)   (shell)    (open,      (one event
//!                                                              retry)      per deed)
//! ```
//!
//! Every method takes the caller's [`Identity`](warren_service::Identity) and asks the one access rule before anything
//! else. A caller who hangs up drops the method's future: that ends a command, and the [`CommandRecord`] in it writes
//! that the command was abandoned. What must outlive the caller (waiting for the end of a process) runs in a task of
//! its own.
//!
//! Surprises:
//! - Only tool calls count against a budget. A person's own command is not an agent's work.
//! - A command or file operation is repeated after an eviction where that is safe; a write with a body that can be read
//!   once is not.
//!
//! [`CommandRecord`]: journal::CommandRecord

mod access;
mod attachments;
mod bundles;
mod command_lines;
mod commands;
mod files;
mod journal;
mod modules;
mod processes;
mod terminals;
mod tools;

pub use access::{AccessWatch, while_allowed};
pub use attachments::AttachedFile;
pub use bundles::{BundleReport, Bundles, ExportOptions, ImportedFiles};
pub use commands::{CommandEvent, CommandStream, Commands};
pub use files::{FileOrListing, Files, WatchEvent, WatchStream};
pub use processes::{ProcessEvent, ProcessStream, Processes};
pub use terminals::{Terminal, TerminalAccess, TerminalRequest, Terminals};
pub use tools::{CallOptions, PlaceTraits, ToolCatalog, ToolOutcome, ToolRefusal, Tools};
pub use warren_workspace::shell::CommandKey;
pub use warren_workspace::tools::{CommandStart, OutputSink};

use warren_fleet::Fleet;

use command_lines::CommandLines;

/// The operations of one Warren. Cheap to clone; all clones are one.
#[derive(Debug, Clone)]
pub struct Operations {
    pub tools: Tools,
    pub commands: Commands,
    pub processes: Processes,
    pub files: Files,
    pub terminals: Terminals,
    pub bundles: Bundles,
}

impl Operations {
    pub fn new(fleet: Fleet) -> Self {
        let command_lines = CommandLines::default();
        Self {
            tools: Tools::new(fleet.clone(), command_lines.clone()),
            commands: Commands::new(fleet.clone()),
            processes: Processes::new(fleet.clone(), command_lines.clone()),
            files: Files::new(fleet.clone()),
            terminals: Terminals::new(fleet.clone(), command_lines),
            bundles: Bundles::new(fleet),
        }
    }
}
