//! Where clients want to be told about a task while they do not listen.

use warren_exchange::a2a::{
    ListPushConfigsRequest, ListPushConfigsResponse, ProtocolError, PushConfig, PushConfigRequest,
};
use warren_model::Task;

use super::error::A2aError;
use super::request::{A2aRequest, task_id};

impl A2aRequest {
    /// `CreateTaskPushNotificationConfig`; the same id again replaces it.
    pub(super) async fn create_push_config(self, config: PushConfig) -> Result<PushConfig, A2aError> {
        let task = self.task(task_id(config.task_id.as_deref().unwrap_or_default())?).await?;
        self.put_push_config(&task, config).await
    }

    /// Before a message is accepted with one, so that a bad one leaves nothing behind.
    pub(super) async fn check_push_config(&self, config: &PushConfig) -> Result<(), A2aError> {
        Ok(self.app.exchange.push_configs.check(config).await?)
    }

    pub(super) async fn put_push_config(
        &self,
        task: &Task,
        config: PushConfig,
    ) -> Result<PushConfig, A2aError> {
        Ok(self.app.exchange.push_configs.put(&self.who, task, config).await?)
    }

    pub(super) async fn push_config(self, request: PushConfigRequest) -> Result<PushConfig, A2aError> {
        let configs = self.configs_of(&request.task_id).await?;
        let found = configs.into_iter().find(|config| config.id.as_deref() == Some(request.id.as_str()));
        // The protocol's own word for it.
        found.ok_or_else(|| ProtocolError::task_not_found().into())
    }

    pub(super) async fn push_configs(
        self,
        request: ListPushConfigsRequest,
    ) -> Result<ListPushConfigsResponse, A2aError> {
        Ok(ListPushConfigsResponse { configs: self.configs_of(&request.task_id).await? })
    }

    /// One that is not there is deleted already.
    pub(super) async fn delete_push_config(self, request: PushConfigRequest) -> Result<(), A2aError> {
        let task = self.task(task_id(&request.task_id)?).await?;
        Ok(self.app.exchange.push_configs.remove(&self.who, &task, &request.id).await?)
    }

    async fn configs_of(&self, id: &str) -> Result<Vec<PushConfig>, A2aError> {
        let task = self.task(task_id(id)?).await?;
        Ok(self.app.exchange.push_configs.list(&task).await?)
    }
}
