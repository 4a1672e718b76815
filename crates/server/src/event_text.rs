//! Events as the bytes that readers get. What is the same for a thousand readers is written once.

use bytes::{BufMut as _, Bytes, BytesMut};
use warren_api::EventFrame;
use warren_model::{Event, OrgId, WorkspaceId};

use crate::convert;

const DATA: &[u8] = b"data: ";

/// What keeps a stream alive and says nothing.
pub(crate) const COMMENT: Bytes = Bytes::from_static(b":\n\n");

/// One frame as a server-sent event.
pub(crate) fn of_frame(frame: &EventFrame) -> Bytes {
    let seq = match frame {
        EventFrame::Event { event } => Some(event.seq),
        EventFrame::CaughtUp { seq } => Some(*seq),
        EventFrame::Live { .. }
        | EventFrame::Truncated { .. }
        | EventFrame::Lagged { .. }
        | EventFrame::Closing { .. } => None,
    };
    let mut text = BytesMut::new();
    put(&mut text, seq, frame);
    text.freeze()
}

/// JSON has no line breaks of its own, so that a frame is one line of data.
fn put(text: &mut BytesMut, seq: Option<u64>, frame: &EventFrame) {
    if let Some(seq) = seq {
        text.put_slice(format!("id: {seq}\n").as_bytes());
    }
    text.put_slice(DATA);
    // Strings and numbers alone: it cannot fail.
    let _ = serde_json::to_writer((&mut *text).writer(), frame);
    text.put_slice(b"\n\n");
}

/// The frames of a text as [`of_frame`] and [`EventBatch`] write it, each as JSON.
pub(crate) fn frames(text: &Bytes) -> impl Iterator<Item = Bytes> + '_ {
    let lines = text.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(DATA));
    lines.map(|json| text.slice_ref(json))
}

/// Events that follow each other in the log.
#[derive(Debug)]
pub(crate) struct EventBatch {
    lines: Vec<Line>,
    whole: Bytes,
}

#[derive(Debug)]
struct Line {
    seq: u64,
    org_id: OrgId,
    workspace_id: Option<WorkspaceId>,
    end: usize,
}

impl EventBatch {
    pub(crate) fn of(events: &[Event]) -> Self {
        let mut text = BytesMut::new();
        let lines = events
            .iter()
            .map(|event| {
                put(&mut text, Some(event.seq), &EventFrame::Event { event: convert::event(event) });
                Line {
                    seq: event.seq,
                    org_id: event.org_id,
                    workspace_id: event.workspace_id,
                    end: text.len(),
                }
            })
            .collect();
        Self { lines, whole: text.freeze() }
    }

    /// The sequence of the last event.
    pub(crate) fn last(&self) -> Option<u64> {
        self.lines.last().map(|line| line.seq)
    }

    /// What comes after `after` and may be seen. Where that is a stretch, it is shared and not copied.
    pub(crate) fn visible(
        &self,
        after: u64,
        may_see: impl Fn(OrgId, Option<WorkspaceId>) -> bool,
    ) -> Option<Bytes> {
        let mut stretches: Vec<std::ops::Range<usize>> = Vec::new();
        let mut start = 0;
        for line in &self.lines {
            let own = start..line.end;
            start = line.end;
            if line.seq <= after || !may_see(line.org_id, line.workspace_id) {
                continue;
            }
            match stretches.last_mut().filter(|last| last.end == own.start) {
                Some(last) => last.end = own.end,
                None => stretches.push(own),
            }
        }
        match stretches.as_slice() {
            [] => None,
            [one] => Some(self.whole.slice(one.clone())),
            many => {
                let mut text = BytesMut::with_capacity(many.iter().map(std::ops::Range::len).sum());
                many.iter().for_each(|stretch| text.put_slice(&self.whole[stretch.clone()]));
                Some(text.freeze())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use warren_doors::{Entropy, OsEntropy};
    use warren_model::{EventKind, Principal, Timestamp};

    use super::*;

    fn event(seq: u64, org_id: OrgId, workspace_id: Option<WorkspaceId>) -> Event {
        Event {
            seq,
            at: Timestamp::from_micros(1_763_200_000_000_000),
            kind: EventKind::WorkspaceCreated,
            org_id,
            workspace_id,
            principal: Principal::system("test"),
            data: serde_json::json!({ "text": "two\nlines, data: one" }).into(),
        }
    }

    fn sequences(text: &Bytes) -> Vec<u64> {
        let read = |json: Bytes| serde_json::from_slice::<EventFrame>(&json).expect("a frame");
        let seq = |frame| match frame {
            EventFrame::Event { event } => event.seq,
            other => panic!("{other:?}"),
        };
        frames(text).map(read).map(seq).collect()
    }

    // F40
    #[test]
    fn a_reader_gets_of_a_batch_what_is_new_to_it_and_its_own() {
        let entropy: &dyn Entropy = &OsEntropy;
        let now = Timestamp::from_micros(1_763_200_000_000_000);
        let (ours, theirs): (OrgId, OrgId) = (entropy.id(now), entropy.id(now));
        let (one, other): (WorkspaceId, WorkspaceId) = (entropy.id(now), entropy.id(now));
        let batch = EventBatch::of(&[
            event(5, ours, Some(one)),
            event(6, theirs, None),
            event(7, ours, Some(other)),
            event(9, ours, None),
        ]);
        assert_eq!(batch.last(), Some(9));
        let seen = |after, may_see: &dyn Fn(OrgId, Option<WorkspaceId>) -> bool| {
            batch.visible(after, may_see).map_or_else(Vec::new, |text| sequences(&text))
        };
        assert_eq!(seen(0, &|_, _| true), [5, 6, 7, 9]);
        assert_eq!(seen(6, &|_, _| true), [7, 9]);
        assert_eq!(seen(0, &|org, _| org == ours), [5, 7, 9]);
        assert_eq!(seen(0, &|_, workspace| workspace == Some(one)), [5]);
        assert_eq!(batch.visible(9, |_, _| true), None);
        assert_eq!(batch.visible(0, |_, _| false), None);
    }

    // P10
    #[test]
    fn a_stretch_of_a_batch_is_shared_between_its_readers() {
        let entropy: &dyn Entropy = &OsEntropy;
        let org = entropy.id(Timestamp::from_micros(1_763_200_000_000_000));
        let batch = EventBatch::of(&[event(1, org, None), event(2, org, None), event(3, org, None)]);
        let whole = batch.visible(0, |_, _| true).expect("all of it");
        let end = batch.visible(1, |_, _| true).expect("the end of it");
        assert_eq!(whole.as_ptr(), batch.whole.as_ptr());
        assert_eq!(end.as_ptr_range().end, batch.whole.as_ptr_range().end);
    }
}
