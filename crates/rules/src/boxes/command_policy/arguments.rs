//! Well-known ways to make a harmless program start another one (sec/T02). Cheap to refuse, impossible to complete.

/// Programs whose whole purpose is to start the program they are given.
const LAUNCHERS: &[&str] = &[
    "busybox",
    "chroot",
    "command",
    "doas",
    "env",
    "eval",
    "exec",
    "flock",
    "ionice",
    "nice",
    "nohup",
    "nsenter",
    "parallel",
    "script",
    "setarch",
    "setpriv",
    "setsid",
    "sg",
    "ssh-agent",
    "start-stop-daemon",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "time",
    "timeout",
    "toybox",
    "unshare",
    "watch",
    "xargs",
];

/// Shells, interpreters and build tools: what they are given is code.
const RUN_ANY_CODE: &[&str] = &[
    "ant", "ash", "bash", "bun", "bundle", "cargo", "cmake", "composer", "dash", "deno", "docker", "fish",
    "gdb", "gem", "git", "go", "gradle", "java", "just", "ksh", "less", "lua", "make", "meson", "more",
    "mvn", "ninja", "node", "npm", "npx", "perl", "php", "pip", "pip3", "pnpm", "podman", "python",
    "python3", "Rscript", "ruby", "sh", "tox", "uv", "vi", "vim", "yarn", "zsh",
];

/// Variables that make programs load or run something else, or decide which program a name means: no caller sets them.
const RESERVED_VARIABLES: &[&str] = &[
    "BASHOPTS",
    "BASH_ENV",
    "ENV",
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "NODE_OPTIONS",
    "PATH",
    "PERL5DB",
    "PERL5OPT",
    "PS4",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "RUBYOPT",
    "SHELLOPTS",
];
const RESERVED_PREFIXES: &[&str] = &["BASH_FUNC_", "DYLD_", "GIT_", "LD_", "WARREN_"];
/// Harmless ones below a reserved prefix.
const EXCEPTIONS: &[&str] = &[
    "GIT_AUTHOR_DATE",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_DATE",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
];
/// What a person may set and a model may not: they name helpers that an allowed program starts, or code it finds.
const RESERVED_FOR_MODELS: &[&str] = &[
    "BROWSER",
    "CDPATH",
    "EDITOR",
    "HOME",
    "LESSCLOSE",
    "LESSOPEN",
    "LOCPATH",
    "MANPAGER",
    "NODE_PATH",
    "PAGER",
    "PERL5LIB",
    "PROMPT_COMMAND",
    "PYTHONINSPECT",
    "PYTHONPATH",
    "RIPGREP_CONFIG_PATH",
    "RUBYLIB",
    "SHELL",
    "TAPE",
    "TAR_OPTIONS",
    "VISUAL",
    "ZDOTDIR",
];

pub(super) fn is_launcher(program: &str) -> bool {
    LAUNCHERS.contains(&program)
}

pub(super) fn runs_any_code(program: &str) -> bool {
    RUN_ANY_CODE.contains(&program)
}

pub(super) fn is_reserved_variable(name: &str) -> bool {
    let is_prefixed = RESERVED_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    RESERVED_VARIABLES.contains(&name) || (is_prefixed && !EXCEPTIONS.contains(&name))
}

pub(super) fn is_reserved_for_models(name: &str) -> bool {
    is_reserved_variable(name) || RESERVED_FOR_MODELS.contains(&name)
}

/// What is refused among the arguments of one program.
struct Detours {
    programs: &'static [&'static str],
    /// Words refused as they stand, such as `-exec` of `find` or the sub-command `config` of `git`.
    words: &'static [&'static str],
    /// Long options, with or without `=value`, and any abbreviation of three letters or more.
    long: &'static [&'static str],
    /// Exact long options that an abbreviation check would hit by mistake.
    harmless: &'static [&'static str],
    /// Letters refused in any cluster of short options.
    short: &'static str,
    /// An option without which the program is refused: it turns the program's own detours off.
    needs: Option<&'static str>,
}

const NONE: Detours = Detours { programs: &[], words: &[], long: &[], harmless: &[], short: "", needs: None };

const DETOURS: &[Detours] = &[
    Detours {
        programs: &["find"],
        words: &["-exec", "-execdir", "-ok", "-okdir", "-fprintf", "-fprint", "-fprint0", "-fls"],
        ..NONE
    },
    Detours { programs: &["fd", "fdfind"], long: &["--exec", "--exec-batch"], short: "xX", ..NONE },
    Detours { programs: &["rg"], long: &["--pre", "--pre-glob", "--hostname-bin"], ..NONE },
    Detours {
        programs: &["git"],
        words: &[
            "bisect",
            "config",
            "daemon",
            "difftool",
            "filter-branch",
            "hook",
            "instaweb",
            "mergetool",
            "p4",
            "send-email",
            "shell",
            "submodule",
            "svn",
        ],
        long: &[
            "--config-env",
            "--exec-path",
            "--exec",
            "--ext-diff",
            "--extcmd",
            "--open-files-in-pager",
            "--output",
            "--output-directory",
            "--paginate",
            "--receive-pack",
            "--textconv",
            "--upload-pack",
            "--config",
            "--template",
        ],
        // `git grep -O` and `git rebase -x`.
        short: "Ox",
        ..NONE
    },
    Detours {
        programs: &["tar", "bsdtar", "gtar"],
        long: &[
            "--checkpoint-action",
            "--to-command",
            "--use-compress-program",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
            "--rmt-command",
        ],
        harmless: &["--checkpoint"],
        short: "IF",
        ..NONE
    },
    Detours { programs: &["sort"], long: &["--compress-program", "--output"], short: "o", ..NONE },
    Detours { programs: &["split"], long: &["--filter"], ..NONE },
    Detours { programs: &["sed", "gsed", "awk", "gawk", "mawk", "nawk"], needs: Some("--sandbox"), ..NONE },
    Detours { programs: &["ssh", "scp", "sftp"], short: "oFSDJ", ..NONE },
    Detours { programs: &["rsync"], long: &["--rsh", "--rsync-path"], short: "e", ..NONE },
    Detours { programs: &["curl"], long: &["--config"], short: "K", ..NONE },
    Detours { programs: &["wget"], long: &["--config", "--use-askpass", "--execute"], short: "e", ..NONE },
    Detours { programs: &["zip"], long: &["--test", "--unzip-command"], short: "T", ..NONE },
    Detours {
        programs: &["man"],
        long: &["--pager", "--html", "--config-file", "--preprocessor"],
        short: "PHC",
        ..NONE
    },
    Detours {
        programs: &["go"],
        words: &["-exec", "-toolexec", "-vettool"],
        long: &["--exec", "--toolexec", "--vettool"],
        ..NONE
    },
];

/// The sentence for the first argument that would make `program` start something else.
pub(super) fn detour(program: &str, arguments: &[String]) -> Option<String> {
    let detours = DETOURS.iter().find(|one| one.programs.contains(&program))?;
    if let Some(needed) = detours.needs
        && !arguments.iter().any(|argument| argument == needed)
    {
        return Some(format!(
            "`{program}` is only run with `{needed}`, since its own language can start programs"
        ));
    }
    if program == "git" && sets_git_config(arguments) {
        return Some("`git -c` is refused: a setting of git can start any program".to_owned());
    }
    let refused = arguments.iter().enumerate().find(|(index, argument)| {
        // `tar xIf program archive`: the first word may be a cluster without its dash.
        let is_bare_cluster = *index == 0 && matches!(program, "tar" | "bsdtar" | "gtar");
        detours.refuses(argument, is_bare_cluster)
    });
    refused.map(|(_, argument)| {
        format!(
            "`{program} {}` is refused: this argument can start another program or write where it likes",
            super::shown(argument)
        )
    })
}

/// `git -c key=value …` before the sub-command, and `git clone -c`; but not `git switch -c branch`.
fn sets_git_config(arguments: &[String]) -> bool {
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "-C" => {
                words.next();
            }
            "-c" => return true,
            option if option.starts_with('-') => {}
            "clone" => return words.any(|argument| argument.starts_with("-c")),
            _ => return false,
        }
    }
    false
}

impl Detours {
    fn refuses(&self, argument: &str, is_bare_cluster: bool) -> bool {
        let name = argument.split_once('=').map_or(argument, |(name, _)| name);
        if self.words.contains(&name) || argument.starts_with("ext::") {
            return true;
        }
        if let Some(letters) = name.strip_prefix("--") {
            let is_abbreviation = |long: &&str| letters.len() >= 3 && long[2..].starts_with(letters);
            return !self.harmless.contains(&name)
                && self.long.iter().any(|long| name == *long || is_abbreviation(long));
        }
        let cluster = match argument.strip_prefix('-') {
            Some(letters) => letters,
            None if is_bare_cluster => argument,
            None => return false,
        };
        cluster.chars().any(|letter| self.short.contains(letter))
    }
}
