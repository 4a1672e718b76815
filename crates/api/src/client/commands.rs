//! Routes of commands.

use reqwest::Method;
use reqwest::header::ACCEPT;

use super::{Client, Error, Frames};
use crate::{ExecFrame, ExecRequest, ExecResult};

impl Client {
    /// Runs a command and waits for its end, however long its own time limit lets it run.
    pub async fn exec(&self, id: &str, command: &ExecRequest) -> Result<ExecResult, Error> {
        let request = self.request(Method::POST, &["workspaces", id, "exec"]).json(command);
        super::read_json(self.send(request).await?).await
    }

    /// Runs a command and hands out its output as it comes. The last frame is `Finished` or `Failed`.
    pub async fn exec_stream(&self, id: &str, command: &ExecRequest) -> Result<Frames<ExecFrame>, Error> {
        let request = self
            .request(Method::POST, &["workspaces", id, "exec"])
            .header(ACCEPT, "text/event-stream")
            .json(command);
        Ok(Frames::of(self.send(request).await?, None))
    }
}
