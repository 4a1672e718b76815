//! What the kernel said, as the error a client gets.

use rustix::io::Errno;
use warren_model::ErrorCode;
use warren_workspace::{Error, WorkspacePath};

/// The failure of an operation on `path`. Host paths never enter the sentence.
pub fn operation(errno: Errno, path: &WorkspacePath) -> Error {
    let (code, what) = match errno {
        Errno::NOENT => (ErrorCode::FileNotFound, "does not exist"),
        Errno::EXIST => (ErrorCode::FileExists, "exists already"),
        Errno::ISDIR => (ErrorCode::NotAFile, "is a directory"),
        Errno::NOTDIR => (ErrorCode::NotADirectory, "is a file, or a name on the way to it is one"),
        Errno::NOTEMPTY => (ErrorCode::DirectoryNotEmpty, "is not empty"),
        // `openat2` answers EXDEV to a path that leads out, ELOOP to a magic link or a ring of links.
        Errno::XDEV | Errno::LOOP => (ErrorCode::PathEscapes, "leads out of the workspace by a link"),
        Errno::ACCESS | Errno::PERM | Errno::ROFS => {
            (ErrorCode::PermissionDenied, "cannot be used: the host refuses")
        }
        Errno::NOSPC | Errno::DQUOT => (ErrorCode::StorageFull, "cannot be written: no space is left"),
        Errno::FBIG => (ErrorCode::FileTooLarge, "is larger than the filesystem takes"),
        Errno::NAMETOOLONG | Errno::INVAL | Errno::ILSEQ => {
            (ErrorCode::InvalidPath, "is not a path that the host takes")
        }
        Errno::NXIO | Errno::NODEV => (ErrorCode::SpecialFile, "is a device, fifo or socket"),
        // EAGAIN: a program holds a lease on the file, and waiting for it would be waiting at its pleasure.
        Errno::TXTBSY | Errno::BUSY | Errno::AGAIN => (ErrorCode::PermissionDenied, "is in use"),
        Errno::MFILE | Errno::NFILE => {
            let detail = "the host has no file handles left; try again";
            return Error::operation(ErrorCode::TooManyRequests, detail);
        }
        other => {
            tracing::warn!(errno = other.raw_os_error(), "a file operation failed in an unforeseen way");
            (ErrorCode::Internal, "could not be used")
        }
    };
    Error::operation(code, format!("{path} {what}"))
}

/// The same for errors of `std::io`.
pub(super) fn io_operation(error: &std::io::Error, path: &WorkspacePath) -> Error {
    operation(Errno::from_io_error(error).unwrap_or(Errno::IO), path)
}

/// The failure to open a place at all.
pub fn opening(errno: Errno, what: &str) -> Error {
    let detail = format!("{what}: {errno}");
    match errno {
        // These pass by themselves.
        Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN | Errno::INTR => {
            Error::transient(ErrorCode::WorkspaceFailed, detail)
        }
        Errno::NOSPC | Errno::DQUOT => Error::transient(ErrorCode::StorageFull, detail),
        Errno::ACCESS | Errno::PERM | Errno::ROFS => Error::permanent(ErrorCode::PermissionDenied, detail),
        _ => Error::permanent(ErrorCode::WorkspaceFailed, detail),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // W21, W24
    #[test]
    fn the_kernels_answers_become_stable_codes() {
        let path = WorkspacePath::parse("a").unwrap();
        for (errno, code) in [
            (Errno::NOSPC, ErrorCode::StorageFull),
            (Errno::DQUOT, ErrorCode::StorageFull),
            (Errno::XDEV, ErrorCode::PathEscapes),
            (Errno::LOOP, ErrorCode::PathEscapes),
            (Errno::ACCESS, ErrorCode::PermissionDenied),
            (Errno::ROFS, ErrorCode::PermissionDenied),
            (Errno::NXIO, ErrorCode::SpecialFile),
            (Errno::NOENT, ErrorCode::FileNotFound),
            (Errno::NAMETOOLONG, ErrorCode::InvalidPath),
            (Errno::MFILE, ErrorCode::TooManyRequests),
        ] {
            assert_eq!(operation(errno, &path).code(), code, "{errno}");
        }
        assert!(opening(Errno::MFILE, "x").is_transient() && !opening(Errno::ACCESS, "x").is_transient());
    }
}
