//! `warren chat`: talk with the agent of a workspace.

use std::io::{self, BufRead as _};
use std::path::PathBuf;

use warren_api::client::{Client, Error};
use warren_api::{
    ChatMessage, Conversation, CreateConversation, MessagePart, MessageRole, PostMessage, TaskMessage,
    TaskState,
};
use warren_doors::{Clock as _, SystemClock};
use warren_model::{ErrorCode, truncate_utf8};

use super::cursors::all_pages;
use super::local_files;
use super::queue::{MOMENT_MS, WAIT_MS, has_failed, tell_part};
use super::workspace::age;
use crate::arguments::{ChatArguments, ChatCommand};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Outcome, Report};
use crate::names::Names;
use crate::table::readable_time;
use crate::workspace_name::resolve;

/// The conversation in which something was said last, in place of an id.
const LAST: &str = "last";
/// A conversation is called by how it begins.
const MAX_TITLE_BYTES: usize = 80;

pub(crate) async fn run(context: &Context, arguments: ChatArguments) -> Outcome<Exit> {
    let client = context.client()?;
    match arguments.command {
        Some(command) => manage(context, &client, command).await,
        None => {
            let workspace = arguments.workspace.unwrap_or_default();
            let workspace = resolve(&client, &workspace).await?;
            let conversation = match arguments.conversation.as_deref() {
                Some(LAST) => Some(last_conversation(&client, &workspace).await?),
                named => named.map(str::to_owned),
            };
            let mut talk = Talk { context, client: &client, workspace, conversation };
            match arguments.message {
                Some(message) => {
                    let files = talk.upload(&arguments.attach).await?;
                    talk.say(&message, files).await
                }
                None => talk.follow_lines().await,
            }
        }
    }
}

/// The one in which something was said last.
async fn last_conversation(client: &Client, workspace: &str) -> Outcome<String> {
    let found = client.conversations(workspace, None).await?.items;
    let latest = found.into_iter().max_by(|one, other| one.updated_at.cmp(&other.updated_at));
    latest.map(|one| one.id).ok_or_else(|| {
        Report::new(ErrorCode::ConversationNotFound)
            .because("the workspace has no conversation yet")
            .hint("Begin one: leave `--conversation` out.")
            .into()
    })
}

/// One conversation; it begins with the first message.
struct Talk<'a> {
    context: &'a Context,
    client: &'a Client,
    workspace: String,
    conversation: Option<String>,
}

impl Talk<'_> {
    /// Each line is a message; the next is read when the last one is answered. One that failed is told by the exit code.
    async fn follow_lines(&mut self) -> Outcome<Exit> {
        let mut exit = Exit::OK;
        for line in io::stdin().lock().lines() {
            let line = line.map_err(|error| unreadable_input(&error))?;
            if !line.trim().is_empty() && self.say(&line, Vec::new()).await? != Exit::OK {
                exit = Exit::FAILURE;
            }
        }
        Ok(exit)
    }

    /// All of them, before anything is said.
    async fn upload(&self, paths: &[PathBuf]) -> Outcome<Vec<MessagePart>> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            files.push(local_files::attachment(path).await?);
        }
        Ok(self.client.upload_files(&self.workspace, files).await?.parts)
    }

    async fn say(&mut self, text: &str, files: Vec<MessagePart>) -> Outcome<Exit> {
        let parts = std::iter::once(MessagePart::text(text)).chain(files).collect();
        let message = TaskMessage { parts, ..TaskMessage::default() };
        let post = PostMessage { message, ..PostMessage::default() };
        let conversation = match &self.conversation {
            Some(id) => id.clone(),
            None => self.begin(text).await?,
        };
        let posted = self.client.post_message(&self.workspace, &conversation, &post).await;
        if self.conversation.is_none() {
            self.keep(&conversation, posted.as_ref().err()).await;
        }
        let posted = posted?;
        let mut state = posted.task_state;
        if posted.queued {
            state = self.client.task(&self.workspace, &posted.task_id, MOMENT_MS).await?.state;
            if state == TaskState::Submitted {
                self.context.output.note("The workspace is busy or not there yet; the message waits for it.");
            }
        }
        while matches!(state, TaskState::Submitted | TaskState::Working) {
            state = self.client.task(&self.workspace, &posted.task_id, WAIT_MS).await?.state;
        }
        for answer in self.answers(&conversation, &posted.message).await? {
            tell(self.context, &answer)?;
        }
        Ok(if has_failed(state) { Exit::FAILURE } else { Exit::OK })
    }

    async fn begin(&self, text: &str) -> Outcome<String> {
        let wish = CreateConversation { title: title_of(text) };
        Ok(self.client.create_conversation(&self.workspace, &wish).await?.id)
    }

    /// Goes on with a conversation that was begun, unless its first message was refused: nothing was said in it then.
    async fn keep(&mut self, conversation: &str, failed: Option<&Error>) {
        if matches!(failed, Some(Error::Problem(_))) {
            // The refusal is told; an empty conversation that stays adds nothing to it.
            let _ = self.client.remove_conversation(&self.workspace, conversation).await;
            return;
        }
        self.context.output.note(&format!("Go on with `--conversation {conversation}`."));
        self.conversation = Some(conversation.to_owned());
    }

    /// What was said after a message and because of it.
    async fn answers(&self, conversation: &str, to: &ChatMessage) -> Outcome<Vec<ChatMessage>> {
        let mut found =
            all_messages(self.context, self.client, &self.workspace, conversation, Some(to.id.clone()))
                .await?;
        found.retain(|message| message.task_id == to.task_id && message.role == MessageRole::Agent);
        Ok(found)
    }
}

fn unreadable_input(error: &io::Error) -> Report {
    let report = Report::new(ErrorCode::LocalFileFailed).because(format!("standard input: {error}"));
    if error.kind() != io::ErrorKind::InvalidData {
        return report;
    }
    report.hint("Messages are text in UTF-8; send other files along with `--attach FILE`.")
}

fn title_of(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line: String = line.chars().filter(|character| !character.is_control()).collect();
    Some(truncate_utf8(&line, MAX_TITLE_BYTES).to_owned()).filter(|title| !title.trim().is_empty())
}

/// What was said, as text; the rest is in `--json`.
fn tell(context: &Context, message: &ChatMessage) -> Outcome<()> {
    if context.output.is_json {
        return context.output.json(message);
    }
    message.parts.iter().try_for_each(|part| tell_part(context, part))
}

async fn manage(context: &Context, client: &Client, command: ChatCommand) -> Outcome<Exit> {
    match command {
        ChatCommand::Ls { workspace } => {
            let id = resolve(client, &workspace).await?;
            list(context, client, &id).await?;
        }
        ChatCommand::Show { workspace, conversation } => {
            let id = resolve(client, &workspace).await?;
            let messages = all_messages(context, client, &id, &conversation, None).await?;
            show(context, client, &messages).await?;
        }
        ChatCommand::Search { workspace, words } => {
            let id = resolve(client, &workspace).await?;
            let found = client.search_conversations(&id, &words.join(" "), None).await?;
            context.output.note_unreadable(&found.unreadable);
            show(context, client, &found.items).await?;
            if found.next_cursor.is_some() {
                context.output.note("There are more; add a word to find less.");
            }
        }
        ChatCommand::Rm { workspace, conversation } => {
            let id = resolve(client, &workspace).await?;
            client.remove_conversation(&id, &conversation).await?;
            context.output.note("The conversation is deleted.");
        }
    }
    Ok(Exit::OK)
}

async fn all_messages(
    context: &Context,
    client: &Client,
    workspace: &str,
    conversation: &str,
    behind: Option<String>,
) -> Outcome<Vec<ChatMessage>> {
    all_pages(behind, async |cursor| {
        let page = client.chat_messages(workspace, conversation, cursor).await?;
        context.output.note_unreadable(&page.unreadable);
        Ok((page.items, page.next_cursor))
    })
    .await
}

async fn show(context: &Context, client: &Client, messages: &[ChatMessage]) -> Outcome<()> {
    if context.output.is_json {
        return context.output.json(&messages);
    }
    if messages.is_empty() {
        context.output.note("No messages.");
    }
    let names = Names::load(client).await;
    for message in messages {
        let author = names.author(&message.author);
        context.output.line(&format!("{}  {author}", readable_time(&message.created_at)))?;
        tell(context, message)?;
    }
    Ok(())
}

async fn list(context: &Context, client: &Client, workspace: &str) -> Outcome<()> {
    let found: Vec<Conversation> = all_pages(None, async |cursor| {
        let page = client.conversations(workspace, cursor).await?;
        context.output.note_unreadable(&page.unreadable);
        Ok((page.items, page.next_cursor))
    })
    .await?;
    if context.output.is_json {
        return context.output.json(&found);
    }
    if found.is_empty() {
        context.output.note("No conversations. Begin one with `warren chat WORKSPACE MESSAGE`.");
        return Ok(());
    }
    let now = SystemClock.now();
    let row = |one: &Conversation| {
        vec![one.title.clone(), one.messages.to_string(), age(&one.updated_at, now), one.id.clone()]
    };
    let rows: Vec<_> = found.iter().map(row).collect();
    context.output.table(&["title", "messages", "age", "id"], &rows)
}
