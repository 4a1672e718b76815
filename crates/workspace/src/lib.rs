//! What a provider must promise: capability modules, the registry that keeps workspaces open, the tools an LLM
//! gets with their guards, and the contract suite that any provider can be held against.

pub mod contract;
mod error;
pub mod fs;
mod image_pulls;
mod metrics;
mod path;
mod provider;
mod refusal_log;
pub mod registry;
mod secret_variables;
pub mod shell;
pub mod tools;

pub use error::Error;
pub use image_pulls::{ListedRegistries, PullGate, RegistryLogin, not_listed};
pub use metrics::{NoMetrics, RegistryMetrics};
pub use path::WorkspacePath;
pub use provider::{OpenRequest, Opened, Presence, Provider, ReapReport, Workspace};
pub use refusal_log::{RefusalLog, RefusalRecord, RefusalSink, TracingRefusals};
pub use registry::Registry;
pub use secret_variables::{GuardedShell, OnStart, SecretVariables};

/// What a policy for commands says to whoever writes it.
pub use warren_rules::boxes::command_policy::{is_boxed, warning as run_warning};
/// What whoever names a provider is told.
pub use warren_rules::boxes::default_provider::warning as provider_warning;
/// What a workspace may hold of a disk.
pub use warren_rules::boxes::disk::{AllSeen, DiskLimit, DiskUse, Excess, FreeSpace, judge as judge_disk};
/// Where images may be pulled from.
pub use warren_rules::boxes::image_registries::{AllowedRegistries, Listing, parse_registry, plain_registry};
