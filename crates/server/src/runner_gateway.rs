//! What runners in boxes ask, one JSON document per line, brought to the same routes as everything else (F18).
//!
//! ```text
//!   runner's output ──▶ line ──▶ request, marked `FromBox` ──▶ the whole router ──▶ answer ──▶ line ──▶ runner's input
//! ```
//!
//! Whatever comes out of a box may come from anybody in it, so that nothing is taken for granted: lines have a limit, only
//! the API is reached, and `auth` lets nobody in but those who speak for the box's own workspace, whatever else their token
//! would be good for. A runner may ask several things at once, and is answered as they come; when it ends, so does what it
//! waited for.
//!
//! The same line carries byte streams (`warren_line`): out of the box to its doors (`box_doors`), and into it to ports.

use std::collections::VecDeque;
use std::net::SocketAddr;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use http::{Request, StatusCode, header};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use warren_api::{DOORS_ARE_OPEN, MAX_RUNNER_LINE_BYTES, RunnerAnswer, RunnerRequest};
use warren_exchange::Exchange;
use warren_fleet::RunnerGateway;
use warren_line::{Multiplexer, Received, Side, is_frame};
use warren_model::WorkspaceId;
use warren_workspace::SecretVariables;
use warren_workspace::shell::{Dialog, RunEvent, RunStream};

use crate::box_doors::BoxDoors;

/// All that is reached from a box.
const REACHED: &str = "/api/v1/";
/// Of what a runner complains about, so much is logged.
const MAX_COMPLAINT_BYTES: usize = 500;
/// Requests of one runner under way; the next is begun when one of them is answered.
const MAX_AT_ONCE: usize = 16;
/// Requests that wait for that. With more, nothing is read any more until there is room.
const MAX_WAITING: usize = 16;

/// A request that came out of a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FromBox(pub(crate) WorkspaceId);

pub(crate) struct RouterGateway {
    router: TowerToHyperService<Router>,
    /// The name under which this server answers, for the guard.
    host: String,
    /// Is told when a runner takes the place of another.
    exchange: Option<Exchange>,
    doors: Option<BoxDoors>,
}

impl std::fmt::Debug for RouterGateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RouterGateway").field("host", &self.host).finish_non_exhaustive()
    }
}

impl RouterGateway {
    pub(crate) fn new(router: Router, address: SocketAddr) -> Self {
        Self {
            router: TowerToHyperService::new(router),
            host: address.to_string(),
            exchange: None,
            doors: None,
        }
    }

    pub(crate) fn telling(self, exchange: Exchange) -> Self {
        Self { exchange: Some(exchange), ..self }
    }

    pub(crate) fn with_doors(self, doors: BoxDoors) -> Self {
        Self { doors: Some(doors), ..self }
    }

    /// Before the new runner is heard: what is claimed until then is the former one's.
    async fn end_former_claims(&self, workspace: WorkspaceId) {
        let Some(exchange) = &self.exchange else { return };
        if let Err(error) = exchange.queue.end_claims_of_former_runner(workspace).await {
            tracing::warn!(workspace.id = %workspace, %error, "what a former runner had claimed ends with its lease");
        }
        if let Err(error) = exchange.approvals.void_of_former_runner(workspace).await {
            tracing::warn!(workspace.id = %workspace, %error, "what a former runner had asked waits until it expires");
        }
    }

    async fn answer(&self, from: FromBox, line: Bytes, secrets: &SecretVariables) -> RunnerAnswer {
        let Ok(asked) = serde_json::from_slice::<RunnerRequest>(&line) else {
            return refused(0, StatusCode::BAD_REQUEST, "invalid_request");
        };
        let id = asked.id;
        let Some(request) = self.request(from, asked, secrets) else {
            return refused(id, StatusCode::NOT_FOUND, "route_not_found");
        };
        let Ok(response) = self.router.call(request).await;
        read(id, response).await
    }

    fn request(
        &self,
        from: FromBox,
        mut asked: RunnerRequest,
        secrets: &SecretVariables,
    ) -> Option<Request<Body>> {
        if !asked.path.starts_with(REACHED) {
            return None;
        }
        // What an agent says goes to others, by whatever route: its secrets do not (sec/T10).
        secrets.mask_request(&mut asked.body);
        let body = match &asked.body {
            Value::Null => Body::empty(),
            body => Body::from(serde_json::to_vec(body).ok()?),
        };
        let mut request = Request::builder()
            .method(asked.method.as_str())
            .uri(&asked.path)
            .header(header::HOST, &self.host)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::AUTHORIZATION, format!("Bearer {}", asked.token))
            .body(body)
            .ok()?;
        request.extensions_mut().insert(from);
        Some(request)
    }
}

#[async_trait]
impl RunnerGateway for RouterGateway {
    async fn attend(&self, workspace: WorkspaceId, talk: Dialog, secrets: SecretVariables) -> String {
        self.end_former_claims(workspace).await;
        self.talk(workspace, talk, Some(&secrets), None).await
    }

    async fn attend_doors(&self, workspace: WorkspaceId, talk: Dialog, open: oneshot::Sender<()>) -> String {
        self.talk(workspace, talk, None, Some(open)).await
    }
}

/// What belongs to the talk with one runner.
struct Talk<'a> {
    streams: &'a Multiplexer,
    /// Absent: there are no requests, only streams.
    secrets: Option<&'a SecretVariables>,
    /// Is told when the doors of the box are open.
    open: Option<oneshot::Sender<()>>,
    answers: mpsc::Sender<Vec<u8>>,
}

impl RouterGateway {
    /// Without `secrets` there are no requests, only streams.
    async fn talk(
        &self,
        workspace: WorkspaceId,
        talk: Dialog,
        secrets: Option<&SecretVariables>,
        open: Option<oneshot::Sender<()>>,
    ) -> String {
        let Dialog { input, events: said } = talk;
        let streams = Multiplexer::new(Side::Warren);
        let _entered = self.doors.as_ref().map(|doors| doors.lines().enter(workspace, &streams));
        let (answers, unwritten) = mpsc::channel(MAX_AT_ONCE);
        let lines = Lines { said, workspace, buffered: BytesMut::new(), how: None };
        let talk = Talk { streams: &streams, secrets, open, answers };
        let how = tokio::select! {
            how = self.listen(lines, talk) => how,
            () = write(input, unwritten, &streams) => "it does not listen".to_owned(),
        };
        streams.end();
        how
    }

    async fn listen(&self, mut lines: Lines, mut talk: Talk<'_>) -> String {
        let (workspace, secrets, streams) = (lines.workspace, talk.secrets, talk.streams);
        let mut waiting = VecDeque::new();
        let mut under_way = FuturesUnordered::new();
        // They end with the box, not with the server's own requests.
        let mut served = JoinSet::new();
        loop {
            while under_way.len() < MAX_AT_ONCE
                && let Some(line) = waiting.pop_front()
                && let Some(secrets) = secrets
            {
                under_way.push(self.answer(FromBox(workspace), line, secrets));
            }
            let has_room = waiting.len() < MAX_WAITING;
            tokio::select! {
                Some(answer) = under_way.next() => {
                    if send(&talk.answers, &answer).await.is_none() {
                        return "it does not listen".to_owned();
                    }
                }
                Some(_) = served.join_next() => {}
                line = async { if has_room { lines.next().await } else { lines.end().await } } => {
                    // It does not wait any more: neither does what it asked for.
                    let Some(line) = line else { return lines.how.unwrap_or_else(|| "it fell silent".to_owned()) };
                    if is_frame(&line) {
                        if let Received::Opened { target, stream } = streams.receive(&line)
                            && let Some(doors) = self.doors.clone()
                        {
                            served.spawn(async move { doors.serve(workspace, target, stream).await });
                        }
                    } else if secrets.is_some() {
                        waiting.push_back(line);
                    } else if line == DOORS_ARE_OPEN.as_bytes()
                        && let Some(open) = talk.open.take()
                    {
                        let _ = open.send(());
                    }
                }
            }
        }
    }
}

/// Answers go before what streams carry. Ends when nobody reads.
async fn write(input: mpsc::Sender<Bytes>, mut answers: mpsc::Receiver<Vec<u8>>, streams: &Multiplexer) {
    loop {
        let line = tokio::select! {
            biased;
            Some(line) = answers.recv() => line,
            Some(line) = streams.next_line() => line,
            else => return,
        };
        if input.send(line.into()).await.is_err() {
            return;
        }
    }
}

async fn send(answers: &mpsc::Sender<Vec<u8>>, answer: &RunnerAnswer) -> Option<()> {
    let mut line = serde_json::to_vec(answer).ok()?;
    line.push(b'\n');
    answers.send(line).await.ok()
}

async fn read(id: u64, response: Response) -> RunnerAnswer {
    let (parts, body) = response.into_parts();
    match axum::body::to_bytes(body, MAX_RUNNER_LINE_BYTES).await {
        Ok(bytes) if bytes.is_empty() => {
            RunnerAnswer { id, status: parts.status.as_u16(), body: Value::Null }
        }
        Ok(bytes) => match serde_json::from_slice(&bytes) {
            Ok(body) => RunnerAnswer { id, status: parts.status.as_u16(), body },
            Err(_) => refused(id, StatusCode::NOT_ACCEPTABLE, "not_json"),
        },
        Err(_) => refused(id, StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large"),
    }
}

fn refused(id: u64, status: StatusCode, code: &str) -> RunnerAnswer {
    RunnerAnswer { id, status: status.as_u16(), body: json!({ "code": code }) }
}

/// What a runner says, line by line.
struct Lines {
    said: RunStream,
    workspace: WorkspaceId,
    buffered: BytesMut,
    /// How it ended, once it has.
    how: Option<String>,
}

impl Lines {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(end) = self.buffered.iter().position(|byte| *byte == b'\n') {
                let line = self.buffered.split_to(end + 1).freeze();
                return Some(line.slice(..end));
            }
            if self.how.is_some() {
                return None;
            }
            if self.buffered.len() > MAX_RUNNER_LINE_BYTES {
                self.how = Some("it said more than fits into a line".to_owned());
                return None;
            }
            self.hear().await;
        }
    }

    /// Waits until it has ended, which is all that is told; what it says meanwhile is kept for `next`, as far as there is
    /// room.
    async fn end(&mut self) -> Option<Bytes> {
        while self.how.is_none() {
            match self.buffered.len() {
                ..=MAX_RUNNER_LINE_BYTES => self.hear().await,
                _ => return std::future::pending().await,
            }
        }
        None
    }

    async fn hear(&mut self) {
        match self.said.next().await {
            Some(Ok(RunEvent::Stdout(piece))) => self.buffered.extend_from_slice(&piece),
            Some(Ok(RunEvent::Stderr(piece))) => {
                let piece = &piece[..piece.len().min(MAX_COMPLAINT_BYTES)];
                let said = String::from_utf8_lossy(piece);
                tracing::info!(workspace.id = %self.workspace, said = %said.escape_debug(), "a runner said something");
            }
            Some(Ok(RunEvent::Finished(result))) => {
                self.how = Some(match (result.exit_code, result.signal) {
                    (Some(code), _) => format!("it ended with code {code}"),
                    (None, Some(signal)) => format!("it was ended by signal {signal}"),
                    (None, None) => "it ended".to_owned(),
                });
            }
            Some(Err(error)) => self.how = Some(error.to_string()),
            None => self.how = Some("it fell silent".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::Mutex;

    use axum::extract::Request as Asked;
    use futures_util::stream;
    use warren_workspace::shell::RunResult;

    use super::*;

    fn workspace() -> WorkspaceId {
        "0198c0de-0000-7000-8000-000000000001".parse().unwrap()
    }

    /// A gateway to a router that tells what it was asked, and what came of a talk through it.
    async fn talk(
        pieces: Vec<Vec<u8>>,
        secrets: SecretVariables,
    ) -> (Vec<RunnerAnswer>, Vec<String>, String) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noting = Arc::clone(&seen);
        let router = Router::new().fallback(move |asked: Asked| {
            let noting = Arc::clone(&noting);
            async move {
                let from = asked.extensions().get::<FromBox>().copied();
                let (parts, body) = asked.into_parts();
                let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
                let text =
                    format!("{} {} {from:?} {}", parts.method, parts.uri, String::from_utf8_lossy(&body));
                noting.lock().unwrap().push(text);
                axum::Json(json!({ "path": parts.uri.path() }))
            }
        });
        let gateway = RouterGateway::new(router, "127.0.0.1:1".parse().unwrap());
        let (input, mut heard) = mpsc::channel(64);
        let said = pieces.into_iter().map(|piece| Ok(RunEvent::Stdout(piece.into())));
        // Its end comes after what it waits for: whoever ends first is not answered.
        let end = stream::once(async {
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            Ok(RunEvent::Finished(RunResult { exit_code: Some(3), ..RunResult::default() }))
        });
        let talk = Dialog { input, events: stream::iter(said).chain(end).boxed() };
        let how = gateway.attend(workspace(), talk, secrets).await;
        let mut answers: Vec<RunnerAnswer> = Vec::new();
        while let Ok(line) = heard.try_recv() {
            answers.push(serde_json::from_slice(&line).unwrap());
        }
        let mut seen = seen.lock().unwrap().clone();
        // They are served at once, and told apart by their ids.
        answers.sort_by_key(|answer| answer.id);
        seen.sort();
        (answers, seen, how)
    }

    fn line(id: u64, path: &str, body: &Value) -> Vec<u8> {
        let asked = RunnerRequest {
            id,
            method: "POST".into(),
            path: path.into(),
            token: "t".into(),
            body: body.clone(),
        };
        let mut line = serde_json::to_vec(&asked).unwrap();
        line.push(b'\n');
        line
    }

    // F18
    #[tokio::test]
    async fn lines_in_any_pieces_reach_the_routes_marked_with_their_box() {
        let whole = [line(1, "/api/v1/a", &json!({ "x": 1 })), line(2, "/api/v1/b", &Value::Null)].concat();
        let pieces = whole.chunks(7).map(<[u8]>::to_vec).collect();
        let (answers, seen, how) = talk(pieces, SecretVariables::default()).await;
        let told: Vec<_> = answers.iter().map(|answer| (answer.id, answer.status)).collect();
        assert_eq!(told, [(1, 200), (2, 200)]);
        let mark = format!("Some(FromBox({:?}))", workspace());
        assert_eq!(seen, [format!("POST /api/v1/a {mark} {{\"x\":1}}"), format!("POST /api/v1/b {mark} ")]);
        assert_eq!(how, "it ended with code 3");
    }

    // F18
    #[tokio::test]
    async fn what_is_no_request_for_the_api_reaches_no_route() {
        let bad = [
            b"not json\n".to_vec(),
            line(2, "/metrics", &Value::Null),
            line(3, "http://elsewhere/api/v1/a", &Value::Null),
            line(4, "/api/v1/ a", &Value::Null),
        ];
        let (answers, seen, _) = talk(bad.to_vec(), SecretVariables::default()).await;
        let told: Vec<_> = answers.iter().map(|answer| (answer.id, answer.status)).collect();
        assert_eq!(told, [(0, 400), (2, 404), (3, 404), (4, 404)]);
        assert_eq!(seen, Vec::<String>::new());
    }

    // F18
    #[tokio::test]
    async fn a_line_without_an_end_ends_the_talk() {
        let flood = vec![vec![b'x'; 1 << 20]; 6];
        let (answers, seen, how) = talk(flood, SecretVariables::default()).await;
        assert_eq!((answers.len(), seen.len()), (0, 0));
        assert_eq!(how, "it said more than fits into a line");
    }

    // sec/T10, F32
    #[tokio::test]
    async fn an_agent_does_not_say_its_secrets() {
        let value = zeroize::Zeroizing::new("hunter2-hunter2".to_owned());
        let secrets = SecretVariables::new([("KEY".to_owned(), value)].into_iter().collect(), None);
        let body = json!({ "message": { "parts": [{ "text": "it is hunter2-hunter2." }] } });
        let (_, seen, _) = talk(vec![line(1, "/api/v1/a", &body)], secrets).await;
        assert!(seen[0].contains("it is ") && !seen[0].contains("hunter2"), "{seen:?}");
    }

    // F18, F32
    #[tokio::test]
    async fn a_file_arrives_whole_though_its_base64_reads_like_a_secret() {
        let value = zeroize::Zeroizing::new("hunter2hunter2".to_owned());
        let secrets = SecretVariables::new([("KEY".to_owned(), value)].into_iter().collect(), None);
        let part = json!({ "raw": "AAhunter2hunter2", "filename": "hunter2hunter2.bin" });
        let body = json!({ "message": { "parts": [part] } });
        let (_, seen, _) = talk(vec![line(1, "/api/v1/a", &body)], secrets).await;
        assert!(seen[0].contains(r#""raw":"AAhunter2hunter2""#), "{seen:?}");
        assert!(seen[0].contains(r#""filename":"**************.bin""#), "{seen:?}");
    }

    // F18: who waits for a message holds up nobody who tells of another
    #[tokio::test]
    async fn one_that_waits_holds_up_no_other_and_only_so_many_are_under_way() {
        let waiting = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counted = Arc::clone(&waiting);
        let router = Router::new().fallback(move |asked: Asked| {
            let counted = Arc::clone(&counted);
            async move {
                if asked.uri().path() == "/api/v1/claim" {
                    counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    std::future::pending::<()>().await;
                }
                axum::Json(json!({}))
            }
        });
        let gateway = RouterGateway::new(router, "127.0.0.1:1".parse().unwrap());
        let (input, mut heard) = mpsc::channel(64);
        let (said, saying) = mpsc::channel::<Vec<u8>>(64);
        let saying = tokio_stream::wrappers::ReceiverStream::new(saying);
        let said_by_it = saying.map(|piece| Ok(RunEvent::Stdout(piece.into()))).boxed();
        let talk = Dialog { input, events: said_by_it };
        let attending =
            tokio::spawn(async move { gateway.attend(workspace(), talk, SecretVariables::default()).await });
        said.send(line(1, "/api/v1/claim", &Value::Null)).await.unwrap();
        said.send(line(2, "/api/v1/progress", &Value::Null)).await.unwrap();
        let answer: RunnerAnswer = serde_json::from_slice(&heard.recv().await.unwrap()).unwrap();
        assert_eq!((answer.id, answer.status), (2, 200), "the claim waits still");
        for id in 0..100 {
            said.send(line(10 + id, "/api/v1/claim", &Value::Null)).await.unwrap();
        }
        while said.capacity() < said.max_capacity() {
            tokio::task::yield_now().await;
        }
        assert_eq!(waiting.load(std::sync::atomic::Ordering::SeqCst), MAX_AT_ONCE);
        // It ends, and with it all that it waited for.
        drop(said);
        assert_eq!(attending.await.unwrap(), "it fell silent");
    }
}
