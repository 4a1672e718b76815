//! Programs that speak the Agent Client Protocol: one that does what its prompt says (`fake_agent.py`).

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use warren_api::{AnswerOutcome, ApprovalState, TaskState};
use warren_runner::{Adapter, Error, work};

use crate::fake_api::{FakeApi, FakeState};
use crate::{Home, PATIENCE, home, until};

fn agent(flags: &[&str]) -> Home {
    let mut home = home("");
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/fake_agent.py");
    std::fs::create_dir(home.file("agent")).unwrap();
    std::fs::create_dir(home.file("workspace")).unwrap();
    let folder = home.file("agent").display().to_string();
    let words = ["python3", script.to_str().unwrap(), &folder];
    home.settings.command = words.iter().chain(flags).map(|word| (*word).to_owned()).collect();
    home.settings.adapter = Adapter::Acp;
    home.settings.options.root = home.file("workspace");
    home.settings.options.sessions_file = Some(home.file("sessions.json"));
    home.settings.options.start_timeout = Duration::from_secs(10);
    home
}

fn text(state: &FakeState, number: usize) -> String {
    let message = state.answers[number].message.as_ref();
    message.and_then(|message| message.parts[0].text.clone()).unwrap_or_default()
}

fn progress(state: &FakeState) -> String {
    let told = state.progress.iter().filter_map(|report| report.message.as_ref()?.parts[0].text.clone());
    told.collect::<Vec<_>>().join("\n")
}

/// What the agent wrote down of one kind, in order.
fn log(home: &Home, kind: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(home.file("agent/log.jsonl")).unwrap_or_default();
    let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries.filter_map(|mut entry| entry.get_mut(kind).map(Value::take)).collect()
}

/// Asks one thing after the other, and returns all that was told.
async fn ask(home: &Home, fake: &FakeApi, prompts: &[&str]) -> FakeState {
    prompts.iter().for_each(|prompt| fake.queue(prompt));
    let count = prompts.len();
    assert!(until(fake, home, |state| state.answers.len() == count).await.is_none());
    fake.desk()
}

// A80
#[tokio::test]
async fn a_program_that_lives_on_answers_one_message_after_the_other_in_one_session() {
    let (fake, home) = (FakeApi::new(), agent(&[]));
    let state = ask(&home, &fake, &["count", "count", "say hello"]).await;
    assert_eq!([text(&state, 0), text(&state, 1), text(&state, 2)], ["session-1 1", "session-1 2", "hello"]);
    assert_eq!(log(&home, "started").len(), 1, "one process for all");
    let heard = log(&home, "heard");
    let hello = &heard[0];
    assert_eq!((&hello["method"], &hello["params"]["protocolVersion"]), (&"initialize".into(), &1.into()));
    let begun = heard.iter().find(|message| message["method"] == "session/new").unwrap();
    assert_eq!(begun["params"]["cwd"], home.file("workspace").canonicalize().unwrap().to_str().unwrap());
    let prompted = heard.iter().find(|message| message["method"] == "session/prompt").unwrap();
    assert_eq!(prompted["params"]["_meta"]["warren"]["task_id"], "task-1");
}

// A80, F17: what the workspace says reaches the program and Warren
#[tokio::test]
async fn what_the_workspace_says_is_said_first_and_reported() {
    let (fake, mut home) = (FakeApi::new(), agent(&[]));
    home.settings.options.initial_prompt = Some("say You are kind.".into());
    home.settings.options.idle_timeout_seconds = Some(900);
    home.settings.options.capabilities =
        Some(warren_api::RuntimeCapabilities { session: Some(true), ..Default::default() });
    let state = ask(&home, &fake, &["and now", "say second"]).await;
    assert_eq!(
        [text(&state, 0), text(&state, 1)],
        ["You are kind.\nand now", "second"],
        "in a new session alone"
    );
    let told = state.heartbeats.last().unwrap().runtime_metadata.unwrap();
    assert_eq!((told.idle_timeout_seconds, told.capabilities.unwrap().session), (Some(900), Some(true)));
}

// A80, X51: a permission is a question to people
#[tokio::test]
async fn a_permission_is_asked_of_people_and_their_decision_is_handed_on() {
    for (decision, told) in [
        (ApprovalState::Approved, "decided yes"),
        (ApprovalState::Denied, "decided no"),
        (ApprovalState::Expired, "decided no"),
    ] {
        let (fake, home) = (FakeApi::new(), agent(&[]));
        fake.decide(decision);
        let state = ask(&home, &fake, &["permit rm -rf /"]).await;
        assert_eq!(text(&state, 0), told);
        let asked = &state.asked[0];
        assert_eq!((asked.action.as_str(), asked.task_id.as_deref()), ("run it", Some("task-1")));
        let shown = &asked.context.as_ref().unwrap()["call"];
        assert_eq!(shown["rawInput"]["command"], "rm -rf /", "what is shown is what runs");
        assert!(state.withdrawn_questions.is_empty());
    }
}

// A80, X10: to wait for a person is not to stand still
#[tokio::test]
async fn work_that_waits_for_a_person_goes_on_and_is_answered_when_they_decide() {
    let (fake, home) = (FakeApi::new(), agent(&[]));
    fake.expect_reports(600);
    fake.queue("permit ls");
    let decide = |state: &FakeState| {
        if progress(state).contains("waits for a decision") && state.heartbeats.len() > 12 {
            fake.decide(ApprovalState::Approved);
        }
        state.answers.len() == 1
    };
    assert!(until(&fake, &home, decide).await.is_none());
    let state = fake.desk();
    assert_eq!(text(&state, 0), "decided yes");
    let moved: Vec<_> = state.heartbeats.iter().filter_map(|beat| beat.last_progress_at.clone()).collect();
    assert!(moved.first() < moved.last(), "{moved:?}");
}

// A80: bad input
#[tokio::test]
async fn a_permission_without_options_is_told_and_not_allowed() {
    let (fake, home) = (FakeApi::new(), agent(&[]));
    fake.queue("permit-nothing");
    fake.queue("think 3");
    assert!(until(&fake, &home, |state| state.answers.len() == 2).await.is_none());
    let state = fake.desk();
    assert_eq!((text(&state, 0).as_str(), state.asked.len()), ("cancelled", 0));
}

// A82: the program dies with a question open
#[tokio::test]
async fn what_a_dead_program_asked_is_void_and_its_prompt_is_sent_again_in_the_same_session() {
    let (fake, home) = (FakeApi::new(), agent(&[]));
    fake.queue("permit-and-die");
    let now = home.file("agent/die-now");
    let kill = |state: &FakeState| {
        if state.asked.len() == 1 {
            std::fs::write(&now, "").unwrap();
        }
        state.answers.len() == 1
    };
    assert!(until(&fake, &home, kill).await.is_none());
    let state = fake.desk();
    assert_eq!(text(&state, 0), "done in session-1");
    let (id, why) = &state.withdrawn_questions[0];
    assert_eq!((id.as_str(), state.withdrawn_questions.len()), ("approval-1", 1));
    assert!(why.contains("the program that asked has ended") && why.contains("signal: 9"), "{why}");
    assert_eq!(log(&home, "started").len(), 2);
    let heard = log(&home, "heard");
    let count = |method: &str| heard.iter().filter(|message| message["method"] == method).count();
    assert_eq!((count("session/new"), count("session/resume"), count("session/prompt")), (1, 1, 2));
}

// A82
#[tokio::test]
async fn a_program_that_dies_twice_with_a_message_fails_it_with_its_own_words() {
    let (fake, home) = (FakeApi::new(), agent(&[]));
    let state = ask(&home, &fake, &["die", "say alive"]).await;
    assert_eq!(state.answers[0].outcome, AnswerOutcome::Failed);
    assert!(
        text(&state, 0).contains("signal: 9") && text(&state, 0).ends_with("out of cheese"),
        "{}",
        text(&state, 0)
    );
    assert_eq!(text(&state, 1), "alive", "and the next message is worked on");
    assert_eq!(log(&home, "started").len(), 3);
}

// A82: over the runner's own death
#[tokio::test]
async fn a_conversation_is_taken_up_again_by_the_next_runner() {
    for (flags, method) in [(vec![], "session/resume"), (vec!["--load"], "session/load")] {
        let (fake, home) = (FakeApi::new(), agent(&flags));
        fake.queue("count");
        assert!(until(&fake, &home, |state| state.answers.len() == 1).await.is_none());
        fake.queue("say again");
        assert!(until(&fake, &home, |state| state.answers.len() == 2).await.is_none());
        assert_eq!(text(&fake.desk(), 1), "again", "what was said before is not said again");
        let heard = log(&home, "heard");
        let count = |wanted: &str| heard.iter().filter(|message| message["method"] == wanted).count();
        assert_eq!((count("session/new"), count(method)), (1, 1));
    }
}

// A82
#[tokio::test]
async fn a_conversation_that_cannot_be_taken_up_begins_anew_and_says_so() {
    let (fake, home) = (FakeApi::new(), agent(&["--no-resume"]));
    fake.queue("count");
    assert!(until(&fake, &home, |state| state.answers.len() == 1).await.is_none());
    fake.queue("think 3");
    assert!(until(&fake, &home, |state| state.answers.len() == 2).await.is_none());
    let told = progress(&fake.desk());
    assert!(told.contains("could not be taken up again"), "{told}");
}

// A80: updates are progress
#[tokio::test]
async fn thoughts_plans_and_calls_are_progress_of_the_task() {
    let (fake, home) = (FakeApi::new(), agent(&[]));
    let state = ask(&home, &fake, &["think 3"]).await;
    let told = progress(&state);
    assert!(told.contains("let me see") && told.contains("[>] look"), "{told}");
    assert_eq!(text(&state, 0), "seen");
}

// F14, A80: a program that hangs is not hidden by heartbeats
#[tokio::test]
async fn a_program_that_hangs_is_reported_as_not_moving() {
    let (fake, home) = (FakeApi::new(), agent(&[]));
    fake.expect_reports(600);
    fake.queue("hang");
    assert!(until(&fake, &home, |state| state.heartbeats.len() > 15).await.is_none());
    let state = fake.desk();
    let moved: Vec<_> = state.heartbeats.iter().filter_map(|beat| beat.last_progress_at.clone()).collect();
    assert!(moved.len() > 5);
    assert_eq!(moved[moved.len() - 1], moved[moved.len() - 5], "{moved:?}");
}

// A80: cancellation reaches the program
#[tokio::test]
async fn a_message_that_is_taken_back_is_cancelled_in_the_program_with_its_question() {
    let (fake, home) = (FakeApi::new(), agent(&[]));
    fake.queue("permit ls");
    let withdraw = |state: &FakeState| {
        if state.asked.len() == 1 {
            fake.withdraw();
        }
        state.withdrawn_questions.len() == 1 && state.claims > 1
    };
    assert!(until(&fake, &home, withdraw).await.is_none());
    let state = fake.desk();
    assert_eq!(
        (state.answers.len(), state.withdrawn_questions[0].1.as_str()),
        (0, "the task was taken back")
    );
    let heard = log(&home, "heard");
    assert!(heard.iter().any(|message| message["method"] == "session/cancel"));
    let answer = heard.iter().find(|message| message.get("result").is_some()).unwrap();
    assert_eq!(answer["result"]["outcome"]["outcome"], "cancelled");
    assert_eq!(log(&home, "started").len(), 1, "it lives on");
}

// A80: how a turn ended is told as it is
#[tokio::test]
async fn a_turn_that_did_not_end_well_is_told_with_its_reason() {
    let (fake, home) = (FakeApi::new(), agent(&[]));
    let state =
        ask(&home, &fake, &["stop refusal", "stop max_tokens", "stop cancelled", "stop hologram"]).await;
    assert_eq!(state.answers[0].state, Some(TaskState::Rejected));
    for (number, word) in [(1, "max_tokens"), (2, "cancelled"), (3, "hologram")] {
        assert_eq!(state.answers[number].outcome, AnswerOutcome::Failed);
        assert!(text(&state, number).contains(word) && text(&state, number).ends_with("so far"));
    }
}

// A80: bad input
#[tokio::test]
async fn a_program_that_misbehaves_is_read_on() {
    let (fake, home) = (FakeApi::new(), agent(&[]));
    let state = ask(&home, &fake, &["flood", "garbage", "unknown", "huge-update"]).await;
    let told: Vec<String> = (0..4).map(|number| text(&state, number)).collect();
    assert_eq!(told, ["still here", "still here", "told -32601", "still here"]);
    assert_eq!(log(&home, "started").len(), 1);
}

// A80: bad input
#[tokio::test]
async fn a_message_that_is_too_long_to_be_read_is_told() {
    let (fake, home) = (FakeApi::new(), agent(&[]));
    let state = ask(&home, &fake, &["huge-answer"]).await;
    assert_eq!(state.answers[0].outcome, AnswerOutcome::Failed);
    assert!(text(&state, 0).starts_with("it sent a message of 524288"), "{}", text(&state, 0));
}

// A80: bad input
#[tokio::test]
async fn what_a_program_leaves_behind_does_not_hide_its_end() {
    let (fake, home) = (FakeApi::new(), agent(&[]));
    let state = ask(&home, &fake, &["daemon"]).await;
    assert_eq!(text(&state, 0), "left one behind");
    assert_eq!(log(&home, "started").len(), 2);
}

/// What a runner reports that is never given a message.
async fn report(home: &Home) -> (String, String) {
    let fake = FakeApi::new();
    let wedged = |state: &FakeState| {
        state.heartbeats.iter().any(|beat| beat.runtime_state.as_deref() == Some("wedged"))
    };
    assert!(until(&fake, home, wedged).await.is_none());
    let last =
        fake.desk().heartbeats.into_iter().find(|beat| beat.runtime_state.as_deref() == Some("wedged"));
    let last = last.unwrap();
    (last.runtime_state.unwrap(), last.sample_error.unwrap())
}

// A80, F12: told at the start, and not with the first message
#[tokio::test]
async fn a_program_that_cannot_work_is_told_before_the_first_message() {
    for (flag, words) in
        [("--exit", "no licence"), ("--silent", "did not answer `initialize`"), ("--future", "version 2")]
    {
        let mut home = agent(&[flag]);
        home.settings.options.start_timeout = Duration::from_secs(2);
        let (state, error) = report(&home).await;
        assert!(state == "wedged" && error.contains(words), "{flag}: {error}");
    }
    let mut home = agent(&[]);
    home.settings.command = vec!["no-such-agent-anywhere".into()];
    let (_, error) = report(&home).await;
    assert!(error.contains("`no-such-agent-anywhere` could not be started"), "{error}");
    home.settings.adapter = Adapter::Stdio;
    let home = crate::Home { settings: home.settings, ..crate::home("") };
    let (_, error) = report(&home).await;
    assert!(error.contains("`no-such-agent-anywhere` could not be started"), "{error}");
}

// A80, F18: somebody has to sign in
#[tokio::test]
async fn a_program_that_wants_a_sign_in_is_wedged_with_its_own_error() {
    let (fake, home) = (FakeApi::new(), agent(&["--auth"]));
    fake.queue("say x");
    let told = |state: &FakeState| {
        state.heartbeats.last().is_some_and(|beat| beat.runtime_state.as_deref() == Some("wedged"))
    };
    assert!(until(&fake, &home, told).await.is_none());
    let state = fake.desk();
    assert_eq!(text(&state, 0), "Authentication required: run agent login");
    assert_eq!(
        state.heartbeats.last().unwrap().sample_error.as_deref(),
        Some("Authentication required: run agent login")
    );
}

// A82: modes
#[tokio::test]
async fn a_program_is_put_into_a_mode_in_which_it_asks_and_kept_there() {
    let (fake, home) = (FakeApi::new(), agent(&["--modes"]));
    let state = ask(&home, &fake, &["mode"]).await;
    assert_eq!(text(&state, 0), "put back into default");
    let heard = log(&home, "heard");
    let set = heard.iter().find(|message| message["method"] == "session/set_mode").unwrap();
    assert_eq!(set["params"]["modeId"], "default");
    let (fake, mut home) = (FakeApi::new(), agent(&["--modes"]));
    home.settings.options.mode = Some("yolo".into());
    ask(&home, &fake, &["say hi"]).await;
    assert!(log(&home, "heard").iter().all(|message| message["method"] != "session/set_mode"));
    let (fake, mut home) = (FakeApi::new(), agent(&["--modes"]));
    home.settings.options.mode = Some("dream".into());
    let state = ask(&home, &fake, &["say hi"]).await;
    assert_eq!(text(&state, 0), "the program has no mode `dream`; it has: yolo, default");
}

// A80: files and terminals
#[tokio::test]
async fn files_and_terminals_are_served_below_the_workspace() {
    let (fake, mut home) = (FakeApi::new(), agent(&[]));
    let folder = home.file("workspace").canonicalize().unwrap();
    let script = format!("cd {} && exec \"$@\"", folder.display());
    let words = ["/bin/sh", "-c", &script, "sh"].map(str::to_owned);
    home.settings.command = words.into_iter().chain(home.settings.command.clone()).collect();
    let state = ask(&home, &fake, &["files", "terminal"]).await;
    assert_eq!(text(&state, 0), "[{}, \"two\\n\", \"/etc/passwd: not below the workspace\"]");
    assert_eq!(std::fs::read_to_string(folder.join("made/by-client.txt")).unwrap(), "one\ntwo\n");
    let file = &state.answers[0].artifacts[0].artifact;
    assert_eq!(file.parts[0].url.as_deref(), Some("workspace:made/by-client.txt"));
    assert_eq!(text(&state, 1), "[4, \"hi\\n\"]");
}

// A80: nothing is left running
#[tokio::test]
async fn the_program_ends_with_its_runner() {
    let (fake, home) = (FakeApi::new(), agent(&[]));
    fake.queue("say hi");
    assert!(until(&fake, &home, |state| state.answers.len() == 1).await.is_none());
    let pid = log(&home, "started")[0].as_i64().unwrap();
    let status = PathBuf::from(format!("/proc/{pid}/status"));
    let gone = async {
        // One that has ended and was not waited for yet is a zombie.
        while std::fs::read_to_string(&status).is_ok_and(|text| !text.contains("State:\tZ")) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.expect("it ignores SIGTERM, and is gone all the same");
    fake.accept_only("nobody");
    assert!(matches!(work(&fake, &home.settings).await, Err(Error::Unauthorized)));
}
