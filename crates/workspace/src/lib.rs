//! What a provider must promise: capability modules, the registry that keeps workspaces open, the tools an LLM
//! gets with their guards, and the contract suite that any provider can be held against.

pub mod contract;
mod error;
pub mod fs;
mod metrics;
mod path;
mod provider;
mod refusal_log;
pub mod registry;
mod secret_variables;
pub mod shell;
pub mod tools;

pub use error::Error;
pub use metrics::{NoMetrics, RegistryMetrics};
pub use path::WorkspacePath;
pub use provider::{OpenRequest, Opened, Presence, Provider, ReapReport, Workspace};
pub use refusal_log::{RefusalLog, RefusalRecord, RefusalSink, TracingRefusals};
pub use registry::Registry;
pub use secret_variables::{GuardedShell, OnStart, SecretVariables};
