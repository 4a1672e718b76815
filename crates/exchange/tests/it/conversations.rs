//! Conversations: what is shown of messages and answers, by whom it was said, and what stays after a crash.

use warren_exchange::{
    Accepted, ChatSpan, Config, Error, FileView, NewConversation, NewMessage, Outcome, Sender,
};
use warren_fleet::{CreateWorkspace, SecretScope};
use warren_model::{
    ChatMessage, ConversationId, DeliveryReason, Displacement, ErrorCode, EventData, EventKind, Message,
    OrgId, Part, Principal, PrincipalKind, Role, Runtime, SecretValue, Status, TaskState, WorkspaceId,
};
use warren_service::Identity;
use warren_testkit::{Act, Bed, BedOptions, ExchangeBed, ExchangeOptions, eventually};

async fn begin(bed: &ExchangeBed, workspace_id: WorkspaceId) -> ConversationId {
    let new = NewConversation { workspace_id, title: None };
    bed.exchange.conversations.begin(&bed.operator, new).await.unwrap().id
}

async fn try_say(bed: &ExchangeBed, chat: ConversationId, new: NewMessage) -> Result<Accepted, Error> {
    let (exchange, who): (_, Identity) = (bed.exchange.clone(), bed.operator.clone());
    bed.inside(async move { exchange.conversations.say(&who, chat, new).await }).await
}

/// Says something and waits until the work is settled.
async fn say(bed: &ExchangeBed, id: WorkspaceId, chat: ConversationId, text: &str) -> Accepted {
    let accepted = try_say(bed, chat, bed.text(id, text)).await.unwrap();
    bed.exchange.messages.settled(accepted.task.id, FileView::Own, None).await.unwrap();
    accepted
}

async fn read(bed: &ExchangeBed, id: WorkspaceId, chat: ConversationId) -> Vec<ChatMessage> {
    let read = bed.exchange.conversations.messages(&bed.operator, (id, chat), ChatSpan::After(None), 100);
    read.await.unwrap().rows
}

/// Who said what.
async fn lines(bed: &ExchangeBed, id: WorkspaceId, chat: ConversationId) -> Vec<(PrincipalKind, String)> {
    read(bed, id, chat).await.iter().map(|one| (one.author.kind, one.text())).collect()
}

fn line(kind: PrincipalKind, text: &str) -> (PrincipalKind, String) {
    (kind, text.to_owned())
}

// X30, X16
#[tokio::test]
async fn a_message_is_shown_once_however_often_it_is_posted() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        let chat = begin(&bed, id).await;
        let hello = bed.text(id, "hello");
        let first = try_say(&bed, chat, hello.clone()).await.unwrap();
        bed.task_in(&first, TaskState::Completed).await;
        let again = try_say(&bed, chat, hello).await.unwrap();
        assert_eq!((again.is_repeat, again.chat_message), (true, first.chat_message));
        assert_eq!((read(&bed, id, chat).await.len(), bed.agent.seen().len()), (2, 1));
    }
}

// X30: both are there, or neither
#[tokio::test]
async fn a_message_that_is_not_accepted_is_not_shown() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        bed.boot(id, Displacement { session: Some(true), ..Default::default() }).await;
        let chat = begin(&bed, id).await;
        bed.agent.next([Act::Hold, Act::Say("done".into())]);
        try_say(&bed, chat, bed.text(id, "1")).await.unwrap();
        let busy = try_say(&bed, chat, bed.text(id, "2")).await.unwrap_err();
        assert_eq!(busy.code, ErrorCode::RuntimeBusy);
        let empty = NewMessage::new(id, Message::new("empty", Role::User, Vec::new()));
        let empty = try_say(&bed, chat, empty).await.unwrap_err();
        assert_eq!(empty.code, ErrorCode::InvalidMessage);
        assert_eq!(lines(&bed, id, chat).await, [line(PrincipalKind::User, "1")]);
        bed.agent.let_go();
        eventually("answered", async || read(&bed, id, chat).await.len() == 2).await;
    }
}

// X30, X4
#[tokio::test]
async fn whatever_comes_under_the_context_is_shown_with_its_true_author() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        let child = CreateWorkspace { parent_id: Some(id), ..Bed::local_request("peer") };
        let (other, own) = bed.called_with(child).await;
        let chat = begin(&bed, id).await;
        let context_id = Some(chat.to_string());
        // By the plain way in.
        let plain = NewMessage { context_id: context_id.clone(), ..bed.text(id, "plain") };
        let plain = bed.send(plain).await.unwrap();
        bed.task_in(&plain, TaskState::Completed).await;
        // By a schedule.
        let nightly = Principal { kind: PrincipalKind::Schedule, id: "nightly".into() };
        let sender = Sender { principal: nightly, org_id: OrgId::DEFAULT };
        let tick = NewMessage { context_id: context_id.clone(), ..bed.text(id, "tick") };
        let tick = bed.exchange.messages.send_as(&sender, tick).await.unwrap();
        bed.task_in(&tick, TaskState::Completed).await;
        // By another agent, which claims to be a person.
        bed.agent.next([Act::Outcome(Outcome::Failed { reason: DeliveryReason::Failed })]);
        let next_door = NewMessage { context_id: context_id.clone(), ..bed.text(id, "from next door") };
        let sent = bed.send_as(&own, next_door).await.unwrap();
        bed.task_in(&sent, TaskState::Failed).await;
        assert_eq!(
            lines(&bed, id, chat).await,
            [
                line(PrincipalKind::User, "plain"),
                line(PrincipalKind::Workspace, "echo: plain"),
                line(PrincipalKind::Schedule, "tick"),
                line(PrincipalKind::Workspace, "echo: tick"),
                line(PrincipalKind::Workspace, "from next door"),
                line(PrincipalKind::System, "The agent could not do the work."),
            ]
        );
        let shown = read(&bed, id, chat).await;
        assert_eq!((&shown[4].author.id, &shown[1].author.id), (&other.to_string(), &id.to_string()));
        // A context that is the conversation of another workspace is only a name.
        let elsewhere = NewMessage { context_id, ..bed.text(other, "elsewhere") };
        let elsewhere = bed.send(elsewhere).await.unwrap();
        bed.task_in(&elsewhere, TaskState::Completed).await;
        assert_eq!(read(&bed, id, chat).await.len(), 6);
    }
}

// X30
#[tokio::test]
async fn a_reply_goes_to_the_work_that_asked() {
    for bed in ExchangeBed::on_each_store().await {
        let (id, _) = bed.called().await;
        let chat = begin(&bed, id).await;
        bed.agent.next([Act::SayIn(TaskState::InputRequired, "which one?".into())]);
        let asked = say(&bed, id, chat, "paint it").await;
        assert_eq!(bed.task(&asked).await.state, TaskState::InputRequired);
        assert_eq!(read(&bed, id, chat).await[1].text(), "which one?");
        bed.agent.next([
            Act::Work("painting".into()),
            Act::Leave("picture".into()),
            Act::SayIn(TaskState::Completed, "blue".into()),
        ]);
        let replied = say(&bed, id, chat, "the door").await;
        assert_eq!(replied.task.id, asked.task.id);
        let answer = bed.exchange.conversations.answer_to(&replied.chat_message.unwrap()).await.unwrap();
        let parts: Vec<String> = answer.unwrap().parts.iter().map(text_of).collect();
        assert_eq!(parts, ["blue", "picture"], "the end and what the work left, not what was on the way");
        let next = say(&bed, id, chat, "thanks").await;
        assert_ne!(next.task.id, asked.task.id);
    }
}

fn text_of(part: &Part) -> String {
    Message::new("", Role::Agent, vec![part.clone()]).text()
}

// X30, X15: crash after dispatch
#[tokio::test]
async fn a_crash_loses_no_message_and_its_end_is_told_once() {
    let bed = BedOptions { is_real_time: true, ..BedOptions::crashable() };
    let config = Config { lease_ms: 1_000, ..Config::default() };
    for bed in ExchangeBed::with(ExchangeOptions { bed, config, ..Default::default() }).await {
        let (id, _) = bed.called().await;
        let chat = begin(&bed, id).await;
        bed.agent.next([Act::Hold]);
        try_say(&bed, chat, bed.text(id, "sent")).await.unwrap();
        try_say(&bed, chat, bed.text(id, "waiting")).await.unwrap();
        eventually("it was sent", async || bed.agent.seen().len() == 1).await;
        let before = read(&bed, id, chat).await;
        let bed = bed.crash().await;
        eventually("both have ended", async || read(&bed, id, chat).await.len() == 4).await;
        let after = read(&bed, id, chat).await;
        assert_eq!(after[..2], before[..], "what was acknowledged stands as it stood");
        let kinds: Vec<_> = after.iter().map(|one| one.author.kind).collect();
        let (user, system) = (PrincipalKind::User, PrincipalKind::System);
        assert_eq!(kinds, [user, user, system, PrincipalKind::Workspace]);
        assert_eq!(bed.events(EventKind::ChatMessagePosted).await.len(), 4);
    }
}

// X30, X5
#[tokio::test]
async fn a_full_conversation_takes_no_message_and_still_gets_its_answers() {
    let config = Config { max_conversations: 1, max_chat_messages: 1, ..Config::default() };
    for bed in ExchangeBed::with_config(config).await {
        let (id, _) = bed.called().await;
        let chat = begin(&bed, id).await;
        let second = NewConversation { workspace_id: id, title: None };
        let second = bed.exchange.conversations.begin(&bed.operator, second).await.unwrap_err();
        assert_eq!(second.code, ErrorCode::ConversationLimit);
        say(&bed, id, chat, "one").await;
        let full = try_say(&bed, chat, bed.text(id, "two")).await.unwrap_err();
        assert_eq!(full.code, ErrorCode::ConversationLimit);
        let expected = [line(PrincipalKind::User, "one"), line(PrincipalKind::Workspace, "echo: one")];
        assert_eq!(lines(&bed, id, chat).await, expected);
        assert_eq!(bed.agent.heard(), ["one"], "what is not shown is not done");
    }
}

// X34, sec/U08
#[tokio::test]
async fn what_an_agent_says_on_the_way_is_kept_without_secrets() {
    for bed in ExchangeBed::on_each_store().await {
        let (canary, own) = ("canary-4f1d9c2b7e", "canary-of-its-own-77");
        // A change of secrets brings an agent up anew, so that they are set before it comes.
        let id = bed.awaiting(Runtime::External).await;
        for (scope, value) in [(SecretScope::Org, canary), (SecretScope::Workspace(id), own)] {
            let value = SecretValue::new(value.to_owned().into()).unwrap();
            let name = if scope == SecretScope::Org { "API_KEY" } else { "OWN_KEY" };
            bed.fleet.secrets.set(&bed.operator, scope, name.parse().unwrap(), value).await.unwrap();
        }
        // An agent that registers before that has happened is sent away again.
        bed.wait_until_caught_up(id).await;
        bed.wait_for(id, Status::AwaitingAgent).await;
        bed.boot(id, Displacement::default()).await;
        let work = Act::Work(format!("calling with {canary} and {own} now"));
        bed.agent.next([work, Act::Hold, Act::Say("done".into())]);
        let accepted = bed.say(id, "go").await;
        let told = async || bed.events(EventKind::TaskProgressed).await;
        eventually("its progress", async || !told().await.is_empty()).await;
        let EventData::TaskProgressed(progressed) = told().await[0].read().unwrap() else { panic!() };
        let line = progressed.line;
        assert!(line.starts_with("calling with *") && line.ends_with("* now"), "{line}");
        assert!(!line.contains("canary"), "{line}");
        bed.agent.let_go();
        bed.task_in(&accepted, TaskState::Completed).await;
    }
}
