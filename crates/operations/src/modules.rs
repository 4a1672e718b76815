//! The capability modules of an open workspace.

use warren_model::ErrorCode;
use warren_workspace::fs::Fs;
use warren_workspace::shell::Shell;
use warren_workspace::{Error, Workspace};

pub(crate) fn shell_of(workspace: &dyn Workspace) -> Result<&dyn Shell, Error> {
    let missing = || Error::operation(ErrorCode::CapabilityMissing, "the workspace has no `shell`");
    workspace.shell().ok_or_else(missing)
}

pub(crate) fn fs_of(workspace: &dyn Workspace) -> Result<&dyn Fs, Error> {
    workspace.fs().ok_or_else(|| Error::operation(ErrorCode::CapabilityMissing, "the workspace has no `fs`"))
}
