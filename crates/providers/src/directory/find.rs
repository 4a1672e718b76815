//! `glob` and `grep` over a parallel walk.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::fd::AsFd;
use rustix::fs::FileType;
use rustix::io::Errno;
use warren_confined_fs::{Smallest, open_regular, open_stated_regular, size_of};
use warren_workspace::fs::{GlobQuery, GlobResult, GrepQuery, GrepResult};
use warren_workspace::{Error, WorkspacePath};

use super::blocking;
use super::open_directory::OpenDirectory;
use super::walk::{FoundFile, Walk, as_path, read_small};
use crate::search::{Findings, Globs, GrepPlan, IgnoreChain, MAX_PATHS, Source};

/// A glob over more than this can list is answered with `truncated`.
const GLOB_DEADLINE: Duration = Duration::from_secs(10);
/// How long an answer waits for workers that are in the middle of a file when the time is up.
const PATIENCE: Duration = Duration::from_millis(50);

pub(super) async fn glob(place: Arc<OpenDirectory>, query: &GlobQuery) -> Result<GlobResult, Error> {
    let globs = Globs::whole_path(&query.pattern)?;
    let start = blocking({
        let (place, query) = (Arc::clone(&place), query.clone());
        move || start(&place, &query.root, query.respect_ignore_files)
    })
    .await?;
    let Start::Directory(walk) = start else {
        let name = query.root.file_name().unwrap_or("");
        let is_wanted = globs.matches(Path::new(name));
        return Ok(GlobResult {
            paths: is_wanted.then(|| query.root.as_str().to_owned()).into_iter().collect(),
            truncated: false,
        });
    };
    let search = Arc::new(GlobSearch {
        globs,
        root: query.root.clone(),
        deadline: Instant::now() + GLOB_DEADLINE,
        found: Mutex::new(Smallest::new(query.limit.clamp(1, MAX_PATHS) as usize)),
    });
    work(&walk, &search, GlobSearch::worker).await;
    let is_late = Instant::now() > search.deadline;
    let capacity = Smallest::new(0);
    let found =
        std::mem::replace(&mut *search.found.lock().unwrap_or_else(PoisonError::into_inner), capacity);
    Ok(GlobResult {
        truncated: found.overflowed || is_late,
        paths: found
            .into_sorted()
            .into_iter()
            .map(|path| String::from_utf8_lossy(&path).into_owned())
            .collect(),
    })
}

struct GlobSearch {
    globs: Globs,
    root: WorkspacePath,
    deadline: Instant,
    found: Mutex<Smallest<Vec<u8>>>,
}

impl GlobSearch {
    fn worker(&self, walk: &Walk) {
        walk.work(|file| {
            if self.globs.matches(relative(file.path, &self.root)) {
                self.found.lock().unwrap_or_else(PoisonError::into_inner).offer(file.path.to_vec());
            }
            Instant::now() <= self.deadline
        });
    }
}

pub(super) async fn grep(place: Arc<OpenDirectory>, query: &GrepQuery) -> Result<GrepResult, Error> {
    let plan = GrepPlan::compile(query, place.max_grep_file_bytes)?;
    let deadline = tokio::time::Instant::from_std(plan.deadline + PATIENCE);
    let findings = Arc::new(Findings::new(plan.max_matches));
    // Whoever stops waiting stops the search.
    let _ends = EndsOnDrop(Arc::clone(&findings));
    let search = Arc::new(GrepSearch { plan, root: query.root.clone(), findings: Arc::clone(&findings) });
    let searched = async {
        let (start_place, query) = (Arc::clone(&place), query.clone());
        let started = blocking(move || start(&start_place, &query.root, query.respect_ignore_files)).await?;
        match started {
            Start::Directory(walk) => work(&walk, &search, GrepSearch::worker).await,
            Start::File(file, bytes) => {
                let search = Arc::clone(&search);
                blocking(move || {
                    search.search_file(file, bytes, search.root.as_str());
                    Ok(())
                })
                .await?;
            }
        }
        Ok(())
    };
    match tokio::time::timeout_at(deadline, searched).await {
        Ok(done) => done?,
        Err(_) => findings.truncate(),
    }
    Ok(findings.take())
}

struct EndsOnDrop(Arc<Findings>);

impl Drop for EndsOnDrop {
    fn drop(&mut self) {
        self.0.truncate();
    }
}

struct GrepSearch {
    plan: GrepPlan,
    root: WorkspacePath,
    findings: Arc<Findings>,
}

impl GrepSearch {
    fn worker(&self, walk: &Walk) {
        let mut searcher = self.plan.searcher();
        walk.work(|file| {
            if Instant::now() > self.plan.deadline {
                self.findings.truncate();
            }
            if self.findings.is_over() {
                return false;
            }
            if self.plan.globs.matches(relative(file.path, &self.root))
                && let Some((opened, bytes)) = open(&file)
            {
                let path = String::from_utf8_lossy(file.path);
                self.search_with(&mut searcher, opened, bytes, &path);
            }
            true
        });
    }

    fn search_file(&self, file: std::fs::File, bytes: u64, path: &str) {
        self.search_with(&mut self.plan.searcher(), file, bytes, path);
    }

    fn search_with(
        &self,
        searcher: &mut grep_searcher::Searcher,
        file: std::fs::File,
        bytes: u64,
        path: &str,
    ) {
        if bytes > self.plan.max_file_bytes {
            self.findings.skip(path.to_owned());
        } else if bytes > 0 {
            self.plan.search(searcher, path, Source::File(file), &self.findings);
        }
    }
}

/// A regular file of the walk. Links are not followed: what they name is searched where it is.
fn open(found: &FoundFile<'_>) -> Option<(std::fs::File, u64)> {
    let opened = match found.kind {
        FileType::RegularFile => open_stated_regular(found.directory, found.name),
        FileType::Unknown => open_regular(found.directory, found.name),
        _ => return None,
    };
    let (file, stat) = opened.ok()?;
    Some((file.into(), size_of(&stat)))
}

enum Start {
    Directory(Arc<Walk>),
    File(std::fs::File, u64),
}

fn start(place: &OpenDirectory, root: &WorkspacePath, respects_ignore_files: bool) -> Result<Start, Error> {
    let failed = |errno| place.failure(errno, root);
    match place.root.directory(root) {
        Ok(directory) => {
            let ignore = respects_ignore_files.then(|| rules_above(place, root));
            Ok(Start::Directory(Arc::new(Walk::new(directory, root.as_str().as_bytes(), ignore))))
        }
        Err(Errno::NOTDIR) => {
            let (file, stat) = place.root.file(root).map_err(failed)?;
            debug_assert_eq!(FileType::from_raw_mode(stat.st_mode), FileType::RegularFile);
            Ok(Start::File(file, size_of(&stat)))
        }
        Err(errno) => Err(failed(errno)),
    }
}

/// The ignore files of the directories that `root` is in, from the workspace root down.
fn rules_above(place: &OpenDirectory, root: &WorkspacePath) -> IgnoreChain {
    let mut above = Vec::new();
    let mut here = root.parent();
    while let Some(directory) = here {
        here = directory.parent();
        above.push(directory);
    }
    above.iter().rev().fold(IgnoreChain::default(), |chain, directory| {
        match place.root.directory(directory) {
            Ok(handle) => {
                chain.descend(as_path(directory.as_str().as_bytes()), |name| read_small(handle.as_fd(), name))
            }
            Err(_) => chain,
        }
    })
}

/// Lets several threads walk, and waits for all of them.
async fn work<S: Send + Sync + 'static>(walk: &Arc<Walk>, search: &Arc<S>, worker: fn(&S, &Walk)) {
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get).clamp(2, 8);
    let workers: Vec<_> = (0..threads)
        .map(|_| {
            let (walk, search) = (Arc::clone(walk), Arc::clone(search));
            tokio::task::spawn_blocking(move || worker(&search, &walk))
        })
        .collect();
    for worker in workers {
        if let Err(error) = worker.await {
            tracing::error!(%error, "a search worker panicked; its part is missing");
        }
    }
}

fn relative<'a>(path: &'a [u8], root: &WorkspacePath) -> &'a Path {
    let rest = path.strip_prefix(root.as_str().as_bytes()).unwrap_or(path);
    Path::new(OsStr::from_bytes(rest.strip_prefix(b"/").unwrap_or(rest)))
}
