//! The command line of `warren ws`. Workspaces are given by name or by id.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{
    AdapterName, AttachArguments, ExpandArguments, KillArguments, LogsArguments, ShellArguments, Span,
    StartArguments,
};

/// What can be on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

impl Switch {
    pub(crate) const fn is_on(self) -> bool {
        matches!(self, Self::On)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// Make a workspace and wait until it is online; prints its name
    Create(Box<CreateArguments>),
    /// List workspaces
    #[command(alias = "list")]
    Ls(ListArguments),
    /// Show one workspace and how it is
    Show {
        /// By id or name
        workspace: String,
    },
    /// Change a workspace: its name, what it is there for, its place, its agent
    #[command(alias = "edit", alias = "update")]
    Set(Box<SetArguments>),
    /// Run a command in a workspace and pass its output and exit code on
    #[command(alias = "run")]
    Exec(ExecArguments),
    /// Work in a workspace: a terminal with its shell, or with the program that is named
    ///
    /// What you type goes there, Ctrl-C too, and its exit code comes back. Type `~.` at the beginning of a line to leave
    /// and let the program go on (`~~` types a `~`); `warren ws attach` leads back to it. Whatever it prints reaches your
    /// terminal unchanged, as with ssh.
    Shell(ShellArguments),
    /// Start a program that goes on in the background; prints its number
    Start(StartArguments),
    /// List the processes of a workspace
    Ps {
        /// By id or name
        workspace: String,
    },
    /// Connect this terminal to a process, from the beginning of its kept output
    ///
    /// The keys are those of `warren ws shell`.
    Attach(AttachArguments),
    /// Print what a process has written
    ///
    /// On a terminal, control sequences are shown instead of obeyed; elsewhere every byte is printed as it is.
    Logs(LogsArguments),
    /// End processes, with all they started; says which go on all the same
    Kill(KillArguments),
    /// List, read and change files
    #[command(subcommand)]
    Files(FilesCommand),
    /// Copy files into, out of and between workspaces
    Cp(CopyArguments),
    /// Put a workspace and all below it to rest; what runs in them ends, files stay
    Pause {
        /// By id or name
        workspace: String,
    },
    /// End the rest of a workspace and of all below it
    Resume {
        /// By id or name
        workspace: String,
    },
    /// Put a workspace to sleep until a message comes
    Hibernate {
        /// By id or name
        workspace: String,
        /// Also with tasks in flight
        #[arg(long)]
        force: bool,
    },
    /// Wake a workspace
    Wake {
        /// By id or name
        workspace: String,
    },
    /// Bring a workspace up anew; what runs in it ends, files stay
    Restart {
        /// By id or name
        workspace: String,
    },
    /// Try a failed workspace again
    Reset {
        /// By id or name
        workspace: String,
    },
    /// Make a team below a workspace, from a document or from a stored template
    Expand(ExpandArguments),
    /// Remove all below a workspace; the workspace itself stays
    Collapse {
        /// By id or name
        workspace: String,
        /// Erase their rows too; events and the audit log stay
        #[arg(long)]
        purge: bool,
    },
    /// Remove workspaces for good, with their files
    #[command(alias = "delete", alias = "remove")]
    Rm(RemoveArguments),
}

#[derive(Debug, Args)]
pub(crate) struct CreateArguments {
    /// 1 to 100 characters
    pub(crate) name: String,
    /// A stored template to make it from; what else is said here wins
    #[arg(long, value_name = "NAME")]
    pub(crate) template: Option<String>,
    /// With --template: a required variable that the runtime gets elsewhere; give it once per name
    #[arg(long, value_name = "NAME", requires = "template")]
    pub(crate) provided_env: Vec<String>,
    /// What backs it: `sandbox` (a box by bubblewrap), `docker` (a container), `local` (files and commands as the server's
    /// user, no isolation) or `memory` (files that end with the server)
    /// [default: the template's, else `sandbox` where it works, else `docker`]
    #[arg(long, value_name = "KIND")]
    pub(crate) provider: Option<String>,
    /// More of the provider's knobs, as a JSON object
    #[arg(long, value_name = "JSON")]
    pub(crate) provider_config: Option<String>,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
    /// A program that models may run in it; give it once per program
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) allow_run: Vec<String>,
    /// The same for a program that can start any other, such as `git` or `python3`; without a box it holds nothing back
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) allow_unrestrained: Vec<String>,
    /// What it can do, such as `fs` or `shell`; give it once per capability [default: all the provider offers]
    #[arg(long, value_name = "CAPABILITY")]
    pub(crate) capability: Vec<String>,
    /// What it is given beyond its box: `basic`, `extended` or `privileged` [default: the least that its config needs]
    #[arg(long, value_name = "TIER")]
    pub(crate) tier: Option<String>,
    /// The workspace above it, by id or name
    #[arg(long, value_name = "WORKSPACE")]
    pub(crate) parent: Option<String>,
    /// What runs its agent: `hosted` (Warren, with --agent or --model), `resident` (a program in it) or `external`
    /// (elsewhere)
    #[arg(long, value_name = "RUNTIME")]
    pub(crate) runtime: Option<String>,
    /// The stored agent that Warren runs in it (runtime `hosted`)
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Its agent's model, such as `scripted/tour`; without --agent, an agent is made of it
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// A prompt of its agent, such as `system=You are terse.`; give it once per prompt
    #[arg(long, value_name = "NAME=TEXT", value_parser = parse_variable)]
    pub(crate) prompt: Vec<(String, String)>,
    /// A model that programs in its box may ask through Warren, without a key, such as `anthropic/*`; give it once per model
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub(crate) model_door: Vec<String>,
    /// Whether programs in its box have Warren's tools, `on` or `off` [default: on for the program of a resident agent]
    #[arg(long, value_name = "ON|OFF")]
    pub(crate) tool_door: Option<Switch>,
    /// A host that programs in its box may reach, such as `example.com`, `*.example.com` or a set of hosts (`pypi`, `npm`,
    /// `crates`, `github`, `debian`); `ask` asks people about others; give it once per host
    #[arg(long, value_name = "HOST|SET|ask")]
    pub(crate) network: Vec<String>,
    /// What it is there for, in a few words
    #[arg(long, value_name = "TEXT")]
    pub(crate) role: Option<String>,
    /// Put it to sleep after so long without a task
    #[arg(long, value_name = "TIME")]
    pub(crate) hibernate_after: Option<Span>,
    /// Return at once instead of waiting until it is online
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// How long to wait until it is online
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) timeout: Span,
    /// With `--runtime resident`: how the program is spoken with: `stdio` (a process for each message, with text), `json`
    /// (the same, with lines of JSON), `acp` (one that lives on and speaks the Agent Client Protocol), `a2a` (one that
    /// lives on and serves A2A)
    #[arg(long, value_name = "NAME")]
    pub(crate) adapter: Option<AdapterName>,
    /// The mode in which an ACP program works [default: one in which it asks before it acts]
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<String>,
    /// Where a program that serves A2A listens in the box; only with `--adapter a2a`
    #[arg(long, value_name = "URL", required_if_eq("adapter", "a2a"))]
    pub(crate) a2a_url: Option<String>,
    /// With `--runtime resident`: the program that is its agent, and its arguments
    #[arg(last = true)]
    pub(crate) command: Vec<String>,
}

/// What a box may use.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub(crate) struct LimitArguments {
    /// Memory of its box, in MiB
    #[arg(long, value_name = "MIB")]
    pub(crate) memory_mb: Option<u32>,
    /// Processors of its box, such as 0.5
    #[arg(long, value_name = "COUNT")]
    pub(crate) cpus: Option<f64>,
    /// Processes in its box
    #[arg(long, value_name = "COUNT")]
    pub(crate) pids: Option<u32>,
    /// The box's own /tmp, in MiB
    #[arg(long, value_name = "MIB")]
    pub(crate) tmp_mb: Option<u32>,
    /// Its files together, in MiB
    #[arg(long, value_name = "MIB")]
    pub(crate) disk_mb: Option<u32>,
    /// One file of it, in MiB
    #[arg(long, value_name = "MIB")]
    pub(crate) max_file_mb: Option<u32>,
}

#[derive(Debug, Default, Args)]
pub(crate) struct ListArguments {
    /// Only those with this status
    #[arg(long)]
    pub(crate) status: Option<String>,
    /// Only those with exactly this name
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Only those directly below this one, by id or name
    #[arg(long, value_name = "WORKSPACE")]
    pub(crate) parent: Option<String>,
    /// Removed ones too
    #[arg(long, short)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExecArguments {
    /// By id or name
    pub(crate) workspace: String,
    /// Where to run it, relative to the workspace's root
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<String>,
    /// A variable for the command; give it once per variable
    #[arg(long, short, value_name = "NAME=VALUE", value_parser = parse_variable)]
    pub(crate) env: Vec<(String, String)>,
    /// When to end it, such as `30s`
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<Span>,
    /// Pass this command's own input on, read to its end first; without this the command has no input
    #[arg(long, short = 'i')]
    pub(crate) stdin: bool,
    /// A text for the workspace's shell, instead of a program and its arguments
    #[arg(long, value_name = "TEXT", conflicts_with = "command")]
    pub(crate) shell: Option<String>,
    /// The program and its arguments, and the end of the command line; no shell reads them
    #[arg(trailing_var_arg = true, required_unless_present = "shell")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("change").required(true).multiple(true))]
pub(crate) struct SetArguments {
    /// By id or name
    pub(crate) workspace: String,
    /// Another name
    #[arg(long, group = "change")]
    pub(crate) name: Option<String>,
    /// What it is there for; an empty text takes it back
    #[arg(long, value_name = "TEXT", group = "change")]
    pub(crate) role: Option<String>,
    /// The workspace above it, by id or name; an empty text makes it a root
    #[arg(long, value_name = "WORKSPACE", group = "change")]
    pub(crate) parent: Option<String>,
    /// Put it to sleep after so long without a task, such as `1h`; `never` takes it back
    #[arg(long, value_name = "TIME", group = "change")]
    pub(crate) hibernate_after: Option<String>,
    /// How long it may take to come up, such as `10m`; `default` takes it back
    #[arg(long, value_name = "TIME", group = "change")]
    pub(crate) provision_timeout: Option<String>,
    /// How many tasks it takes at once
    #[arg(long, value_name = "COUNT", group = "change")]
    pub(crate) max_tasks: Option<u32>,
    /// The stored agent that Warren runs in it; an empty text takes it away
    #[arg(long, value_name = "NAME", group = "change")]
    pub(crate) agent: Option<String>,
    /// Its agent's model; an empty text takes it away
    #[arg(long, value_name = "PROVIDER/NAME", group = "change")]
    pub(crate) model: Option<String>,
    /// A prompt of its agent, such as `system=You are terse.`; an empty text takes it away; give it once per prompt
    #[arg(long, value_name = "NAME=TEXT", value_parser = parse_variable, group = "change")]
    pub(crate) prompt: Vec<(String, String)>,
    /// Memory of its box, in MiB
    #[arg(long, value_name = "MIB", group = "change")]
    pub(crate) memory_mb: Option<u32>,
    /// Processors of its box, such as 0.5
    #[arg(long, value_name = "COUNT", group = "change")]
    pub(crate) cpus: Option<f64>,
    /// Processes in its box
    #[arg(long, value_name = "COUNT", group = "change")]
    pub(crate) pids: Option<u32>,
    /// The box's own /tmp, in MiB
    #[arg(long, value_name = "MIB", group = "change")]
    pub(crate) tmp_mb: Option<u32>,
    /// Its files together, in MiB
    #[arg(long, value_name = "MIB", group = "change")]
    pub(crate) disk_mb: Option<u32>,
    /// One file of it, in MiB
    #[arg(long, value_name = "MIB", group = "change")]
    pub(crate) max_file_mb: Option<u32>,
    /// The image that its box is made from
    #[arg(long, value_name = "IMAGE", group = "change")]
    pub(crate) image: Option<String>,
    /// Other fields of its provider's config, as a JSON object: what is absent stays, `null` has its default again
    #[arg(long, value_name = "JSON", group = "change")]
    pub(crate) provider_config: Option<String>,
    /// A program that models may run in it, in place of those that they could; give it once per program
    #[arg(long, value_name = "PROGRAM", group = "change")]
    pub(crate) allow_run: Vec<String>,
    /// The same for a program that can start any other, such as `git` or `python3`
    #[arg(long, value_name = "PROGRAM", group = "change")]
    pub(crate) allow_unrestrained: Vec<String>,
    /// What it can do, in place of what it could; give it once per capability
    #[arg(long, value_name = "CAPABILITY", group = "change")]
    pub(crate) capability: Vec<String>,
    /// What it is given beyond its box: `basic`, `extended` or `privileged`
    #[arg(long, value_name = "TIER", group = "change")]
    pub(crate) tier: Option<String>,
    /// A model that programs in its box may ask through Warren; give it once per model, in place of those before. An empty
    /// text shuts the door
    #[arg(long, value_name = "PROVIDER/NAME", group = "change")]
    pub(crate) model_door: Vec<String>,
    /// Whether programs in its box have Warren's tools: `on` or `off`
    #[arg(long, value_name = "ON|OFF", group = "change")]
    pub(crate) tool_door: Option<Switch>,
    /// A host that programs in its box may reach, a set of hosts, or `ask`; give it once per host, in place of those before.
    /// `none` shuts the door
    #[arg(long, value_name = "HOST|SET|ask|none", group = "change")]
    pub(crate) network: Vec<String>,
    /// The program of a resident agent and its arguments; counts from the next start on (`warren ws restart`)
    #[arg(last = true, group = "change")]
    pub(crate) command: Vec<String>,
}

impl SetArguments {
    pub(crate) fn limits(&self) -> LimitArguments {
        LimitArguments {
            memory_mb: self.memory_mb,
            cpus: self.cpus,
            pids: self.pids,
            tmp_mb: self.tmp_mb,
            disk_mb: self.disk_mb,
            max_file_mb: self.max_file_mb,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum FilesCommand {
    /// List a directory
    Ls {
        /// By id or name
        workspace: String,
        /// Relative to the workspace's root
        #[arg(default_value = "")]
        path: String,
        /// How many levels deep
        #[arg(long, default_value_t = 1)]
        depth: u32,
    },
    /// Print a file
    Cat {
        /// By id or name
        workspace: String,
        /// Relative to the workspace's root
        path: String,
        /// Begin at this byte
        #[arg(long, value_name = "BYTES")]
        offset: Option<u64>,
        /// Print at most this many bytes
        #[arg(long, value_name = "BYTES")]
        length: Option<u64>,
    },
    /// Write a file from another one, or from standard input
    Put {
        /// By id or name
        workspace: String,
        /// Relative to the workspace's root
        path: String,
        /// The file to send [default: standard input]
        file: Option<PathBuf>,
    },
    /// Delete a file or directory
    Rm {
        /// By id or name
        workspace: String,
        /// Relative to the workspace's root
        path: String,
        /// A directory with all that is in it
        #[arg(long, short)]
        recursive: bool,
    },
    /// Make a directory, and those above it
    Mkdir {
        /// By id or name
        workspace: String,
        /// Relative to the workspace's root
        path: String,
    },
    /// Print what changes, as it happens, until Ctrl-C
    Watch {
        /// By id, or by name where only one has it
        workspace: String,
        /// A directory or file, relative to the workspace's root
        #[arg(default_value = "")]
        path: String,
    },
    /// Move or rename something within the workspace
    Mv {
        /// By id or name
        workspace: String,
        /// What to move, relative to the workspace's root
        from: String,
        /// Its new place
        to: String,
        /// Replace what is there
        #[arg(long)]
        overwrite: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CopyArguments {
    /// `WORKSPACE:PATH` or a path on this machine (begin it with `./` if it has a colon)
    #[arg(value_name = "SRC")]
    pub(crate) source: String,
    /// Like SRC; an existing directory, or a path that ends in `/`, takes the copy inside it
    #[arg(value_name = "DST")]
    pub(crate) destination: String,
    /// Copy directories with what is in them; links and special files are left out and named
    #[arg(long, short)]
    pub(crate) recursive: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArguments {
    /// By id or name
    #[arg(required = true)]
    pub(crate) workspaces: Vec<String>,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Erase their rows too; events and the audit log stay
    #[arg(long)]
    pub(crate) purge: bool,
}

pub(super) fn parse_variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` is not NAME=VALUE")),
    }
}
