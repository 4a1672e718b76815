//! What happens inside of a workspace: which commands may run, how far a provider is trusted, and the states of the
//! registry that opens and closes boxes.

pub mod capabilities;
pub mod ceilings;
pub mod command_policy;
pub mod config_change;
pub mod default_provider;
pub mod disk;
pub mod doors;
pub mod image_registries;
pub mod refusals;
pub mod registry;
pub mod tier;
