//! One message, given to the program as a prompt, until its end.

use std::rc::Rc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};
use tokio::sync::watch;
use warren_api::{Approval, ApprovalState, ClaimedMessage, TaskState};

use super::connection::{CallError, INTERNAL_ERROR, Incoming, Request};
use super::permission::{cancelled, outcome, question, title};
use super::terminals::Terminals;
use super::transcript::Transcript;
use super::{AcpAgent, Life, TurnError, files, modes, prompt};
use crate::adapter::{Failure, Inbox, ProgramAnswer, ProgramOutcome, ProgressLog};

/// How long a program that was asked to stop may go on.
const STOP_PATIENCE: Duration = Duration::from_secs(10);
/// How long the ends of questions are waited for once a turn is over.
const WITHDRAW_PATIENCE: Duration = Duration::from_secs(10);

impl AcpAgent<'_> {
    /// Gives a message to the program. One that dies with it is started again and asked once more.
    pub(crate) async fn work_on(
        &self,
        inbox: &impl Inbox,
        message: &ClaimedMessage,
        progress: &ProgressLog<'_>,
    ) -> ProgramOutcome {
        let context = &message.task.context_id;
        let lock = Rc::clone(self.contexts.borrow_mut().entry(context.clone()).or_default());
        let outcome = {
            let _alone = lock.lock().await;
            self.try_twice(inbox, message, progress).await
        };
        drop(lock);
        self.contexts.borrow_mut().retain(|_, lock| Rc::strong_count(lock) > 1);
        outcome
    }

    async fn try_twice(
        &self,
        inbox: &impl Inbox,
        message: &ClaimedMessage,
        progress: &ProgressLog<'_>,
    ) -> ProgramOutcome {
        let mut first_death = None;
        loop {
            let life = match (self.alive().await, &first_death) {
                (Ok(life), _) => life,
                (Err(failure), None) => return ProgramOutcome::Failed(failure),
                (Err(failure), Some(how)) => {
                    let text = format!("{how}\nIt could not be started again: {}", failure.text);
                    return ProgramOutcome::Failed(Failure { text, ..failure });
                }
            };
            match self.prompt(&life, inbox, message, progress).await {
                Ok(outcome) => {
                    self.deaths.set(0);
                    return outcome;
                }
                Err(TurnError::Failed(failure)) => return ProgramOutcome::Failed(failure),
                Err(TurnError::Died(how)) if first_death.is_none() && !progress.is_cancelled() => {
                    progress
                        .say(&format!("[{}; it is started again and asked once more]\n", first_line(&how)));
                    first_death = Some(how);
                }
                Err(TurnError::Died(how)) => return ProgramOutcome::Failed(Failure::passing(how)),
            }
        }
    }

    async fn prompt(
        &self,
        life: &Life,
        inbox: &impl Inbox,
        message: &ClaimedMessage,
        progress: &ProgressLog<'_>,
    ) -> Result<ProgramOutcome, TurnError> {
        let session = self.session(life, &message.task.context_id, progress).await?;
        let turn = Turn { agent: self, life, session: &session, inbox, message, progress };
        let ended = turn.run().await;
        life.connection.leave_session(&session);
        ended
    }

    fn blocks(&self, life: &Life, session: &str, message: &ClaimedMessage) -> Vec<Value> {
        let mut blocks = prompt::blocks(&message.message.parts, &life.abilities, self.root());
        if life.fresh.borrow_mut().remove(session)
            && let Some(first) = &self.options.initial_prompt
        {
            blocks.insert(0, prompt::text(first));
        }
        blocks
    }
}

struct Turn<'a, I> {
    agent: &'a AcpAgent<'a>,
    life: &'a Life,
    session: &'a str,
    inbox: &'a I,
    message: &'a ClaimedMessage,
    progress: &'a ProgressLog<'a>,
}

impl<I: Inbox> Turn<'_, I> {
    async fn run(&self) -> Result<ProgramOutcome, TurnError> {
        let connection = &self.life.connection;
        let mut incoming = connection.attend_session(self.session);
        let asked = json!({
            "sessionId": self.session,
            "prompt": self.agent.blocks(self.life, self.session, self.message),
            "_meta": { "warren": {
                "task_id": self.message.task.id,
                "context_id": self.message.task.context_id,
                "author": format!("{}:{}", self.message.author.kind, self.message.author.id),
            } },
        });
        let answer = connection.request("session/prompt", &asked)?;
        let mut answer = std::pin::pin!(connection.answer_of(answer));
        let mut transcript = Transcript::new(self.agent.root());
        let mut terminals = Terminals::new(self.agent.root());
        let (stop, stopped) = watch::channel(None::<String>);
        let mut permissions: FuturesUnordered<LocalBoxFuture<'_, ()>> = FuturesUnordered::new();
        let mut exits: FuturesUnordered<LocalBoxFuture<'_, ()>> = FuturesUnordered::new();
        let mut give_up = std::pin::pin!(tokio::time::sleep(STOP_PATIENCE));
        let (mut is_heard, mut is_stopping) = (true, false);
        let answered = loop {
            tokio::select! {
                biased;
                said = incoming.recv(), if is_heard => match said {
                    Some(Incoming::Update(update)) => self.take_update(&mut transcript, &update),
                    Some(Incoming::Talk(text)) => self.progress.say(&text),
                    Some(Incoming::Request(request)) if request.method == "session/request_permission" => {
                        self.progress.moved();
                        let call = transcript.merge(request.params.get("toolCall").unwrap_or(&Value::Null));
                        permissions.push(Box::pin(self.decide(request, call, stopped.clone())));
                    }
                    Some(Incoming::Request(request)) => {
                        self.progress.moved();
                        if let Some(exit) = self.serve(&mut terminals, &request) {
                            exits.push(exit);
                        }
                    }
                    None => is_heard = false,
                },
                Some(()) = permissions.next() => {}
                Some(()) = exits.next() => self.progress.moved(),
                answered = &mut answer => break answered,
                () = self.progress.cancelled(), if !is_stopping => {
                    is_stopping = true;
                    let _ = stop.send(Some("the task was taken back".to_owned()));
                    connection.notify("session/cancel", &json!({ "sessionId": self.session }));
                    give_up.as_mut().reset(tokio::time::Instant::now() + STOP_PATIENCE);
                }
                () = &mut give_up, if is_stopping => {
                    connection.kill("it went on after it was asked to stop");
                    break answer.await;
                }
            }
        };
        let why = match &answered {
            Err(CallError::Ended(how)) => format!("the program that asked has ended: {}", first_line(how)),
            Err(_) | Ok(_) => "the program does not wait for it any more".to_owned(),
        };
        stop.send_if_modified(|stopped| {
            let is_new = stopped.is_none();
            stopped.get_or_insert(why);
            is_new
        });
        let ends = async { while permissions.next().await.is_some() {} };
        let _ = tokio::time::timeout(WITHDRAW_PATIENCE, ends).await;
        match answered {
            Ok(answer) => Ok(self.outcome(&answer, transcript)),
            // Some programs find out only now that nobody has signed in.
            Err(error) if error.is_auth_required() => {
                Err(TurnError::Failed(Failure::lasting(error.to_string())))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn take_update(&self, transcript: &mut Transcript, update: &Value) {
        self.progress.moved();
        if let Some(words) = transcript.take(update) {
            self.progress.say(&words);
        }
        if update.get("sessionUpdate").and_then(Value::as_str) == Some("current_mode_update") {
            self.keep_mode(update);
        }
    }

    /// A program that puts itself into a mode in which it decides alone is put back.
    fn keep_mode(&self, update: &Value) {
        let Some(now) = update.get("currentModeId").and_then(Value::as_str) else { return };
        let open = self.life.open.borrow();
        let Some(Some(mode)) = open.get(self.session) else { return };
        let may_be =
            self.agent.options.mode.as_deref().map_or_else(|| modes::asks(now), |wanted| wanted == now);
        if !may_be && mode != now {
            self.progress
                .say(&format!("[the program went into its mode `{now}`, and is put back into `{mode}`]\n"));
            let asked = json!({ "sessionId": self.session, "modeId": mode });
            // Its answer says nothing that an update would not.
            drop(self.life.connection.request("session/set_mode", &asked));
        }
    }

    /// Asks people and hands their decision on.
    async fn decide(&self, request: Request, call: Value, mut stopped: watch::Receiver<Option<String>>) {
        let connection = &self.life.connection;
        let options = request.params.get("options").cloned().unwrap_or_default();
        let about = title(&call);
        let asked = match question(&call, &options, &self.message.task.id) {
            Ok(asked) => asked,
            Err(why) => {
                self.progress.say(&format!("[not allowed, since nobody could be asked: {about}: {why}]\n"));
                return connection.respond(&request.id, &outcome(&options, ApprovalState::Denied));
            }
        };
        let _waits = self.progress.wait_for_person();
        let approval = match self.inbox.ask(&asked).await {
            Ok(approval) => approval,
            Err(error) => {
                self.progress.say(&format!("[not allowed, since nobody could be asked: {about}: {error}]\n"));
                return connection.respond(&request.id, &outcome(&options, ApprovalState::Denied));
            }
        };
        self.progress.say(&format!("[waits for a decision: {about} (approval {})]\n", approval.id));
        let decided = tokio::select! {
            biased;
            why = stop_reason(&mut stopped) => {
                connection.respond(&request.id, &cancelled());
                let _ = self.inbox.withdraw(&approval.id, &why).await;
                return;
            }
            decided = self.decision(&approval) => decided,
        };
        self.progress.say(&format!("[{}: {about}]\n", word(decided)));
        connection.respond(&request.id, &outcome(&options, decided));
    }

    /// However long it takes: the question has an end of its own.
    async fn decision(&self, asked: &Approval) -> ApprovalState {
        match self.inbox.decision(&asked.id).await {
            Ok(state) => state,
            Err(error) => {
                self.progress.say(&format!("[the decision cannot be read: {error}]\n"));
                ApprovalState::Void
            }
        }
    }

    /// Answers at once; for the end of a command, later.
    fn serve<'b>(&'b self, terminals: &mut Terminals, request: &Request) -> Option<LocalBoxFuture<'b, ()>> {
        let (root, params, id) = (self.agent.root(), &request.params, &request.id);
        let answer = match request.method.as_str() {
            "fs/read_text_file" => files::read(root, params),
            "fs/write_text_file" => files::write(root, params),
            "terminal/create" => terminals.create(params),
            "terminal/output" => terminals.output(params),
            "terminal/kill" => terminals.kill(params),
            "terminal/release" => terminals.release(params),
            _ => match terminals.exit_of(params) {
                Ok(exit) => {
                    let id = request.id.clone();
                    return Some(Box::pin(async move { self.life.connection.respond(&id, &exit.await) }));
                }
                Err(why) => Err(why),
            },
        };
        match answer {
            Ok(answer) => self.life.connection.respond(id, &answer),
            Err(why) => self.life.connection.refuse(id, INTERNAL_ERROR, &why),
        }
        None
    }

    fn outcome(&self, answer: &Value, mut transcript: Transcript) -> ProgramOutcome {
        let text = transcript.text();
        let reason = answer.get("stopReason").and_then(Value::as_str).unwrap_or_default();
        let unfinished = |why: &str| {
            let told = if text.is_empty() { why.to_owned() } else { format!("{why}\n\n{text}") };
            ProgramOutcome::Failed(Failure::passing(told))
        };
        let state = match reason {
            "end_turn" => TaskState::Completed,
            "refusal" => TaskState::Rejected,
            "max_tokens" => return unfinished("The model's answer was cut off at its limit (max_tokens)."),
            "max_turn_requests" => {
                return unfinished(
                    "The program stopped at its limit of requests in a turn (max_turn_requests).",
                );
            }
            "cancelled" => return unfinished("The program says that the turn was cancelled."),
            other => {
                return unfinished(&format!(
                    "The program stopped for a reason that is not known: `{other}`."
                ));
            }
        };
        let text = match (state, text.is_empty()) {
            (TaskState::Rejected, true) => "The model refused.".to_owned(),
            _ => text,
        };
        ProgramOutcome::Answered(ProgramAnswer {
            text,
            artifacts: transcript.take_artifacts(),
            state: Some(state),
        })
    }
}

async fn stop_reason(stopped: &mut watch::Receiver<Option<String>>) -> String {
    match stopped.wait_for(Option::is_some).await {
        Ok(why) => why.clone().unwrap_or_default(),
        Err(_) => "its turn is over".to_owned(),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn word(decided: ApprovalState) -> &'static str {
    match decided {
        ApprovalState::Approved => "allowed",
        ApprovalState::Denied => "denied",
        ApprovalState::Expired => "not allowed, since nobody decided in time",
        ApprovalState::Void | ApprovalState::Pending => "not allowed, since the question was withdrawn",
    }
}
