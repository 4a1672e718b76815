//! Failures as the protocol knows them, in the spelling of both bindings.
//!
//! What the protocol has no word for (too large, busy, the database is away) keeps Warren's own stable code, as the
//! reason of an `ErrorInfo` of Warren's own domain.

use serde_json::{Map, Value, json};
use warren_model::ErrorCode;

const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
const PROTOCOL_DOMAIN: &str = "a2a-protocol.org";
const WARREN_DOMAIN: &str = "warren";
/// JSON-RPC's code for failures that only the server can name.
const SERVER_ERROR: i64 = -32000;
/// For those who are told to come back.
const RETRY_AFTER_SECONDS: u32 = 5;

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    Parse,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    Internal,
    TaskNotFound,
    TaskNotCancelable,
    PushNotificationNotSupported,
    UnsupportedOperation,
    ContentTypeNotSupported,
    InvalidAgentResponse,
    ExtendedAgentCardNotConfigured,
    ExtensionSupportRequired,
    VersionNotSupported,
    /// What only Warren has a word for.
    Warren(ErrorCode),
}

/// One row: JSON-RPC code, HTTP status, the name of the gRPC status, reason.
type Row = (i64, u16, &'static str, &'static str);

impl ErrorKind {
    /// Those of the protocol, to be found by their code.
    const KNOWN: [Self; 14] = [
        Self::Parse,
        Self::InvalidRequest,
        Self::MethodNotFound,
        Self::InvalidParams,
        Self::Internal,
        Self::TaskNotFound,
        Self::TaskNotCancelable,
        Self::PushNotificationNotSupported,
        Self::UnsupportedOperation,
        Self::ContentTypeNotSupported,
        Self::InvalidAgentResponse,
        Self::ExtendedAgentCardNotConfigured,
        Self::ExtensionSupportRequired,
        Self::VersionNotSupported,
    ];

    const fn row(self) -> Row {
        const PRECONDITION: &str = "FAILED_PRECONDITION";
        match self {
            Self::Parse => (-32700, 400, "INVALID_ARGUMENT", "INVALID_JSON"),
            Self::InvalidRequest => (-32600, 400, "INVALID_ARGUMENT", "INVALID_REQUEST"),
            Self::MethodNotFound => (-32601, 404, "NOT_FOUND", "METHOD_NOT_FOUND"),
            Self::InvalidParams => (-32602, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"),
            Self::Internal => (-32603, 500, "INTERNAL", "INTERNAL_ERROR"),
            Self::TaskNotFound => (-32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
            Self::TaskNotCancelable => (-32002, 400, PRECONDITION, "TASK_NOT_CANCELABLE"),
            Self::PushNotificationNotSupported => {
                (-32003, 400, PRECONDITION, "PUSH_NOTIFICATION_NOT_SUPPORTED")
            }
            Self::UnsupportedOperation => (-32004, 400, PRECONDITION, "UNSUPPORTED_OPERATION"),
            Self::ContentTypeNotSupported => (-32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"),
            Self::InvalidAgentResponse => (-32006, 500, "INTERNAL", "INVALID_AGENT_RESPONSE"),
            Self::ExtendedAgentCardNotConfigured => {
                (-32007, 400, PRECONDITION, "EXTENDED_AGENT_CARD_NOT_CONFIGURED")
            }
            Self::ExtensionSupportRequired => (-32008, 400, PRECONDITION, "EXTENSION_SUPPORT_REQUIRED"),
            Self::VersionNotSupported => (-32009, 400, PRECONDITION, "VERSION_NOT_SUPPORTED"),
            Self::Warren(code) => {
                let entry = code.entry();
                (SERVER_ERROR, entry.status, grpc_status(entry.status), entry.code)
            }
        }
    }

    pub const fn code(self) -> i64 {
        self.row().0
    }

    /// The HTTP status of the HTTP+JSON binding.
    pub const fn http_status(self) -> u16 {
        self.row().1
    }

    /// The HTTP status of the JSON-RPC binding: 200, since the answer is in the body; but what any client, proxy or
    /// retry loop must see at once (too large, too fast, not now) is said by the status as well (X5, X12).
    pub const fn rpc_status(self) -> u16 {
        match self.http_status() {
            status @ (413 | 429 | 503) => status,
            _ => 200,
        }
    }

    pub fn from_code(code: i64) -> Option<Self> {
        Self::KNOWN.into_iter().find(|kind| kind.code() == code)
    }

    pub fn from_reason(reason: &str) -> Option<Self> {
        Self::KNOWN.into_iter().find(|kind| kind.row().3 == reason)
    }
}

const fn grpc_status(http: u16) -> &'static str {
    match http {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        413 | 429 | 507 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        500.. => "INTERNAL",
        _ => "FAILED_PRECONDITION",
    }
}

/// A failure with its words.
#[derive(Debug, Clone, PartialEq)]
pub struct ProtocolError {
    pub kind: ErrorKind,
    /// Public.
    pub message: String,
    /// Public: more about it, all text.
    pub metadata: Map<String, Value>,
    pub retry_after_seconds: Option<u32>,
}

impl ProtocolError {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), metadata: Map::new(), retry_after_seconds: None }
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidParams, message)
    }

    pub fn task_not_found() -> Self {
        Self::new(ErrorKind::TaskNotFound, "there is no such task")
    }

    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<String>) -> Self {
        self.metadata.insert(key.to_owned(), Value::String(value.into()));
        self
    }

    /// The `error` of a JSON-RPC answer.
    pub fn to_rpc(&self) -> Value {
        json!({ "code": self.kind.code(), "message": self.message, "data": [self.info()] })
    }

    /// The body of an HTTP+JSON answer.
    pub fn to_rest(&self) -> Value {
        let (_, code, status, _) = self.kind.row();
        json!({ "error": { "code": code, "status": status, "message": self.message, "details": [self.info()] } })
    }

    fn info(&self) -> Value {
        let is_own = matches!(self.kind, ErrorKind::Warren(_));
        json!({
            "@type": ERROR_INFO,
            "reason": if is_own { self.kind.row().3.to_uppercase() } else { self.kind.row().3.to_owned() },
            "domain": if is_own { WARREN_DOMAIN } else { PROTOCOL_DOMAIN },
            "metadata": self.metadata,
        })
    }
}

impl std::fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.message, self.kind.row().3)
    }
}

impl std::error::Error for ProtocolError {}

/// What the exchange refuses, in the words of the protocol where it has some.
impl From<crate::Error> for ProtocolError {
    fn from(error: crate::Error) -> Self {
        let kind = match error.code {
            ErrorCode::InvalidRequest | ErrorCode::InvalidMessage => ErrorKind::InvalidParams,
            ErrorCode::TaskNotFound => ErrorKind::TaskNotFound,
            ErrorCode::TaskNotCancelable => ErrorKind::TaskNotCancelable,
            // The protocol has no other word for a message that comes too late, or too early.
            ErrorCode::TaskNotOpen => ErrorKind::UnsupportedOperation,
            ErrorCode::Internal | ErrorCode::DatabaseDamaged => ErrorKind::Internal,
            other => ErrorKind::Warren(other),
        };
        if let Some(cause) = error.cause() {
            tracing::debug!(cause, code = error.code.as_str(), "a request by A2A was refused");
        }
        let sentence = error.code.entry().sentence;
        let message = match &error.detail {
            Some(detail) => format!("{sentence} {detail}"),
            None => sentence.to_owned(),
        };
        let mut said = Self::new(kind, message);
        said.retry_after_seconds = match error.code.entry().status {
            429 | 503 => Some(error.retry_after_seconds.unwrap_or(RETRY_AFTER_SECONDS)),
            _ => None,
        };
        // So that a client can tell "come back" from "you are in the queue" (X12).
        if error.code == ErrorCode::RuntimeBusy { said.with("nativeSession", "true") } else { said }
    }
}
