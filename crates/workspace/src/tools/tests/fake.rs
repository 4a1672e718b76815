//! A workspace with files in a map and a shell that answers with what it was asked to run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use warren_model::{Capability, CapabilitySet, ErrorCode, RunPolicy, Timestamp, WorkspaceId};

use crate::fs::*;
use crate::shell::*;
use crate::tools::ToolContext;
use crate::{Error, RefusalLog, RefusalRecord, RefusalSink, Workspace, WorkspacePath};

#[derive(Debug, Default)]
pub(super) struct Fake {
    pub(super) files: Mutex<BTreeMap<String, Bytes>>,
    pub(super) ran: Mutex<Vec<Command>>,
    pub(super) output: Mutex<Bytes>,
    /// So many calls of `ls` find the workspace gone.
    pub(super) evictions: Mutex<u32>,
    pub(super) killed: Mutex<Vec<(ProcessId, Signal)>>,
}

#[async_trait]
impl Workspace for Fake {
    fn id(&self) -> WorkspaceId {
        id()
    }
    fn fs(&self) -> Option<&dyn Fs> {
        Some(self)
    }
    fn shell(&self) -> Option<&dyn Shell> {
        Some(self)
    }
    fn limits(&self) -> serde_json::Value {
        serde_json::Value::Null
    }
    async fn close(&self) -> Result<(), Error> {
        Ok(())
    }
}

fn entry(path: &str, bytes: usize) -> Entry {
    Entry {
        path: path.to_owned(),
        is_lossy: false,
        kind: EntryKind::File,
        bytes: bytes as u64,
        modified_at: Timestamp::from_micros(0),
        mode: 0o644,
        link_target: None,
    }
}

fn not_in_fake<T>() -> Result<T, Error> {
    Err(Error::operation(ErrorCode::Internal, "the fake does not do this"))
}

impl Fake {
    fn file(&self, path: &WorkspacePath) -> Result<Bytes, Error> {
        let found = self.files.lock().unwrap().get(path.as_str()).cloned();
        found.ok_or_else(|| Error::operation(ErrorCode::FileNotFound, format!("there is no {path}")))
    }

    fn put(&self, path: &WorkspacePath, contents: Bytes) -> Written {
        let bytes = contents.len() as u64;
        let before = self.files.lock().unwrap().insert(path.as_str().to_owned(), contents);
        Written { bytes, created: before.is_none() }
    }
}

#[async_trait]
impl Fs for Fake {
    async fn read(&self, path: &WorkspacePath, range: ByteRange) -> Result<FileContents, Error> {
        let file = self.file(path)?;
        let begin = file.len().min(usize::try_from(range.offset).unwrap());
        let end = range
            .length
            .map_or(file.len(), |length| file.len().min(begin + usize::try_from(length).unwrap()));
        let pieces: Vec<_> =
            file[begin..end].chunks(7).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        Ok(FileContents {
            entry: entry(path.as_str(), file.len()),
            offset: begin as u64,
            length: (end - begin) as u64,
            stream: Box::pin(stream::iter(pieces)),
        })
    }

    async fn write(
        &self,
        path: &WorkspacePath,
        mut contents: ByteStream,
        mode: WriteMode,
    ) -> Result<Written, Error> {
        let exists = self.files.lock().unwrap().contains_key(path.as_str());
        if mode.must_be_new() && exists {
            return Err(Error::operation(ErrorCode::FileExists, "it is there"));
        }
        let mut bytes = Vec::new();
        while let Some(piece) = contents.next().await {
            bytes.extend_from_slice(&piece?);
        }
        Ok(self.put(path, bytes.into()))
    }

    async fn append(&self, path: &WorkspacePath, contents: Bytes) -> Result<Written, Error> {
        let mut whole = self.file(path).unwrap_or_default().to_vec();
        whole.extend_from_slice(&contents);
        Ok(self.put(path, whole.into()))
    }

    async fn edit(&self, path: &WorkspacePath, edit: &Edit) -> Result<Edited, Error> {
        let text = String::from_utf8(self.file(path)?.to_vec()).unwrap();
        let count = text.matches(&edit.old).count();
        match count {
            0 => return Err(Error::operation(ErrorCode::EditNoMatch, "it is not there")),
            1 => {}
            _ if edit.all => {}
            _ => return Err(Error::operation(ErrorCode::EditManyMatches, "it is there more than once")),
        }
        let written = self.put(path, text.replace(&edit.old, &edit.new).into());
        Ok(Edited { replacements: count as u64, bytes: written.bytes })
    }

    async fn stat(&self, path: &WorkspacePath) -> Result<Entry, Error> {
        Ok(entry(path.as_str(), self.file(path)?.len()))
    }

    async fn ls(&self, _: &WorkspacePath, query: &LsQuery) -> Result<Listing, Error> {
        let left = *self.evictions.lock().unwrap();
        if left > 0 {
            *self.evictions.lock().unwrap() = left - 1;
            return Err(Error::evicted("gone"));
        }
        let files = self.files.lock().unwrap();
        let rest = files.iter().filter(|(path, _)| query.after.as_ref().is_none_or(|after| *path > after));
        let mut entries: Vec<_> = rest.map(|(path, bytes)| entry(path, bytes.len())).collect();
        let is_cut = entries.len() > query.limit as usize;
        entries.truncate(query.limit as usize);
        let next = entries.last().filter(|_| is_cut).map(|last| last.path.clone());
        Ok(Listing { entries, next })
    }

    async fn glob(&self, query: &GlobQuery) -> Result<GlobResult, Error> {
        let files = self.files.lock().unwrap();
        let suffix = query.pattern.trim_start_matches('*');
        let paths = files.keys().filter(|path| path.ends_with(suffix)).cloned().collect();
        Ok(GlobResult { paths, truncated: false })
    }

    async fn grep(&self, query: &GrepQuery) -> Result<GrepResult, Error> {
        let files = self.files.lock().unwrap();
        let mut result = GrepResult {
            skipped: vec!["huge.bin".to_owned()],
            files_searched: files.len() as u64,
            ..GrepResult::default()
        };
        for (path, bytes) in files.iter() {
            let text = String::from_utf8_lossy(bytes);
            let hits = text.lines().zip(1..).filter(|(line, _)| line.contains(&query.pattern));
            result.matches.extend(hits.map(|(line, line_number)| GrepMatch {
                path: path.clone(),
                line_number,
                line: line.to_owned(),
                before: Vec::new(),
                after: Vec::new(),
            }));
        }
        result.truncated = result.matches.len() > query.max_matches as usize;
        result.matches.truncate(query.max_matches as usize);
        Ok(result)
    }

    async fn mkdir(&self, _: &WorkspacePath) -> Result<(), Error> {
        Ok(())
    }

    async fn rm(&self, path: &WorkspacePath, _: bool) -> Result<(), Error> {
        self.file(path)?;
        self.files.lock().unwrap().remove(path.as_str());
        Ok(())
    }

    async fn mv(&self, from: &WorkspacePath, to: &WorkspacePath, _: bool) -> Result<(), Error> {
        let contents = self.file(from)?;
        self.files.lock().unwrap().remove(from.as_str());
        self.put(to, contents);
        Ok(())
    }

    async fn cp(&self, _: &WorkspacePath, _: &WorkspacePath, _: CpOptions) -> Result<(), Error> {
        not_in_fake()
    }

    async fn watch(&self, _: &WorkspacePath) -> Result<ChangeStream, Error> {
        not_in_fake()
    }
}

#[async_trait]
impl Shell for Fake {
    async fn run(&self, command: Command) -> Result<RunResult, Error> {
        self.ran.lock().unwrap().push(command);
        Ok(RunResult {
            exit_code: Some(3),
            stdout: Output { bytes: Bytes::from_static(b"out\xff"), total_bytes: 4, truncated: false },
            stderr: Output { bytes: Bytes::from_static(b"err"), total_bytes: 300, truncated: true },
            duration_ms: 12,
            ..RunResult::default()
        })
    }

    async fn stream(&self, _: Command) -> Result<RunStream, Error> {
        not_in_fake()
    }

    async fn start(&self, start: Start) -> Result<ProcessInfo, Error> {
        self.ran.lock().unwrap().push(start.command);
        Ok(ProcessInfo {
            id: ProcessId(1),
            program: "sleep".into(),
            state: ProcessState::Running,
            started_at: Timestamp::from_micros(0),
            output_bytes: 0,
            has_pty: false,
        })
    }

    async fn poll(&self, _: ProcessId, poll: Poll) -> Result<Polled, Error> {
        let output = self.output.lock().unwrap();
        let begin = usize::try_from(poll.offset).unwrap().min(output.len());
        let end = output.len().min(begin + usize::try_from(poll.max_bytes).unwrap());
        Ok(Polled {
            bytes: output.slice(begin..end),
            offset: begin as u64,
            next_offset: end as u64,
            state: ProcessState::Running,
        })
    }

    async fn write_stdin(&self, _: ProcessId, _: Bytes, _: bool) -> Result<(), Error> {
        not_in_fake()
    }

    async fn resize(&self, _: ProcessId, _: PtySize) -> Result<(), Error> {
        not_in_fake()
    }

    async fn kill(&self, process: ProcessId, signal: Signal) -> Result<(), Error> {
        self.killed.lock().unwrap().push((process, signal));
        Ok(())
    }

    async fn list(&self) -> Result<Vec<ProcessInfo>, Error> {
        not_in_fake()
    }
}

/// Keeps the sentences of refusals.
#[derive(Debug, Default)]
pub(super) struct Audit(pub(super) Mutex<Vec<String>>);

impl RefusalSink for Audit {
    fn write(&self, record: &RefusalRecord<'_>) {
        if let RefusalRecord::Full { tool, refusal, .. } = record {
            self.0.lock().unwrap().push(format!("{tool}: {}", refusal.sentence));
        }
    }
}

pub(super) fn id() -> WorkspaceId {
    WorkspaceId::from_bytes([5; 16])
}

pub(super) fn both() -> CapabilitySet {
    CapabilitySet::EMPTY.with(Capability::Fs).with(Capability::Shell)
}

pub(super) fn context(allow: &[&str]) -> (ToolContext, Arc<Audit>) {
    let audit = Arc::new(Audit::default());
    let context = ToolContext {
        workspace_id: id(),
        capabilities: both(),
        policy: RunPolicy {
            allow: Some(allow.iter().map(|name| (*name).to_owned()).collect()),
            ..RunPolicy::default()
        },
        is_boxed: false,
        refusals: RefusalLog::new(Arc::clone(&audit) as Arc<dyn RefusalSink>),
        secrets: crate::SecretVariables::default(),
        output: None,
        start: crate::tools::CommandStart::Plain,
    };
    (context, audit)
}
