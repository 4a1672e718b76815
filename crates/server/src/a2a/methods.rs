//! What can be asked by A2A, whatever the binding.

use warren_exchange::a2a::{
    CancelTaskRequest, GetTaskRequest, Incoming, ListTasksRequest, ListTasksResponse, ProtocolError,
    SendMessageRequest, SendMessageResponse, SubscribeToTaskRequest, Task as WireTask,
    TaskState as WireState, bare_answer, check_input_modes, check_send, checked_history_length,
    message_shown, names_types, state_from, task_to,
};
use warren_exchange::{Accepted, Follower, NewMessage};
use warren_exchange::{TaskMark, TaskQuery};
use warren_model::{Task, TaskId, Timestamp};

use super::error::{A2aError, unsupported};
use super::request::{A2aRequest, task_id};
use super::stream::TaskEvents;

const DEFAULT_PAGE: u32 = 50;
const MAX_PAGE: u32 = 100;

impl A2aRequest {
    /// `SendMessage`: waits for the end of the turn unless the client does not want to.
    pub(super) async fn send(self, request: SendMessageRequest) -> Result<SendMessageResponse, A2aError> {
        let (accepted, follower, incoming) = self.accept(request).await?;
        let task = if incoming.returns_immediately {
            accepted.task
        } else {
            self.app.exchange.messages.settled_of(accepted.task, follower, None).await?
        };
        Ok(match bare_answer(&task) {
            Some(message) => SendMessageResponse::Message(message_shown(message, &task.context_id)),
            None => SendMessageResponse::Task(task_to(&task, incoming.history_length)),
        })
    }

    /// `SendStreamingMessage`.
    pub(super) async fn send_and_follow(self, request: SendMessageRequest) -> Result<TaskEvents, A2aError> {
        let (accepted, _, incoming) = self.accept(request).await?;
        TaskEvents::of_message(self, accepted, incoming.history_length).await
    }

    /// From here on the message is a row: whoever hangs up now loses nothing.
    async fn accept(&self, request: SendMessageRequest) -> Result<(Accepted, Follower, Incoming), A2aError> {
        let incoming = check_send(request)?;
        self.check_types(&incoming).await?;
        if let Some(config) = &incoming.push_config {
            self.check_push_config(config).await?;
        }
        let continued = incoming.task_id.as_deref().map(task_id).transpose()?;
        // Whether they reach the workspace was asked when the request came in.
        let message = self.message(&incoming, continued);
        let (accepted, follower) = self
            .app
            .exchange
            .messages
            .send_and_follow_reached(&self.who, self.workspace.clone(), message)
            .await?;
        if let Some(config) = incoming.push_config.clone() {
            self.put_push_config(&accepted.task, config).await?;
        }
        Ok((accepted, follower, incoming))
    }

    /// The agent's card is a promise to those who read it, also about what is not taken.
    async fn check_types(&self, incoming: &Incoming) -> Result<(), A2aError> {
        if !names_types(&incoming.message) {
            return Ok(());
        }
        let registration = self.app.fleet.runtimes.registration(self.workspace.id).await?;
        let card = registration.and_then(|registration| registration.agent_card).unwrap_or_default();
        Ok(check_input_modes(&card, &incoming.message)?)
    }

    fn message(&self, incoming: &Incoming, task_id: Option<TaskId>) -> NewMessage {
        NewMessage {
            context_id: incoming.context_id.clone(),
            task_id,
            ..NewMessage::new(self.workspace.id, incoming.message.clone())
        }
    }

    pub(super) async fn task(&self, id: TaskId) -> Result<Task, A2aError> {
        Ok(self.app.exchange.messages.task(&self.who, self.workspace.id, id).await?)
    }

    pub(super) async fn get_task(self, request: GetTaskRequest) -> Result<WireTask, A2aError> {
        let length = checked_history_length(request.history_length, "historyLength")?;
        let task = self.task(task_id(&request.id)?).await?;
        Ok(task_to(&task, length))
    }

    pub(super) async fn list_tasks(self, request: ListTasksRequest) -> Result<ListTasksResponse, A2aError> {
        let (query, history_length) = self.query_of(&request)?;
        let page_size = query.limit;
        let token = request.page_token.as_deref().filter(|token| !token.is_empty());
        let bad_token = || ProtocolError::invalid("pageToken: not one that Warren gave out");
        let behind = token.map(|token| mark_from(token).ok_or_else(bad_token)).transpose()?;
        let (page, total_size) = self.app.exchange.messages.changed_tasks(&self.who, query, behind).await?;
        let has_artifacts = request.include_artifacts.unwrap_or_default();
        let shown = |task: &Task| {
            let mut task = task_to(task, history_length);
            if !has_artifacts {
                task.artifacts.clear();
            }
            task
        };
        Ok(ListTasksResponse {
            tasks: page.rows.iter().map(shown).collect(),
            next_page_token: page.next.map(mark_to).unwrap_or_default(),
            page_size,
            total_size,
        })
    }

    fn query_of(&self, request: &ListTasksRequest) -> Result<(TaskQuery, Option<usize>), ProtocolError> {
        let limit = match request.page_size {
            None => DEFAULT_PAGE,
            Some(size) => u32::try_from(size)
                .ok()
                .filter(|size| (1..=MAX_PAGE).contains(size))
                .ok_or_else(|| ProtocolError::invalid(format!("pageSize: expected 1 to {MAX_PAGE}")))?,
        };
        let context_id = request.context_id.clone().filter(|id| !id.is_empty());
        let bad_time = |_| ProtocolError::invalid("statusTimestampAfter: expected RFC 3339");
        let since = request.status_timestamp_after.as_deref().filter(|text| !text.is_empty());
        let query = TaskQuery {
            context_id,
            state: request.status.filter(|state| *state != WireState::Unspecified).and_then(state_from),
            updated_since: since.map(str::parse).transpose().map_err(bad_time)?,
            ..TaskQuery::of(self.workspace.id, limit)
        };
        Ok((query, checked_history_length(request.history_length, "historyLength")?))
    }

    pub(super) async fn cancel_task(self, request: CancelTaskRequest) -> Result<WireTask, A2aError> {
        let id = task_id(&request.id)?;
        let task = self.app.exchange.messages.cancel_task(&self.who, self.workspace.id, id).await?;
        Ok(task_to(&task, None))
    }

    pub(super) async fn subscribe(self, request: SubscribeToTaskRequest) -> Result<TaskEvents, A2aError> {
        let id = task_id(&request.id)?;
        TaskEvents::of_task(self, id).await
    }

    /// The card is only for those who may speak with the workspace, and Warren has no second one with more in it. What an
    /// agent elsewhere has in its own is passed on.
    pub(super) async fn extended_card(self) -> Result<serde_json::Value, A2aError> {
        match self.app.exchange.registrations.extended_card(&self.workspace).await? {
            Some(told) => super::card::extended(&self, &told).await,
            None => Err(unsupported("the agent card is complete; there is no extended one")),
        }
    }
}

/// Where a list goes on, as clients carry it.
fn mark_to(mark: TaskMark) -> String {
    format!("{}.{}", mark.updated_at.as_micros(), mark.id)
}

fn mark_from(token: &str) -> Option<TaskMark> {
    let (micros, id) = token.split_once('.')?;
    Some(TaskMark { updated_at: Timestamp::from_micros(micros.parse().ok()?), id: id.parse().ok()? })
}
