//! What tools and commands do in a workspace, as events tell it.

use crate::text_enum::text_enum;

text_enum! {
    /// How a file or directory was changed.
    FileChange {
        Write = "write",
        /// A file came along with a message.
        Upload = "upload",
        /// A directory was made.
        Mkdir = "mkdir",
        Delete = "delete",
        Move = "move",
    }
}

text_enum! {
    /// Why a command, or a connection out of a box, was refused: the unit in which refusals are counted. A closed set, so that a flood of different program
    /// names is one kind.
    RefusalKind {
        /// Empty, too long, NUL, an unbalanced quote: no policy would take it.
        Malformed = "malformed",
        /// `command` where only `argv` is taken, or a shell where there is no box.
        Mode = "mode",
        Metacharacter = "metacharacter",
        /// The program has a path instead of a name.
        ProgramPath = "program_path",
        ProgramNotAllowed = "program_not_allowed",
        /// No allowlist, and no box.
        NothingAllowed = "nothing_allowed",
        /// The program exists to start others.
        Launcher = "launcher",
        /// An argument that makes an allowed program start another.
        Argument = "argument",
        /// An environment variable that changes what programs do.
        Variable = "variable",
        /// A connection that the workspace's network policy does not grant.
        Network = "network",
        /// Refusals of any kind, counted together: there were too many to tell apart.
        Other = "other",
    }
}
