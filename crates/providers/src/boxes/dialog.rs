//! A program in a box whose input and output stay open: a `Run` without a deadline (F18).
//!
//! Both ways are bounded: input by what process 1 says it has taken, output by what the reader has taken.

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use warren_init::{
    Call, CallAnswer, Channel as OutputChannel, Exit, OUTPUT_WINDOW_BYTES, Spawn, output_cost,
};
use warren_workspace::Error;
use warren_workspace::shell::{Command, Dialog, RunEvent, RunResult};

use super::channel::{ActiveCall, Channel, ChannelError};
use super::shell::{closed_meanwhile, lost_before, lost_meanwhile, nonsense, start_failure};

/// Input that is under way before process 1 has said that it takes more.
const INPUT_WINDOW_BYTES: usize = 256 << 10;
/// Pieces that wait on either side.
const MAX_WAITING: usize = 16;

/// Starts the program. Dropping the stream of events cancels the call, which ends the program.
pub(super) fn begin(
    channel: &Channel,
    command: Command,
    mut spawn: Spawn,
    closing: CancellationToken,
    tracker: &TaskTracker,
) -> Result<Dialog, Error> {
    spawn.has_more_input = true;
    let call = channel.start_call(Call::Run(spawn)).map_err(lost_before)?;
    let (input, to_send) = mpsc::channel(MAX_WAITING);
    let (sender, receiver) = mpsc::channel(MAX_WAITING);
    let task_state = DialogTask {
        call,
        command,
        to_send: Some(to_send),
        waiting: Bytes::new(),
        room: INPUT_WINDOW_BYTES,
        ungranted: 0,
        events: sender.clone(),
    };
    let task = tracker.spawn(async move {
        let ended = tokio::select! {
            ended = task_state.relay() => ended,
            () = closing.cancelled() => Err(closed_meanwhile()),
        };
        // Nobody listening is fine.
        let _ = sender.send(ended.map(RunEvent::Finished)).await;
    });
    let state = (receiver, AbortOnDropHandle::new(task));
    let events = stream::unfold(state, |(mut receiver, task)| async move {
        let event = receiver.recv().await?;
        Some((event, (receiver, task)))
    });
    Ok(Dialog { input, events: events.boxed() })
}

struct DialogTask {
    call: ActiveCall,
    command: Command,
    /// Absent once the input has ended.
    to_send: Option<mpsc::Receiver<Bytes>>,
    /// What is to be sent next.
    waiting: Bytes,
    room: usize,
    /// Read, but process 1 was not yet told that it may send as much again.
    ungranted: u32,
    events: mpsc::Sender<Result<RunEvent, Error>>,
}

impl DialogTask {
    /// Passes input and output on until the program ends.
    async fn relay(mut self) -> Result<RunResult, Error> {
        loop {
            self.send().map_err(lost_meanwhile)?;
            let has_room = self.waiting.is_empty();
            tokio::select! {
                answer = self.call.next() => match answer {
                    Some(CallAnswer::Output { channel, bytes }) => self.pass_on(channel, bytes.into()).await?,
                    Some(CallAnswer::InputTaken { bytes }) => self.room += bytes as usize,
                    Some(CallAnswer::Exited(exit)) => {
                        self.call.has_ended = true;
                        return Ok(result(exit));
                    }
                    Some(CallAnswer::Failed(failure)) => {
                        self.call.has_ended = true;
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
                        self.call.add(last).map_err(lost_meanwhile)?;
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
        self.call.add(Call::Input { bytes, last: false })
    }

    async fn pass_on(&mut self, channel: OutputChannel, piece: Bytes) -> Result<(), Error> {
        let cost = u32::try_from(output_cost(piece.len())).unwrap_or(u32::MAX);
        let event = match channel {
            OutputChannel::Stdout => RunEvent::Stdout(piece),
            OutputChannel::Stderr => RunEvent::Stderr(piece),
        };
        let _ = self.events.send(Ok(event)).await;
        self.ungranted = self.ungranted.saturating_add(cost);
        if self.ungranted >= OUTPUT_WINDOW_BYTES / 2 {
            let bytes = std::mem::take(&mut self.ungranted);
            self.call.add(Call::Grant { bytes }).map_err(lost_meanwhile)?;
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
