//! Routes of conversations.

use bytes::Bytes;
use futures_util::TryStream;
use reqwest::Method;
use reqwest::multipart::{Form, Part};

use super::{Client, Error};
use crate::{
    ChatMessagePage, Conversation, ConversationPage, CreateConversation, PostMessage, PostedMessage, Uploaded,
};

/// A file to send along with a message.
pub struct UploadFile {
    pub name: String,
    /// What it is; absent: what its bytes look like.
    pub media_type: Option<String>,
    /// Told beforehand, so that what is too large is refused at once.
    pub length: u64,
    contents: reqwest::Body,
}

impl UploadFile {
    pub fn new<S>(name: impl Into<String>, length: u64, contents: S) -> Self
    where
        S: TryStream + Send + 'static,
        S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        Bytes: From<S::Ok>,
    {
        let contents = reqwest::Body::wrap_stream(contents);
        Self { name: name.into(), media_type: None, length, contents }
    }
}

impl std::fmt::Debug for UploadFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UploadFile").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Client {
    pub async fn create_conversation(
        &self,
        workspace: &str,
        wish: &CreateConversation,
    ) -> Result<Conversation, Error> {
        self.answer(self.request(Method::POST, &["workspaces", workspace, "conversations"]).json(wish)).await
    }

    /// One page, the youngest first.
    pub async fn conversations(
        &self,
        workspace: &str,
        cursor: Option<&str>,
    ) -> Result<ConversationPage, Error> {
        let request = self.request(Method::GET, &["workspaces", workspace, "conversations"]);
        self.answer(request.query(&cursor.map(|cursor| [("cursor", cursor)]))).await
    }

    pub async fn remove_conversation(&self, workspace: &str, conversation: &str) -> Result<(), Error> {
        let path = ["workspaces", workspace, "conversations", conversation];
        self.no_answer(self.request(Method::DELETE, &path)).await
    }

    pub async fn post_message(
        &self,
        workspace: &str,
        conversation: &str,
        message: &PostMessage,
    ) -> Result<PostedMessage, Error> {
        let path = ["workspaces", workspace, "conversations", conversation, "messages"];
        self.answer(self.request(Method::POST, &path).json(message)).await
    }

    /// Uploads files; the answer's parts go into a message to the same workspace. All of them arrive, or none.
    pub async fn upload_files(&self, workspace: &str, files: Vec<UploadFile>) -> Result<Uploaded, Error> {
        let mut form = Form::new();
        for file in files {
            let mut part = Part::stream_with_length(file.contents, file.length).file_name(file.name);
            if let Some(media_type) = &file.media_type {
                part = part.mime_str(media_type).map_err(|error| Error::BadAnswer {
                    detail: format!("`{media_type}` is no media type: {error}"),
                })?;
            }
            form = form.part("file", part);
        }
        let request = self.request(Method::POST, &["workspaces", workspace, "uploads"]).multipart(form);
        super::read_json(self.send(request).await?).await
    }

    /// One page, in order, behind `cursor`.
    pub async fn chat_messages(
        &self,
        workspace: &str,
        conversation: &str,
        cursor: Option<&str>,
    ) -> Result<ChatMessagePage, Error> {
        let path = ["workspaces", workspace, "conversations", conversation, "messages"];
        let request = self.request(Method::GET, &path);
        self.answer(request.query(&cursor.map(|cursor| [("cursor", cursor)]))).await
    }

    /// One page, the youngest first.
    pub async fn search_conversations(
        &self,
        workspace: &str,
        words: &str,
        cursor: Option<&str>,
    ) -> Result<ChatMessagePage, Error> {
        let request = self.request(Method::GET, &["workspaces", workspace, "search"]);
        let request = request.query(&[("q", words)]);
        self.answer(request.query(&cursor.map(|cursor| [("cursor", cursor)]))).await
    }
}
