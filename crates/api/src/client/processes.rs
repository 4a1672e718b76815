//! Routes of background processes.

use std::time::Duration;

use reqwest::header::ACCEPT;
use reqwest::{Method, RequestBuilder};

use super::{Client, Error, Frames};
use crate::{
    Process, ProcessFrame, ProcessInput, ProcessList, ProcessOutput, PtySize, SignalName, SignalProcess,
    StartProcess,
};

/// Three keep-alives of the server missed.
const SILENCE_LIMIT: Duration = Duration::from_secs(45);

impl Client {
    /// Starts a process that outlives this call.
    pub async fn start_process(&self, id: &str, start: &StartProcess) -> Result<Process, Error> {
        self.answer(self.request(Method::POST, &["workspaces", id, "processes"]).json(start)).await
    }

    pub async fn processes(&self, id: &str) -> Result<ProcessList, Error> {
        self.answer(self.request(Method::GET, &["workspaces", id, "processes"])).await
    }

    pub async fn process(&self, id: &str, process: u32) -> Result<Process, Error> {
        self.answer(self.request(Method::GET, &["workspaces", id, "processes", &process.to_string()])).await
    }

    /// What there is from `offset` on; it may be nothing.
    pub async fn process_output(&self, id: &str, process: u32, offset: u64) -> Result<ProcessOutput, Error> {
        let request = self.process_request(Method::GET, id, process, "output").query(&[("offset", offset)]);
        self.answer(request).await
    }

    /// Output from `offset` on as it comes. The last frame is `Exited` or `Closing`; a stream that breaks off goes on
    /// from the end of the last output seen.
    pub async fn follow_process(
        &self,
        id: &str,
        process: u32,
        offset: u64,
    ) -> Result<Frames<ProcessFrame>, Error> {
        let request = self.process_request(Method::GET, id, process, "output").query(&[("offset", offset)]);
        let request = request.header(ACCEPT, "text/event-stream");
        Ok(Frames::of(self.send(request).await?, Some(SILENCE_LIMIT)))
    }

    pub async fn write_process_input(
        &self,
        id: &str,
        process: u32,
        input: &ProcessInput,
    ) -> Result<(), Error> {
        self.no_answer(self.process_request(Method::POST, id, process, "stdin").json(input)).await
    }

    pub async fn resize_process(&self, id: &str, process: u32, size: PtySize) -> Result<(), Error> {
        self.no_answer(self.process_request(Method::POST, id, process, "resize").json(&size)).await
    }

    /// Signals it and all it started. One that has ended already is left as it is.
    pub async fn signal_process(&self, id: &str, process: u32, signal: SignalName) -> Result<(), Error> {
        let body = SignalProcess { signal };
        self.no_answer(self.process_request(Method::POST, id, process, "signal").json(&body)).await
    }

    fn process_request(&self, method: Method, id: &str, process: u32, deed: &str) -> RequestBuilder {
        self.request(method, &["workspaces", id, "processes", &process.to_string(), deed])
    }
}
