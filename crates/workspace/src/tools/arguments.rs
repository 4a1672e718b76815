//! What each tool takes. The doc comments are the descriptions a model reads, so they are written for it.
//!
//! Bounds stand twice, in the schema (so that a model keeps to them) and in `check` (so that they hold), from the
//! same constants.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::Deserialize;

use super::ToolError;

pub(super) const MAX_LINES: u64 = 5_000;
pub(super) const DEFAULT_LINES: u64 = 1_000;
pub(super) const MAX_READ_BYTES: u64 = 262_144;
pub(super) const DEFAULT_READ_BYTES: u64 = 65_536;
pub(super) const MAX_ENTRIES: u32 = 1_000;
pub(super) const DEFAULT_ENTRIES: u32 = 200;
pub(super) const MAX_DEPTH: u32 = 32;
pub(super) const MAX_MATCHES: u32 = 1_000;
pub(super) const DEFAULT_MATCHES: u32 = 100;
pub(super) const MAX_GLOB_BYTES: usize = 1_024;
pub(super) const MAX_PATTERN_BYTES: usize = 4_096;
pub(super) const MAX_CONTEXT_LINES: u32 = 10;
pub(super) const MAX_GLOBS: usize = 100;
pub(super) const MAX_VARIABLES: usize = 100;
pub(super) const MAX_TIMEOUT_MS: u64 = 3_600_000;
pub(super) const MAX_WAIT_MS: u64 = 30_000;

/// Bounds beyond what the type says.
pub(super) trait Arguments: serde::de::DeserializeOwned + JsonSchema {
    fn check(&self) -> Result<(), ToolError> {
        Ok(())
    }
}

fn within<T: PartialOrd + std::fmt::Display>(
    path: &str,
    value: Option<T>,
    range: RangeInclusive<T>,
) -> Result<(), ToolError> {
    match value {
        Some(value) if !range.contains(&value) => Err(ToolError::BadArguments {
            path: path.to_owned(),
            problem: format!("{value} is not between {} and {}", range.start(), range.end()),
        }),
        Some(_) | None => Ok(()),
    }
}

fn text_within(path: &str, text: &str, max_bytes: usize) -> Result<(), ToolError> {
    if text.is_empty() || text.len() > max_bytes {
        let problem = format!("must have 1 to {max_bytes} bytes, has {}", text.len());
        return Err(ToolError::bad(path, &problem));
    }
    Ok(())
}

fn at_most(path: &str, count: usize, max: usize) -> Result<(), ToolError> {
    within(path, Some(count), 0..=max).map_err(|_| ToolError::BadArguments {
        path: path.to_owned(),
        problem: format!("{count} entries; at most {max} are taken"),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Encoding {
    #[default]
    Text,
    Base64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadFile {
    /// The file, relative to the workspace root.
    pub(super) path: String,
    /// `text` (the default) for UTF-8, `base64` for anything else.
    #[serde(default)]
    pub(super) encoding: Encoding,
    /// The first line to read, counted from 1. Text only; not together with `offset`.
    #[schemars(range(min = 1))]
    pub(super) start_line: Option<u64>,
    /// How many lines at most; 1000 unless told. Text only.
    #[schemars(range(min = 1, max = MAX_LINES))]
    pub(super) max_lines: Option<u64>,
    /// The byte to begin at: pass `next_offset` of the last answer to go on.
    pub(super) offset: Option<u64>,
    /// How many bytes at most; 65536 unless told.
    #[schemars(range(min = 4, max = MAX_READ_BYTES))]
    pub(super) max_bytes: Option<u64>,
}

impl Arguments for ReadFile {
    fn check(&self) -> Result<(), ToolError> {
        within("start_line", self.start_line, 1..=u64::MAX)?;
        within("max_lines", self.max_lines, 1..=MAX_LINES)?;
        within("max_bytes", self.max_bytes, 4..=MAX_READ_BYTES)?;
        let by_lines = self.start_line.is_some() || self.max_lines.is_some();
        if self.start_line.is_some() && self.offset.is_some() {
            return Err(ToolError::bad("start_line", "cannot be given together with `offset`"));
        }
        if by_lines && self.encoding == Encoding::Base64 {
            return Err(ToolError::bad("encoding", "lines are read as `text` only"));
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum WriteFileMode {
    #[default]
    Replace,
    CreateNew,
    Append,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteFile {
    /// The file, relative to the workspace root. Missing directories are made.
    pub(super) path: String,
    /// The contents: text, or base64 if `encoding` says so.
    pub(super) content: String,
    /// `text` (the default) or `base64`.
    #[serde(default)]
    pub(super) encoding: Encoding,
    /// `replace` (the default) makes or replaces the file, `create_new` fails if it exists, `append` adds to its end.
    #[serde(default)]
    pub(super) mode: WriteFileMode,
}

impl Arguments for WriteFile {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditFile {
    /// The file, relative to the workspace root.
    pub(super) path: String,
    /// The exact text to replace, with its white space. It must occur once, unless `all` is true.
    #[schemars(length(min = 1))]
    pub(super) old: String,
    /// The text to put in its place.
    pub(super) new: String,
    /// Replace every occurrence.
    #[serde(default)]
    pub(super) all: bool,
}

impl Arguments for EditFile {
    fn check(&self) -> Result<(), ToolError> {
        text_within("old", &self.old, usize::MAX)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Ls {
    /// The directory, relative to the workspace root; the root unless told.
    #[serde(default)]
    pub(super) path: String,
    /// How many levels to list; 1 unless told.
    #[schemars(range(min = 1, max = MAX_DEPTH))]
    pub(super) depth: Option<u32>,
    /// How many entries at most; 200 unless told.
    #[schemars(range(min = 1, max = MAX_ENTRIES))]
    pub(super) limit: Option<u32>,
    /// Go on after this: pass `next` of the last answer.
    pub(super) after: Option<String>,
}

impl Arguments for Ls {
    fn check(&self) -> Result<(), ToolError> {
        within("depth", self.depth, 1..=MAX_DEPTH)?;
        within("limit", self.limit, 1..=MAX_ENTRIES)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Glob {
    /// The pattern, such as `src/**/*.rs`: `**` crosses directories, `*` does not.
    #[schemars(length(min = 1, max = MAX_GLOB_BYTES))]
    pub(super) pattern: String,
    /// The directory to search in; the workspace root unless told.
    #[serde(default)]
    pub(super) path: String,
    /// Leave out what ignore files such as `.gitignore` name.
    #[serde(default)]
    pub(super) respect_ignore_files: bool,
    /// How many paths at most; 200 unless told.
    #[schemars(range(min = 1, max = MAX_ENTRIES))]
    pub(super) limit: Option<u32>,
}

impl Arguments for Glob {
    fn check(&self) -> Result<(), ToolError> {
        text_within("pattern", &self.pattern, MAX_GLOB_BYTES)?;
        within("limit", self.limit, 1..=MAX_ENTRIES)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Grep {
    /// What to find: a regular expression, or plain text if `literal` is true.
    #[schemars(length(min = 1, max = MAX_PATTERN_BYTES))]
    pub(super) pattern: String,
    /// Take the pattern as plain text.
    #[serde(default)]
    pub(super) literal: bool,
    /// Take upper and lower case as the same.
    #[serde(default)]
    pub(super) ignore_case: bool,
    /// The directory or file to search in; the workspace root unless told.
    #[serde(default)]
    pub(super) path: String,
    /// Only files whose path matches one of these patterns.
    #[serde(default)]
    #[schemars(length(max = MAX_GLOBS))]
    pub(super) globs: Vec<String>,
    /// Lines to show before and after each match; none unless told.
    #[schemars(range(max = MAX_CONTEXT_LINES))]
    pub(super) context_lines: Option<u32>,
    /// Leave out what ignore files such as `.gitignore` name.
    #[serde(default)]
    pub(super) respect_ignore_files: bool,
    /// Stop after this many matches; 100 unless told.
    #[schemars(range(min = 1, max = MAX_MATCHES))]
    pub(super) max_matches: Option<u32>,
}

impl Arguments for Grep {
    fn check(&self) -> Result<(), ToolError> {
        text_within("pattern", &self.pattern, MAX_PATTERN_BYTES)?;
        at_most("globs", self.globs.len(), MAX_GLOBS)?;
        within("context_lines", self.context_lines, 0..=MAX_CONTEXT_LINES)?;
        within("max_matches", self.max_matches, 1..=MAX_MATCHES)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Mkdir {
    /// The directory, relative to the workspace root. Missing parents are made.
    pub(super) path: String,
}

impl Arguments for Mkdir {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Rm {
    /// The file or directory, relative to the workspace root.
    pub(super) path: String,
    /// Remove a directory with everything in it.
    #[serde(default)]
    pub(super) recursive: bool,
}

impl Arguments for Rm {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Mv {
    /// What to move, relative to the workspace root.
    pub(super) from: String,
    /// Its new path, relative to the workspace root.
    pub(super) to: String,
    /// Replace what is already there.
    #[serde(default)]
    pub(super) overwrite: bool,
}

impl Arguments for Mv {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Run {
    /// The program and its arguments, one word each; no shell reads them. Give this or `command`.
    pub(super) argv: Option<Vec<String>>,
    /// A command line, where the workspace takes one. Without a shell it is split into words at spaces; quotes group
    /// words; pipes, redirections, globs and variables are refused.
    pub(super) command: Option<String>,
    /// The directory to run in, relative to the workspace root; the root unless told.
    #[serde(default)]
    pub(super) cwd: String,
    /// Environment variables to add.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    /// Text to give to the program as its input.
    #[serde(default)]
    pub(super) stdin: String,
    /// Milliseconds after which the program and its children are killed; the workspace's maximum unless told.
    #[schemars(range(min = 1, max = MAX_TIMEOUT_MS))]
    pub(super) timeout_ms: Option<u64>,
}

impl Arguments for Run {
    fn check(&self) -> Result<(), ToolError> {
        one_of(self.argv.as_ref(), self.command.as_ref())?;
        at_most("env", self.env.len(), MAX_VARIABLES)?;
        within("timeout_ms", self.timeout_ms, 1..=MAX_TIMEOUT_MS)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunBackground {
    /// The program and its arguments, one word each; no shell reads them. Give this or `command`.
    pub(super) argv: Option<Vec<String>>,
    /// A command line, where the workspace takes one; as in `workspace_run`.
    pub(super) command: Option<String>,
    /// The directory to run in, relative to the workspace root; the root unless told.
    #[serde(default)]
    pub(super) cwd: String,
    /// Environment variables to add.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
}

impl Arguments for RunBackground {
    fn check(&self) -> Result<(), ToolError> {
        one_of(self.argv.as_ref(), self.command.as_ref())?;
        at_most("env", self.env.len(), MAX_VARIABLES)
    }
}

fn one_of(argv: Option<&Vec<String>>, command: Option<&String>) -> Result<(), ToolError> {
    match (argv, command) {
        (Some(_), None) | (None, Some(_)) => Ok(()),
        (Some(_), Some(_)) => Err(ToolError::bad("command", "cannot be given together with `argv`")),
        (None, None) => Err(ToolError::bad("argv", "missing: give `argv` or `command`")),
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ProcessOutput {
    /// The process, as `workspace_run_background` named it.
    #[schemars(range(min = 1))]
    pub(super) process_id: u32,
    /// The byte of output to begin at: pass `next_offset` of the last answer to go on.
    #[serde(default)]
    pub(super) offset: u64,
    /// How many bytes at most; 65536 unless told.
    #[schemars(range(min = 4, max = MAX_READ_BYTES))]
    pub(super) max_bytes: Option<u64>,
    /// Milliseconds to wait for new output when there is none; not at all unless told.
    #[schemars(range(max = MAX_WAIT_MS))]
    pub(super) wait_ms: Option<u64>,
}

impl Arguments for ProcessOutput {
    fn check(&self) -> Result<(), ToolError> {
        within("max_bytes", self.max_bytes, 4..=MAX_READ_BYTES)?;
        within("wait_ms", self.wait_ms, 0..=MAX_WAIT_MS)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum KillSignal {
    Interrupt,
    #[default]
    Terminate,
    Kill,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ProcessKill {
    /// The process, as `workspace_run_background` named it.
    #[schemars(range(min = 1))]
    pub(super) process_id: u32,
    /// `terminate` (the default) asks it to end, `interrupt` is Ctrl-C, `kill` cannot be refused.
    #[serde(default)]
    pub(super) signal: KillSignal,
}

impl Arguments for ProcessKill {}
