//! Plays the events of an answer, with the fault that its plan has.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Frame as BodyFrame;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::Answer;
use super::problem::error_body;
use crate::providers::Wire;
use crate::scripted::{Fault, FaultKind, Plan};

pub(crate) type AnswerBody = BoxBody<Bytes, io::Error>;

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Frame {
    pub(super) event: Option<String>,
    pub(super) data: String,
    /// A piece of what is said, which a script counts and delays.
    pub(super) is_piece: bool,
}

impl Frame {
    /// Named by its `type`.
    pub(super) fn named(data: &Value) -> Self {
        let event = data["type"].as_str().map(str::to_owned);
        Self { event, data: data.to_string(), is_piece: false }
    }

    pub(super) fn unnamed(data: &Value) -> Self {
        Self { event: None, data: data.to_string(), is_piece: false }
    }

    pub(super) fn piece(mut self) -> Self {
        self.is_piece = true;
        self
    }

    fn bytes(&self) -> Bytes {
        let event = self.event.as_ref().map(|name| format!("event: {name}\n")).unwrap_or_default();
        format!("{event}data: {}\n\n", self.data).into()
    }
}

pub(super) fn json_answer(status: StatusCode, body: &Value) -> Answer {
    let body = Full::new(Bytes::from(body.to_string())).map_err(|never| match never {}).boxed();
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// An answer in one piece. The faults of a stream become what they mean here.
pub(super) fn whole(wire: Wire, body: &Value, plan: &Plan) -> Answer {
    let Some(fault) = &plan.fault else { return json_answer(StatusCode::OK, body) };
    match fault.kind {
        FaultKind::Error | FaultKind::Status | FaultKind::Never => {
            let kind = fault.error.as_deref().unwrap_or("overloaded_error");
            let status = StatusCode::from_u16(529).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
            json_answer(status, &error_body(wire, kind, "scripted error"))
        }
        FaultKind::Garbage => json_answer(StatusCode::OK, &json!("garbage")),
        FaultKind::Cut | FaultKind::Truncated | FaultKind::Pings | FaultKind::Silence => {
            play(wire, Vec::new(), plan.clone())
        }
    }
}

pub(super) fn play(wire: Wire, frames: Vec<Frame>, plan: Plan) -> Answer {
    let (sender, receiver) = mpsc::channel::<Result<Bytes, io::Error>>(16);
    tokio::spawn(async move { write(wire, frames, plan, sender).await });
    let mut answer = Response::new(Written(receiver).boxed());
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    answer
}

type Sender = mpsc::Sender<Result<Bytes, io::Error>>;

/// Ends early when nobody listens any more.
async fn write(wire: Wire, frames: Vec<Frame>, plan: Plan, sender: Sender) {
    let mut sent = 0;
    let mut frames = frames.into_iter().peekable();
    loop {
        let is_last = !frames.clone().any(|frame| frame.is_piece);
        if let Some(fault) = &plan.fault
            && frames.peek().is_none_or(|frame| frame.is_piece || is_last)
            && (sent >= fault.after_chunks || is_last)
        {
            return break_off(wire, fault, sender).await;
        }
        let Some(frame) = frames.next() else { return };
        if frame.is_piece {
            sent += 1;
            if !plan.delay.is_zero() {
                sleep(plan.delay).await;
            }
        }
        if sender.send(Ok(frame.bytes())).await.is_err() {
            return;
        }
    }
}

async fn break_off(wire: Wire, fault: &Fault, sender: Sender) {
    match fault.kind {
        FaultKind::Error | FaultKind::Status | FaultKind::Never => {
            let kind = fault.error.as_deref().unwrap_or("overloaded_error");
            let frame = match wire {
                Wire::Anthropic => Frame::named(&error_body(wire, kind, "scripted error")),
                Wire::Responses => Frame::named(&json!({
                    "type": "error", "code": kind, "message": "scripted error", "param": null,
                    "sequence_number": 9_999_999,
                })),
                Wire::Chat | Wire::Gemini | Wire::Scripted => {
                    Frame::unnamed(&error_body(wire, kind, "scripted error"))
                }
            };
            let _ = sender.send(Ok(frame.bytes())).await;
        }
        FaultKind::Cut => {
            // The pieces before it are to arrive.
            sleep(Duration::from_millis(20)).await;
            let _ = sender.send(Err(io::Error::other("scripted cut"))).await;
        }
        FaultKind::Truncated => {}
        FaultKind::Garbage => {
            let _ = sender.send(Ok(Bytes::from_static(b"data: {\"type\": \xff\xfe garbage\n\n"))).await;
        }
        FaultKind::Silence => sender.closed().await,
        FaultKind::Pings => {
            let ping = match wire {
                Wire::Anthropic => Frame::named(&json!({ "type": "ping" })),
                Wire::Responses => Frame::named(&json!({ "type": "keepalive" })),
                Wire::Chat | Wire::Scripted => Frame::unnamed(&json!({ "choices": [] })),
                Wire::Gemini => Frame::unnamed(&json!({ "candidates": [] })),
            };
            while sender.send(Ok(ping.bytes())).await.is_ok() {
                sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

/// What is written, as a body.
struct Written(mpsc::Receiver<Result<Bytes, io::Error>>);

impl hyper::body::Body for Written {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<BodyFrame<Bytes>, io::Error>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| piece.map(BodyFrame::data)))
    }
}
