//! Routes of runtimes, and of the sweeps that look after them.

use reqwest::Method;

use super::{Client, Error};
use crate::{
    AgentCardAnswer, ChangeAgentCard, Heartbeat, HeartbeatAnswer, RegisterRuntime, RegisteredRuntime, Sweep,
    SweepList,
};

impl Client {
    /// For a client that holds a join token.
    pub async fn register(&self, runtime: &RegisterRuntime) -> Result<RegisteredRuntime, Error> {
        self.answer(self.request(Method::POST, &["registry", "register"]).json(runtime)).await
    }

    /// For a client that holds what `register` gave out.
    pub async fn heartbeat(&self, heartbeat: &Heartbeat) -> Result<HeartbeatAnswer, Error> {
        self.answer(self.request(Method::POST, &["registry", "heartbeat"]).json(heartbeat)).await
    }

    /// The same, for one that describes itself differently from now on; `None` takes the card away.
    pub async fn change_agent_card(
        &self,
        agent_card: Option<serde_json::Value>,
    ) -> Result<AgentCardAnswer, Error> {
        let body = ChangeAgentCard { agent_card };
        self.answer(self.request(Method::PUT, &["registry", "agent-card"]).json(&body)).await
    }

    pub async fn sweeps(&self) -> Result<SweepList, Error> {
        self.answer(self.request(Method::GET, &["admin", "sweeps"])).await
    }

    pub async fn run_sweep(&self, name: &str) -> Result<Sweep, Error> {
        self.answer(self.request(Method::POST, &["admin", "sweeps", name, "run"])).await
    }
}
