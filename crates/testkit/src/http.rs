//! Calls to a test's Warren: every header can be set, and the answer is kept whole.

use std::time::Duration;

use serde_json::Value;

use crate::{Warren, described};

#[expect(clippy::disallowed_methods, reason = "tests speak to the server directly")]
pub(crate) fn client() -> reqwest::Client {
    // Only plain HTTP is spoken here, but the client will not be built without a TLS implementation.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(30));
    // The server closes a connection that rested for a second: one that is taken up just then would break.
    let builder = builder.pool_idle_timeout(Duration::from_millis(500));
    builder.build().expect("a client without TLS can be made")
}

/// A call in the making.
#[derive(Debug)]
pub struct Call {
    request: reqwest::RequestBuilder,
    method: String,
    path: String,
}

/// A whole answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The `code` of a problem document.
    pub fn code(&self) -> String {
        let json = self.json();
        json["code"].as_str().unwrap_or_else(|| panic!("no code in {json}")).to_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

impl Call {
    #[must_use]
    pub fn header(self, name: &str, value: &str) -> Self {
        Self { request: self.request.header(name, value), ..self }
    }

    #[must_use]
    pub fn token(self, secret: &str) -> Self {
        self.header("authorization", &format!("Bearer {secret}"))
    }

    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        Self { request: self.request.json(body), ..self }
    }

    #[must_use]
    pub fn body(self, body: impl Into<reqwest::Body>) -> Self {
        Self { request: self.request.body(body), ..self }
    }

    /// The answer as it comes, for streams.
    pub async fn open(self) -> reqwest::Response {
        self.request.send().await.expect("the server answers")
    }

    /// The whole answer, which must be one that the API's document promises.
    pub async fn send(self) -> Answer {
        let (method, path) = (self.method.clone(), self.path.clone());
        let response = self.open().await;
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let body = response.bytes().await.expect("the answer comes whole").to_vec();
        let answer = Answer { status, headers, body };
        described::check(&method, &path, &answer);
        answer
    }
}

impl Warren {
    /// A call without any credential.
    pub fn call(&self, method: &str, path: &str) -> Call {
        let verb = method.parse().expect("a method");
        let request = self.http.request(verb, format!("{}{path}", self.url));
        Call { request, method: method.to_owned(), path: path.to_owned() }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.call("GET", path).token(&self.token).send().await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.call("DELETE", path).token(&self.token).send().await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.call("POST", path).token(&self.token).json(body).send().await
    }

    pub async fn patch(&self, path: &str, body: &Value) -> Answer {
        self.call("PATCH", path).token(&self.token).json(body).send().await
    }

    pub async fn put(&self, path: &str, body: impl Into<reqwest::Body>) -> Answer {
        self.call("PUT", path).token(&self.token).body(body).send().await
    }
}
