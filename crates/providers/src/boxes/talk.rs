//! A program in a box that Warren talks to: a `Run` without a deadline whose input goes on (F18).
//!
//! Both ways are bounded: input by what process 1 says it has taken, output by what whoever listens has read.

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use warren_init::{Answer, Call, Channel as OutputChannel, Exit, OUTPUT_WINDOW_BYTES, Spawn, output_cost};
use warren_workspace::Error;
use warren_workspace::shell::{Command, Conversation as Talk, RunEvent, RunResult};

use super::channel::{Channel, ChannelError, Conversation};
use super::shell::{closed_meanwhile, lost_before, lost_meanwhile, nonsense, start_failure};

/// Input that is under way before process 1 has said that it takes more.
const INPUT_WINDOW_BYTES: usize = 256 << 10;
/// Pieces that wait on either side.
const MAX_WAITING: usize = 16;

/// Starts it. The conversation goes with the stream, and the program with the conversation.
pub(super) fn begin(
    channel: &Channel,
    command: Command,
    mut spawn: Spawn,
    closing: CancellationToken,
    tracker: &TaskTracker,
) -> Result<Talk, Error> {
    spawn.has_more_input = true;
    let conversation = channel.converse(Call::Run(spawn)).map_err(lost_before)?;
    let (input, to_send) = mpsc::channel(MAX_WAITING);
    let (told, said) = mpsc::channel(MAX_WAITING);
    let talking = Talking {
        conversation,
        command,
        to_send: Some(to_send),
        waiting: Bytes::new(),
        room: INPUT_WINDOW_BYTES,
        ungranted: 0,
        told: told.clone(),
    };
    let task = tracker.spawn(async move {
        let ended = tokio::select! {
            ended = talking.go_on() => ended,
            () = closing.cancelled() => Err(closed_meanwhile()),
        };
        // Nobody listening is fine.
        let _ = told.send(ended.map(RunEvent::Finished)).await;
    });
    let state = (said, AbortOnDropHandle::new(task));
    let said = stream::unfold(state, |(mut said, task)| async move {
        let event = said.recv().await?;
        Some((event, (said, task)))
    });
    Ok(Talk { input, said: said.boxed() })
}

struct Talking {
    conversation: Conversation,
    command: Command,
    /// Absent once the input has ended.
    to_send: Option<mpsc::Receiver<Bytes>>,
    /// What is to be sent next.
    waiting: Bytes,
    room: usize,
    /// Read, but process 1 was not yet told that it may send as much again.
    ungranted: u32,
    told: mpsc::Sender<Result<RunEvent, Error>>,
}

impl Talking {
    async fn go_on(mut self) -> Result<RunResult, Error> {
        loop {
            self.send().map_err(lost_meanwhile)?;
            let has_room = self.waiting.is_empty();
            tokio::select! {
                answer = self.conversation.next() => match answer {
                    Some(Answer::Output { channel, bytes }) => self.pass_on(channel, bytes.into()).await?,
                    Some(Answer::InputTaken { bytes }) => self.room += bytes as usize,
                    Some(Answer::Exited(exit)) => {
                        self.conversation.has_ended = true;
                        return Ok(result(exit));
                    }
                    Some(Answer::Failed(failure)) => {
                        self.conversation.has_ended = true;
                        return Err(start_failure(&self.command, &failure));
                    }
                    Some(_) => return Err(nonsense()),
                    None => return Err(lost_meanwhile(ChannelError::Gone)),
                },
                piece = next_input(&mut self.to_send), if has_room => match piece {
                    Some(piece) => self.waiting = piece,
                    None => {
                        self.to_send = None;
                        let last = Call::Input { bytes: Vec::new(), last: true };
                        self.conversation.add(last).map_err(lost_meanwhile)?;
                    }
                },
            }
        }
    }

    fn send(&mut self) -> Result<(), ChannelError> {
        let fits = self.waiting.len().min(self.room);
        if fits == 0 {
            return Ok(());
        }
        self.room -= fits;
        let bytes = self.waiting.split_to(fits).to_vec();
        self.conversation.add(Call::Input { bytes, last: false })
    }

    async fn pass_on(&mut self, channel: OutputChannel, piece: Bytes) -> Result<(), Error> {
        let cost = u32::try_from(output_cost(piece.len())).unwrap_or(u32::MAX);
        let event = match channel {
            OutputChannel::Stdout => RunEvent::Stdout(piece),
            OutputChannel::Stderr => RunEvent::Stderr(piece),
        };
        let _ = self.told.send(Ok(event)).await;
        self.ungranted = self.ungranted.saturating_add(cost);
        if self.ungranted >= OUTPUT_WINDOW_BYTES / 2 {
            let bytes = std::mem::take(&mut self.ungranted);
            self.conversation.add(Call::Grant { bytes }).map_err(lost_meanwhile)?;
        }
        Ok(())
    }
}

async fn next_input(input: &mut Option<mpsc::Receiver<Bytes>>) -> Option<Bytes> {
    match input {
        Some(input) => input.recv().await,
        None => std::future::pending().await,
    }
}

fn result(exit: Exit) -> RunResult {
    RunResult {
        exit_code: exit.exit_code,
        signal: exit.signal,
        timed_out: exit.timed_out,
        duration_ms: exit.duration_us / 1_000,
        ..RunResult::default()
    }
}
