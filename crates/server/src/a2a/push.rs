//! Where clients want to be told about a task while they do not listen.

use warren_exchange::a2a::{ListPushConfigsRequest, ListPushConfigsResponse, ProtocolError, PushConfig, PushConfigRequest};
use warren_exchange::{NewPushConfig, PushConfigRow};
use warren_model::{Task, TaskId};

use super::refusal::Refusal;
use super::visit::{Visit, task_id};

impl Visit {
    pub(super) async fn create_push_config(self, config: PushConfig) -> Result<PushConfig, Refusal> {
        let task = self.task(task_id(config.task_id.as_deref().unwrap_or_default())?).await?;
        self.put_push_config(&task, config).await
    }

    /// Before a message is accepted with one, so that a bad one leaves nothing behind.
    pub(super) async fn check_push_config(&self, config: &PushConfig) -> Result<(), Refusal> {
        Ok(self.app.exchange.check_push_config(&new_config(config.clone())).await?)
    }

    pub(super) async fn put_push_config(&self, task: &Task, config: PushConfig) -> Result<PushConfig, Refusal> {
        let row = self.app.exchange.put_push_config(&self.who, task, new_config(config)).await?;
        Ok(shown(row))
    }
}
