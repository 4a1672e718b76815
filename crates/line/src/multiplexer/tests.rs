use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;

use super::*;
use crate::Door;

const TO_MODELS: Target = Target::Door(Door::Model);

/// Two sides and the line between them. What is opened at Warren comes out of the receiver.
fn line() -> (Multiplexer, Multiplexer, mpsc::UnboundedReceiver<(Target, LineStream)>) {
    let (in_box, warren) = (Multiplexer::new(Side::InBox), Multiplexer::new(Side::Warren));
    let (opened, accepted) = mpsc::unbounded_channel();
    for (from, to) in [(in_box.clone(), warren.clone()), (warren.clone(), in_box.clone())] {
        let opened = opened.clone();
        tokio::spawn(async move {
            while let Some(line) = from.next_line().await {
                if let Received::Opened { target, stream } = to.receive(&line) {
                    let _ = opened.send((target, stream));
                }
            }
        });
    }
    (in_box, warren, accepted)
}

// A81
#[tokio::test]
async fn bytes_go_both_ways_and_each_side_ends_for_itself() {
    let (in_box, _warren, mut accepted) = line();
    let mut ours = in_box.open(TO_MODELS).unwrap();
    ours.write_all(b"asked").await.unwrap();
    ours.shutdown().await.unwrap();
    let (target, mut theirs) = accepted.recv().await.unwrap();
    assert_eq!(target, TO_MODELS);
    let mut asked = String::new();
    theirs.read_to_string(&mut asked).await.unwrap();
    assert_eq!(asked, "asked");
    theirs.write_all(b"answered").await.unwrap();
    theirs.shutdown().await.unwrap();
    drop(theirs);
    let mut answered = String::new();
    ours.read_to_string(&mut answered).await.unwrap();
    assert_eq!(answered, "answered");
    drop(ours);
    tokio::task::yield_now().await;
    assert_eq!((in_box.lock().streams.len(), _warren.lock().streams.len()), (0, 0), "nothing is kept");
}

// A81
#[tokio::test]
async fn a_megabyte_arrives_whole_on_each_of_many_streams() {
    let (in_box, warren, mut accepted) = line();
    let mut sums = Vec::new();
    for index in 0..MAX_STREAMS {
        let mut stream =
            if index % 2 == 0 { in_box.open(TO_MODELS) } else { warren.open(Target::Port(80)) }.unwrap();
        let (_, mut other) = accepted.recv().await.unwrap();
        let byte = u8::try_from(index).unwrap();
        sums.push(tokio::spawn(async move {
            let writing = tokio::spawn(async move {
                stream.write_all(&vec![byte; 1 << 20]).await.unwrap();
                stream.shutdown().await.unwrap();
            });
            let mut all = Vec::new();
            other.read_to_end(&mut all).await.unwrap();
            writing.await.unwrap();
            all.len() == 1 << 20 && all.iter().all(|one| *one == byte)
        }));
    }
    for sum in sums {
        assert!(sum.await.unwrap());
    }
}

// A81: one slow reader blocks neither the line nor memory
#[tokio::test(start_paused = true)]
async fn a_reader_that_does_not_read_holds_up_its_own_stream_alone() {
    let (in_box, warren, mut accepted) = line();
    let mut slow = in_box.open(TO_MODELS).unwrap();
    let (_, mut slow_reader) = accepted.recv().await.unwrap();
    let flood = tokio::spawn(async move {
        let mut written = 0;
        while let Ok(Ok(())) = tokio::time::timeout(Duration::from_secs(1), slow.write_all(&[7; 4_096])).await
        {
            written += 4_096;
        }
        (written, slow)
    });
    let (written, slow) = flood.await.unwrap();
    assert!((WINDOW_BYTES..=WINDOW_BYTES + UNSENT_BYTES).contains(&written), "{written}");
    assert_eq!(warren.lock().streams.values().map(|stream| stream.received_bytes).max(), Some(WINDOW_BYTES));
    let mut quick = in_box.open(TO_MODELS).unwrap();
    let (_, mut quick_reader) = accepted.recv().await.unwrap();
    quick.write_all(b"quick").await.unwrap();
    let mut heard = [0; 5];
    quick_reader.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"quick");
    // It goes on where it stood.
    let mut taken = vec![0; WINDOW_BYTES];
    slow_reader.read_exact(&mut taken).await.unwrap();
    drop(slow);
}

// A81
#[tokio::test]
async fn a_stream_that_is_dropped_is_reset_at_the_other_side() {
    let (in_box, _warren, mut accepted) = line();
    let ours = in_box.open(TO_MODELS).unwrap();
    let (_, mut theirs) = accepted.recv().await.unwrap();
    drop(ours);
    let error = theirs.read(&mut [0; 1]).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    assert!(theirs.write_all(b"x").await.is_err());
}

// A81: the last answer arrives though whoever gave it reads no further
#[tokio::test]
async fn what_was_written_before_the_end_arrives_though_the_writer_is_gone() {
    let (in_box, _warren, mut accepted) = line();
    let mut ours = in_box.open(TO_MODELS).unwrap();
    ours.write_all(b"a request that is never read to its end").await.unwrap();
    let (_, mut theirs) = accepted.recv().await.unwrap();
    theirs.write_all(&[b'n'; 50_000]).await.unwrap();
    theirs.shutdown().await.unwrap();
    drop(theirs);
    let mut answer = Vec::new();
    ours.read_to_end(&mut answer).await.unwrap();
    assert_eq!(answer.len(), 50_000);
}

// A81: bad input
#[tokio::test]
async fn a_side_that_breaks_the_rules_loses_the_stream_and_nothing_else() {
    let warren = Multiplexer::new(Side::Warren);
    let line = |frame: Frame| warren.receive(&frame.to_line());
    let open = |id| Frame::Open { stream: id, target: TO_MODELS };
    assert!(matches!(line(open(2)), Received::Nothing), "even numbers are Warren's own");
    assert!(matches!(line(open(0)), Received::Nothing));
    let Received::Opened { stream: mut first, .. } = line(open(1)) else { panic!("refused") };
    assert!(matches!(line(open(1)), Received::Nothing), "a number stands for one stream");
    for _ in 0..WINDOW_BYTES / PIECE_BYTES {
        line(Frame::Data { stream: 1, bytes: vec![0; PIECE_BYTES].into() });
    }
    line(Frame::Data { stream: 1, bytes: Bytes::from_static(b"one too many") });
    let mut all = Vec::new();
    assert!(first.read_to_end(&mut all).await.is_err());
    assert_eq!(all.len(), WINDOW_BYTES);
    let said = String::from_utf8(warren.next_line().await.unwrap()).unwrap();
    // What it read was granted; then comes the end of it.
    assert!(said.contains("reset") || said.contains("more"), "{said}");
    drop(first);
    // Of streams that nobody knows, nothing is said.
    line(Frame::Data { stream: 99, bytes: Bytes::from_static(b"x") });
    line(Frame::More { stream: 99, bytes: 1 });
    line(Frame::End { stream: 99 });
    assert!(matches!(warren.receive(b"{\"stream\":nonsense"), Received::NotAFrame));
    let mut held = Vec::new();
    for index in 0..MAX_STREAMS as u64 {
        let Received::Opened { stream, .. } = line(open(101 + 2 * index)) else { panic!("refused") };
        held.push(stream);
    }
    assert!(matches!(line(open(999)), Received::Nothing), "too many");
    drop(held);
    assert!(matches!(line(open(1_001)), Received::Opened { .. }));
}

// A81
#[tokio::test]
async fn the_end_of_the_line_is_the_end_of_its_streams() {
    let (in_box, warren, mut accepted) = line();
    let mut ours = in_box.open(TO_MODELS).unwrap();
    let (_, mut theirs) = accepted.recv().await.unwrap();
    in_box.end();
    warren.end();
    assert!(ours.read(&mut [0; 1]).await.is_err());
    assert!(theirs.read(&mut [0; 1]).await.is_err());
    assert_eq!(in_box.open(TO_MODELS).unwrap_err(), OpenError::Ended);
    assert_eq!(warren.next_line().await, None);
}
