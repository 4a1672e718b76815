//! Refusals in the shape of each wire, so that whoever asked reads them as it reads those of the provider.

use serde_json::{Value, json};

use crate::providers::Wire;

/// What is wrong, in the words that wires have for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    Invalid,
    Unauthorized,
    Forbidden,
    NotFound,
    TooLarge,
    /// Nothing is left to spend, or too much was asked at once.
    Exhausted,
    Unavailable,
}

impl ErrorKind {
    pub const fn status(self) -> u16 {
        match self {
            Self::Invalid => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::TooLarge => 413,
            Self::Exhausted => 429,
            Self::Unavailable => 503,
        }
    }

    const fn of_anthropic(self) -> &'static str {
        match self {
            Self::Invalid => "invalid_request_error",
            Self::Unauthorized => "authentication_error",
            Self::Forbidden => "permission_error",
            Self::NotFound => "not_found_error",
            Self::TooLarge => "request_too_large",
            Self::Exhausted => "rate_limit_error",
            Self::Unavailable => "api_error",
        }
    }

    const fn of_google(self) -> &'static str {
        match self {
            Self::Invalid | Self::TooLarge => "INVALID_ARGUMENT",
            Self::Unauthorized => "UNAUTHENTICATED",
            Self::Forbidden => "PERMISSION_DENIED",
            Self::NotFound => "NOT_FOUND",
            Self::Exhausted => "RESOURCE_EXHAUSTED",
            Self::Unavailable => "UNAVAILABLE",
        }
    }

    const fn of_openai(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Invalid | Self::TooLarge => ("invalid_request_error", None),
            Self::Unauthorized => ("invalid_request_error", Some("invalid_api_key")),
            Self::Forbidden => ("invalid_request_error", Some("model_not_allowed")),
            Self::NotFound => ("invalid_request_error", Some("not_found")),
            // Clients take this code for what does not pass by itself.
            Self::Exhausted => ("insufficient_quota", Some("insufficient_quota")),
            Self::Unavailable => ("server_error", None),
        }
    }
}

/// An error as the wire writes it.
pub fn error_body(wire: Wire, kind: ErrorKind, sentence: &str) -> String {
    let body: Value = match wire {
        Wire::Anthropic => {
            json!({ "type": "error", "error": { "type": kind.of_anthropic(), "message": sentence } })
        }
        Wire::Gemini => {
            json!({ "error": { "code": kind.status(), "message": sentence, "status": kind.of_google() } })
        }
        Wire::Responses | Wire::Chat | Wire::Scripted => {
            let (of_type, code) = kind.of_openai();
            json!({ "error": { "message": sentence, "type": of_type, "param": null, "code": code } })
        }
    };
    body.to_string()
}
