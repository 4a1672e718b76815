//! A compiled grep query, and the search of one file.

use std::fs::File;
use std::io::{self, Read};
use std::time::{Duration, Instant};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch};
use warren_model::{ErrorCode, truncate_utf8};
use warren_workspace::Error;
use warren_workspace::fs::{GrepMatch, GrepQuery};

use super::{Findings, Globs};

const MAX_PATTERN_BYTES: usize = 4_096;
/// Of the compiled program. ripgrep allows 100 MiB; a search is at most size × input, so ours is small.
const MAX_REGEX_BYTES: usize = 1 << 20;
const MAX_DFA_BYTES: usize = 8 << 20;
const MAX_NESTING: u32 = 64;
const MAX_CONTEXT_LINES: u32 = 50;
const MAX_MATCHES: u32 = 10_000;
const MAX_LINE_BYTES: usize = 2_000;
const MAX_DEADLINE_MS: u64 = 60_000;

#[derive(Debug)]
pub(crate) struct GrepPlan {
    matcher: RegexMatcher,
    pub(crate) globs: Globs,
    context_lines: u32,
    pub(crate) max_matches: u32,
    pub(crate) max_file_bytes: u64,
    pub(crate) deadline: Instant,
}

/// Where the bytes of a file come from.
#[derive(Debug)]
pub(crate) enum Source<'a> {
    File(File),
    Slice(&'a [u8]),
}

impl GrepPlan {
    pub(crate) fn compile(query: &GrepQuery, max_file_bytes: u64) -> Result<Self, Error> {
        let invalid = |detail: String| Error::operation(ErrorCode::InvalidPattern, detail);
        if query.pattern.is_empty() || query.pattern.len() > MAX_PATTERN_BYTES {
            return Err(invalid(format!("a pattern has between 1 and {MAX_PATTERN_BYTES} bytes")));
        }
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(query.ignore_case)
            .fixed_strings(query.is_literal)
            .multi_line(true)
            .line_terminator(Some(b'\n'))
            .size_limit(MAX_REGEX_BYTES)
            .dfa_size_limit(MAX_DFA_BYTES)
            .nest_limit(MAX_NESTING)
            .build(&query.pattern)
            .map_err(|error| invalid(format!("the pattern is not valid: {error}")))?;
        Ok(Self {
            matcher,
            globs: Globs::filters(&query.globs)?,
            context_lines: query.context_lines.min(MAX_CONTEXT_LINES),
            max_matches: query.max_matches.clamp(1, MAX_MATCHES),
            max_file_bytes,
            deadline: Instant::now() + Duration::from_millis(query.deadline_ms.min(MAX_DEADLINE_MS)),
        })
    }

    /// One searcher serves many files, one after the other: it keeps its buffers.
    pub(crate) fn searcher(&self) -> Searcher {
        let context = self.context_lines as usize;
        SearcherBuilder::new()
            .line_number(true)
            .before_context(context)
            .after_context(context)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(usize::try_from(self.max_file_bytes).ok().map(|max| max + (1 << 17)))
            .build()
    }

    /// Searches one file. A file that cannot be read to its end counts as far as it was read.
    pub(crate) fn search(
        &self,
        searcher: &mut Searcher,
        path: &str,
        source: Source<'_>,
        findings: &Findings,
    ) {
        let mut sink = LineSink {
            path,
            findings,
            deadline: self.deadline,
            context_lines: u64::from(self.context_lines),
            recent: Vec::new(),
            matches: Vec::new(),
            is_binary: false,
        };
        let searched = match source {
            Source::Slice(bytes) => searcher.search_slice(&self.matcher, bytes, &mut sink),
            Source::File(file) => {
                let reader = UntilDeadline { file, findings, deadline: self.deadline };
                searcher.search_reader(&self.matcher, reader, &mut sink)
            }
        };
        if let Err(error) = searched {
            tracing::debug!(%error, "a file was not searched to its end");
        }
        if sink.is_binary {
            findings.return_matches(sink.matches.len());
            sink.matches.clear();
        }
        findings.add_file(sink.matches);
    }
}

/// Stops a long search between two reads.
struct UntilDeadline<'a> {
    file: File,
    findings: &'a Findings,
    deadline: Instant,
}

impl Read for UntilDeadline<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.findings.is_over() || Instant::now() > self.deadline {
            self.findings.truncate();
            return Ok(0);
        }
        self.file.read(buffer)
    }
}

/// Gathers the matches of one file with the lines around them.
struct LineSink<'a> {
    path: &'a str,
    findings: &'a Findings,
    deadline: Instant,
    context_lines: u64,
    /// The last lines seen, for `before`; at most `context_lines`.
    recent: Vec<(u64, String)>,
    matches: Vec<GrepMatch>,
    is_binary: bool,
}

impl LineSink<'_> {
    /// The searcher tells a line once, though it may follow one match and precede the next: so each line is given
    /// to the matches just above it and kept for those below.
    fn take_line(&mut self, number: u64, line: &str) {
        if self.context_lines == 0 {
            return;
        }
        for above in self.matches.iter_mut().rev() {
            if above.line_number + self.context_lines < number {
                break;
            }
            self.findings.claim_text(line.len());
            above.after.push(line.to_owned());
        }
        if self.recent.len() as u64 == self.context_lines {
            self.recent.remove(0);
        }
        self.recent.push((number, line.to_owned()));
    }
}

impl Sink for LineSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.findings.is_over() || !self.findings.claim_match() {
            return Ok(false);
        }
        if Instant::now() > self.deadline {
            self.findings.truncate();
            return Ok(false);
        }
        let number = found.line_number().unwrap_or(0);
        let line = shown(found.bytes());
        let from = number.saturating_sub(self.context_lines);
        let before: Vec<_> =
            self.recent.iter().filter(|(above, _)| *above >= from).map(|(_, line)| line.clone()).collect();
        self.take_line(number, &line);
        let text = line.len() + self.path.len() + before.iter().map(String::len).sum::<usize>();
        self.findings.claim_text(text);
        self.matches.push(GrepMatch {
            path: self.path.to_owned(),
            line_number: number,
            line,
            before,
            after: Vec::new(),
        });
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let number = context.line_number().unwrap_or(0);
        self.take_line(number, &shown(context.bytes()));
        Ok(!self.findings.is_over())
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.is_binary |= finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// A line without its end, as text, cut with `…` where it is long.
fn shown(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // Four bytes more than the limit: a character cut here is then cut off again below.
    let head = &line[..line.len().min(MAX_LINE_BYTES + 4)];
    let text = String::from_utf8_lossy(head);
    match truncate_utf8(&text, MAX_LINE_BYTES) {
        whole if whole.len() == text.len() => text.into_owned(),
        cut => format!("{cut}…"),
    }
}

#[cfg(test)]
mod tests {
    use warren_workspace::WorkspacePath;
    use warren_workspace::fs::GrepResult;

    use super::*;

    fn query(pattern: &str) -> GrepQuery {
        GrepQuery {
            pattern: pattern.into(),
            is_literal: false,
            ignore_case: false,
            root: WorkspacePath::root(),
            globs: vec![],
            context_lines: 0,
            respect_ignore_files: false,
            max_matches: 100,
            deadline_ms: 5_000,
        }
    }

    fn search(query: &GrepQuery, text: &[u8]) -> GrepResult {
        let plan = GrepPlan::compile(query, 1 << 20).unwrap();
        let findings = Findings::new(plan.max_matches);
        plan.search(&mut plan.searcher(), "f", Source::Slice(text), &findings);
        findings.take()
    }

    // W23
    #[test]
    fn context_is_whole_even_where_matches_are_close() {
        let mut near = query("hit");
        near.context_lines = 2;
        let result = search(&near, b"a\nhit 1\nb\nhit 2\nc\nd\ne\n");
        let [first, second] = result.matches.as_slice() else { panic!("{result:?}") };
        assert_eq!((first.before.join(","), first.after.join(",")), ("a".into(), "b,hit 2".into()));
        assert_eq!((second.before.join(","), second.after.join(",")), ("hit 1,b".into(), "c,d".into()));
    }

    // W23
    #[test]
    fn a_search_stops_at_its_limit_and_only_then_says_truncated() {
        let mut few = query("x");
        few.max_matches = 3;
        let exact = search(&few, b"x\nx\nx\n");
        assert!(exact.matches.len() == 3 && !exact.truncated);
        let more = search(&few, b"x\nx\nx\nx\n");
        assert!(more.matches.len() == 3 && more.truncated);
    }

    // W23
    #[test]
    fn binary_files_give_no_matches_and_long_lines_are_cut_visibly() {
        assert!(search(&query("x"), b"x\nx\0x\n").matches.is_empty());
        let long = search(&query("é"), "é".repeat(5_000).as_bytes());
        assert!(long.matches[0].line.len() <= MAX_LINE_BYTES + 3 && long.matches[0].line.ends_with("é…"));
    }

    // F10 (security)
    #[test]
    fn patterns_that_explode_are_refused_and_slow_ones_are_linear() {
        for bomb in ["(a{100}){100}{100}", "((((a{50}){50}){50}){50})", "(", "a\\nb", "", "\\p{Nope}"] {
            let error = GrepPlan::compile(&query(bomb), 1 << 20).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidPattern, "{bomb}");
        }
        let started = Instant::now();
        search(&query(".*[^A-Z]|[A-Z]"), "A".repeat(1 << 20).as_bytes());
        search(&query("(x+x+)+y"), "x".repeat(1 << 20).as_bytes());
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    }
}
