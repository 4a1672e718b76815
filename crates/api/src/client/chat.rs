//! Routes of conversations.

use reqwest::Method;

use super::{Client, Error};
use crate::{
    ChatMessagePage, Conversation, ConversationPage, CreateConversation, PostMessage, PostedMessage,
};

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
