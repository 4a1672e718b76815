//! The runner's loop against an API that does what a test says, with real programs.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic where it stands")]

mod acp;
mod fake_api;
mod streams;

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use warren_api::AnswerOutcome;
use warren_runner::{Adapter, AgentOptions, ApiError, Credentials, Error, Settings, place, work};

use crate::fake_api::{FakeApi, FakeState};

/// How long a test waits for something that should happen soon.
const PATIENCE: Duration = Duration::from_secs(30);

struct Home {
    folder: tempfile::TempDir,
    settings: Settings,
}

fn home(script: &str) -> Home {
    let folder = tempfile::tempdir().unwrap();
    let (join_token, credential) = (folder.path().join("join-token"), folder.path().join("credential"));
    place(&join_token, b"join").unwrap();
    let command = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
    let credentials = Credentials::Files { join_token, credential };
    let (adapter, options) = (Adapter::Stdio, AgentOptions::default());
    Home { settings: Settings { command, credentials, wedge_signs: Vec::new(), adapter, options }, folder }
}

impl Home {
    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Works until the API has seen enough.
async fn until(fake: &FakeApi, home: &Home, is_enough: impl Fn(&FakeState) -> bool) -> Option<Error> {
    let seen = async {
        while !is_enough(&fake.desk()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        ended = work(fake, &home.settings) => Some(ended.unwrap_err()),
        () = seen => None,
        () = tokio::time::sleep(PATIENCE) => panic!("did not happen: {}", fake.desk().in_short()),
    }
}

// F18
#[tokio::test]
async fn a_message_is_given_to_the_program_and_its_output_is_the_answer() {
    let (fake, home) = (FakeApi::new(), home("read -r text; echo \"heard $text\""));
    fake.queue("hello");
    assert!(until(&fake, &home, |desk| desk.answers.len() == 1).await.is_none());
    let desk = fake.desk();
    let answer = &desk.answers[0];
    assert_eq!((answer.outcome, answer.attempt), (AnswerOutcome::Answered, 1));
    assert_eq!(answer.message.as_ref().unwrap().parts[0].text.as_deref(), Some("heard hello"));
    let busy = desk.heartbeats.iter().find(|beat| beat.active_tasks == Some(1)).unwrap();
    assert_eq!(busy.current_task.as_deref(), Some("task-1"), "it reports from the work");
}

// F18
#[tokio::test]
async fn the_join_token_is_used_once_and_the_credential_is_kept_for_the_next_start() {
    let (fake, home) = (FakeApi::new(), home("true"));
    assert!(until(&fake, &home, |desk| desk.heartbeats.len() > 2).await.is_none());
    assert!(!home.file("join-token").exists());
    assert_eq!(std::fs::read_to_string(home.file("credential")).unwrap(), "credential-1");
    let before = fake.desk().heartbeats.len();
    assert!(until(&fake, &home, |desk| desk.heartbeats.len() > before + 1).await.is_none());
    assert_eq!(fake.desk().registrations, 1, "the second start had the credential");
}

// F18
#[tokio::test]
async fn without_any_credential_nothing_is_tried() {
    let (fake, home) = (FakeApi::new(), home("true"));
    std::fs::remove_file(home.file("join-token")).unwrap();
    assert!(matches!(until(&fake, &home, |_| false).await, Some(Error::NoCredential { .. })));
}

// F18, sec/S12: in a box, whoever reads its files is the same user
#[tokio::test]
async fn a_token_that_was_handed_over_is_written_nowhere() {
    let (fake, mut home) = (FakeApi::new(), home("true"));
    std::fs::remove_file(home.file("join-token")).unwrap();
    home.settings.credentials = Credentials::InMemory { join_token: "join".to_owned() };
    assert!(!format!("{:?}", home.settings).contains("\"join\""), "nor does it show");
    assert!(until(&fake, &home, |desk| desk.heartbeats.len() > 2).await.is_none());
    assert_eq!(fake.desk().registrations, 1);
    assert_eq!(std::fs::read_dir(home.folder.path()).unwrap().count(), 0);
    home.settings.credentials = Credentials::InMemory { join_token: String::new() };
    assert!(matches!(until(&fake, &home, |_| false).await, Some(Error::NoJoinToken)));
}

// F18: a 401 makes it read the credential again and retry once
#[tokio::test]
async fn a_credential_that_changes_under_way_costs_one_repeated_call_and_no_failure() {
    let (fake, home) = (FakeApi::new(), home("cat"));
    let credential = home.file("credential");
    let rotated = std::cell::Cell::new(false);
    let rotate = |desk: &FakeState| {
        if !rotated.get() && desk.heartbeats.len() > 1 {
            rotated.set(true);
            place(&credential, b"credential-2").unwrap();
            fake.accept_only("credential-2");
            fake.queue("after");
        }
        desk.answers.len() == 1
    };
    assert!(until(&fake, &home, rotate).await.is_none());
    let desk = fake.desk();
    assert_eq!(desk.refused, 1, "one call was refused, and repeated with what was read");
    assert_eq!(desk.heartbeats.last().unwrap().error_rate, Some(0.0), "it does not count as a failure");
}

// F18: and then it counts as a failure
#[tokio::test]
async fn a_credential_that_stays_refused_ends_the_runner() {
    let (fake, home) = (FakeApi::new(), home("cat"));
    let refuse = |desk: &FakeState| {
        if desk.heartbeats.len() == 2 {
            fake.accept_only("nobody");
        }
        false
    };
    assert!(matches!(until(&fake, &home, refuse).await, Some(Error::Unauthorized)));
    assert_eq!(fake.desk().refused, 6, "three failures, each a call and its one repetition");
}

// F18, F12
#[tokio::test]
async fn a_wedge_is_reported_until_a_reply_with_content() {
    let script = "read -r text; case $text in bad) echo 'insufficient_quota' >&2; exit 1;; empty) ;; *) echo ok;; esac";
    let (fake, home) = (FakeApi::new(), home(script));
    for text in ["bad", "empty", "good"] {
        fake.queue(text);
    }
    assert!(
        until(&fake, &home, |desk| desk.answers.len() == 3
            && desk.heartbeats.last().unwrap().active_tasks == Some(0))
        .await
        .is_none()
    );
    let states: Vec<_> = fake.desk().idle_states();
    assert_eq!(states, ["", "wedged", "wedged", ""]);
}

// F18
#[tokio::test]
async fn errors_are_told_as_progress_and_go_with_a_failure() {
    let (fake, home) = (FakeApi::new(), home("echo reading >&2; sleep 3; echo broken >&2; exit 4"));
    fake.queue("x");
    assert!(until(&fake, &home, |desk| desk.answers.len() == 1).await.is_none());
    let desk = fake.desk();
    assert_eq!(desk.progress[0].message.as_ref().unwrap().parts[0].text.as_deref(), Some("reading"));
    assert_eq!(desk.answers[0].outcome, AnswerOutcome::Failed);
    let said = desk.answers[0].message.as_ref().unwrap().parts[0].text.clone().unwrap();
    assert!(said.contains("exit status: 4") && said.ends_with("reading\nbroken"), "{said}");
}

// F18
#[tokio::test]
async fn work_that_was_taken_back_is_ended_with_all_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("alive");
    let script = format!("(while :; do touch {0}; sleep 0.1; done) & echo started >&2; wait", mark.display());
    let (fake, home) = (FakeApi::new(), home(&script));
    fake.queue("x");
    fake.withdraw();
    assert!(until(&fake, &home, |desk| desk.withdrawn == 1 && desk.claims > 1).await.is_none());
    assert_eq!(fake.desk().answers.len(), 0, "nobody waits for an answer");
    let is_gone = async {
        loop {
            let _ = std::fs::remove_file(&mark);
            tokio::time::sleep(Duration::from_millis(500)).await;
            if !mark.exists() {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, is_gone).await.expect("the background loop is ended too");
}

// F18
#[tokio::test]
async fn what_a_program_left_running_holds_up_neither_its_answer_nor_the_next() {
    let (fake, home) = (FakeApi::new(), home("sleep 1000 & setsid sleep 2 & echo done"));
    fake.queue("x");
    fake.queue("y");
    assert!(until(&fake, &home, |desk| desk.answers.len() == 2).await.is_none());
    let said = fake.desk().answers[1].message.as_ref().unwrap().parts[0].text.clone();
    assert_eq!(said.as_deref(), Some("done"));
}

// F18
#[tokio::test]
async fn an_answer_is_told_again_when_warren_was_away() {
    let (fake, home) = (FakeApi::new(), home("echo done"));
    fake.queue("x");
    fake.lose_answers(2);
    assert!(until(&fake, &home, |desk| desk.answers.len() == 1).await.is_none());
    assert_eq!(fake.desk().lost, 2);
}

// F18
#[tokio::test]
async fn a_program_that_is_not_there_is_a_failure_that_says_so() {
    let (fake, mut home) = (FakeApi::new(), home(""));
    home.settings.command = vec!["/nowhere/agent".into()];
    fake.queue("x");
    assert!(until(&fake, &home, |desk| desk.answers.len() == 1).await.is_none());
    let said = fake.desk().answers[0].message.as_ref().unwrap().parts[0].text.clone().unwrap();
    assert!(said.starts_with("the program `/nowhere/agent` could not be started: "), "{said}");
}

/// A program that ends once so many of it are at work, each on a message of its own.
fn together(folder: &std::path::Path, count: u32) -> String {
    let folder = folder.display();
    format!(
        "touch {folder}/$WARREN_TASK_ID; until [ $(ls {folder} | wc -l) -ge {count} ]; do sleep 0.02; done; echo done"
    )
}

fn most_at_once(desk: &FakeState) -> u32 {
    desk.heartbeats.iter().filter_map(|beat| beat.active_tasks).max().unwrap_or_default()
}

// F18
#[tokio::test]
async fn as_many_messages_are_worked_on_at_once_as_warren_says_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let (fake, home) = (FakeApi::new(), home(&together(folder.path(), 3)));
    fake.give_at_once(3);
    for number in 0..7 {
        fake.queue(&number.to_string());
    }
    assert!(until(&fake, &home, |desk| desk.answers.len() == 7).await.is_none());
    let desk = fake.desk();
    assert!(desk.answers.iter().all(|answer| answer.outcome == AnswerOutcome::Answered));
    assert_eq!(most_at_once(&desk), 3);
}

// F18
#[tokio::test]
async fn more_at_once_is_learned_under_way_from_the_answer_to_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let (fake, home) = (FakeApi::new(), home(&together(folder.path(), 2)));
    fake.expect_reports(600);
    fake.queue("first");
    fake.queue("second");
    let raise = |desk: &FakeState| {
        // The first is in hand; alone it would wait for ever.
        if desk.heartbeats.last().is_some_and(|beat| beat.active_tasks == Some(1)) {
            fake.give_at_once(2);
        }
        desk.answers.len() == 2
    };
    assert!(until(&fake, &home, raise).await.is_none());
    assert_eq!(most_at_once(&fake.desk()), 2);
}

// F14, F18
#[tokio::test]
async fn of_several_messages_the_one_that_does_not_move_is_reported() {
    let script = "read -r text; if [ $text = still ]; then sleep 1000; fi; \
                  for i in 1 2 3 4 5 6 7 8 9 10; do echo step >&2; sleep 0.2; done; echo done";
    let (fake, home) = (FakeApi::new(), home(script));
    fake.give_at_once(2);
    fake.expect_reports(600);
    fake.queue("still");
    fake.queue("busy");
    let is_one_left =
        |beat: Option<&warren_api::Heartbeat>| beat.is_some_and(|beat| beat.active_tasks == Some(1));
    let is_enough = |desk: &FakeState| {
        desk.answers.len() == 1 && desk.heartbeats.len() > 6 && is_one_left(desk.heartbeats.last())
    };
    assert!(until(&fake, &home, is_enough).await.is_none());
    let desk = fake.desk();
    let both: Vec<_> = desk.heartbeats.iter().filter(|beat| beat.active_tasks == Some(2)).collect();
    assert!(!both.is_empty());
    let named = both.iter().map(|beat| beat.current_task.as_deref());
    assert!(named.into_iter().all(|task| task == Some("task-1")), "{both:?}");
    let last = desk.heartbeats.last().unwrap();
    assert_eq!(
        (last.active_tasks, last.current_task.as_deref()),
        (Some(1), Some("task-1")),
        "the end is told"
    );
}

// F18
#[tokio::test]
async fn several_ask_on_one_line_and_each_gets_its_own_answer_in_any_order() {
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
    use warren_runner::{LineApi, WarrenApi as _};
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (reading, writing) = tokio::io::split(ours);
    let api = LineApi::new(reading, writing);
    let server = tokio::spawn(async move {
        let (reading, mut writing) = tokio::io::split(theirs);
        let mut lines = BufReader::new(reading).lines();
        let mut asked = Vec::new();
        for _ in 0..3 {
            let line = lines.next_line().await.unwrap().unwrap();
            asked.push(serde_json::from_str::<serde_json::Value>(&line).unwrap());
        }
        // The last one first; the one that was dropped meanwhile is answered too.
        for request in asked.iter().rev() {
            let code = request["path"].as_str().unwrap().split('/').nth(4).unwrap();
            let answer = json!({ "id": request["id"], "status": 409, "body": { "code": code } });
            writing.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
        }
        asked.len()
    });
    let claim = warren_api::ClaimMessage::default();
    let ask = async |workspace: &str| api.claim("t", workspace, &claim).await.unwrap_err();
    let dropped = tokio::time::timeout(Duration::from_millis(50), api.claim("t", "dropped", &claim)).await;
    assert!(dropped.is_err(), "nobody has answered yet");
    let (one, two) = tokio::join!(ask("one"), ask("two"));
    let refused = |code: &str| ApiError::Refused { code: code.into() };
    assert_eq!((one, two), (refused("one"), refused("two")));
    assert_eq!(server.await.unwrap(), 3);
}

// F18
#[tokio::test]
async fn the_line_passes_over_answers_that_are_not_for_it_and_tells_its_end() {
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
    use warren_runner::{LineApi, WarrenApi as _};
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (reading, writing) = tokio::io::split(ours);
    let api = LineApi::new(reading, writing);
    let server = tokio::spawn(async move {
        let (reading, mut writing) = tokio::io::split(theirs);
        let mut lines = BufReader::new(reading).lines();
        let asked: serde_json::Value =
            serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        assert_eq!(asked["path"], "/api/v1/workspaces/w/queue/claim");
        let id = asked["id"].as_u64().unwrap();
        let foreign = json!({ "id": id + 900, "status": 500, "body": {} });
        let problem = json!({ "id": id, "status": 409, "body": { "code": "workspace_not_ready" } });
        writing.write_all(format!("nonsense\n{foreign}\n{problem}\n").as_bytes()).await.unwrap();
    });
    let claim = warren_api::ClaimMessage::default();
    let refused = api.claim("t", "w", &claim).await.unwrap_err();
    assert_eq!(refused, ApiError::Refused { code: "workspace_not_ready".into() });
    server.await.unwrap();
    assert_eq!(api.claim("t", "w", &claim).await.unwrap_err(), ApiError::Ended);
}

// A80
#[tokio::test]
async fn a_program_that_speaks_lines_of_json_tells_progress_files_and_a_state() {
    let script = r#"read -r line
case "$line" in *hello*) ;; *) exit 9 ;; esac
echo '{"progress": "reading"}'
echo 'not of the format'
echo '{"artifact": {"id": "one", "name": "out.txt", "parts": [{"url": "workspace:out.txt"}]}}'
sleep 3
echo '{"answer": "which one?", "state": "input_required"}'"#;
    let (fake, mut home) = (FakeApi::new(), home(script));
    home.settings.adapter = Adapter::Json;
    fake.queue("hello");
    assert!(until(&fake, &home, |desk| desk.answers.len() == 1).await.is_none());
    let desk = fake.desk();
    let answer = &desk.answers[0];
    assert_eq!(answer.state, Some(warren_api::TaskState::InputRequired));
    assert_eq!(answer.artifacts[0].artifact.name.as_deref(), Some("out.txt"));
    assert_eq!(answer.message.as_ref().unwrap().parts[0].text.as_deref(), Some("which one?"));
    let told = desk.progress[0].message.as_ref().unwrap().parts[0].text.clone().unwrap();
    assert_eq!(told, "reading\nnot of the format");
}

// A80
#[tokio::test]
async fn a_program_that_ends_without_a_line_that_answers_is_a_failure_that_says_so() {
    let (fake, mut home) = (FakeApi::new(), home("echo hi"));
    home.settings.adapter = Adapter::Json;
    fake.queue("hello");
    assert!(until(&fake, &home, |desk| desk.answers.len() == 1).await.is_none());
    let answer = &fake.desk().answers[0];
    assert_eq!(answer.outcome, AnswerOutcome::Failed);
    let said = answer.message.as_ref().unwrap().parts[0].text.clone().unwrap();
    assert_eq!(said, "the program ended without a line that has an `answer`\nhi");
}

// A80
#[tokio::test]
async fn a_program_that_serves_a2a_is_called_and_started_again_when_it_dies() {
    const SERVER: &str = r#"
import http.server, json, os, sys
port, mark = int(sys.argv[1]), sys.argv[2]
tasks = {}
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *words): pass
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        assert self.headers["a2a-version"] == "1.0"
        params = asked["params"]
        if asked["method"] == "SendMessage":
            text = params["message"]["parts"][0]["text"]
            if text == "die" and not os.path.exists(mark):
                open(mark, "w").close()
                os._exit(5)
            if text == "quick":
                result = {"message": {"role": "ROLE_AGENT", "parts": [{"text": "at once"}]}}
            else:
                tasks["t"] = {"id": "t", "status": {"state": "TASK_STATE_WORKING", "message": {"parts": [{"text": "looking"}]}}}
                result = {"task": tasks["t"]}
        else:
            said = {"parts": [{"text": "done"}]}
            tasks["t"]["status"] = {"state": "TASK_STATE_COMPLETED", "message": said}
            tasks["t"]["artifacts"] = [{"artifactId": "a", "name": "a.txt", "parts": [{"text": "inside"}]}]
            result = tasks["t"]
        body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"#;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (fake, mut home) = (FakeApi::new(), home(""));
    let mark = home.file("died").display().to_string();
    home.settings.command = ["python3", "-c", SERVER, &free.to_string(), &mark].map(str::to_owned).to_vec();
    home.settings.adapter = Adapter::A2a;
    home.settings.options.a2a_url = Some(format!("http://127.0.0.1:{free}/"));
    ["quick", "slow", "die"].iter().for_each(|text| fake.queue(text));
    assert!(until(&fake, &home, |desk| desk.answers.len() == 3).await.is_none());
    let desk = fake.desk();
    let texts: Vec<_> = desk
        .answers
        .iter()
        .map(|answer| answer.message.as_ref().unwrap().parts[0].text.clone().unwrap())
        .collect();
    assert_eq!(texts, ["at once", "done", "done"], "the last one by the second life");
    assert_eq!(desk.answers[1].artifacts[0].artifact.parts[0].text.as_deref(), Some("inside"));
    assert!(std::path::Path::new(&mark).exists());
}
