//! What agents remember: who reads it, what is found, what is masked, and when it is gone.

use warren_exchange::{Error, Remember};
use warren_fleet::SecretScope;
use warren_model::{
    ErrorCode, Memory, MemoryPlace, MemoryScope, PeerCircle, PeerPolicy, Principal, SecretValue, WorkspaceId,
};
use warren_testkit::{ExchangeBed, ExchangeOptions, eventually};

const SCOPES: [MemoryScope; 3] = [MemoryScope::Local, MemoryScope::Team, MemoryScope::Org];

fn remember(scope: MemoryScope, key: &str, value: &str) -> Remember {
    Remember {
        scope,
        key: key.into(),
        value: value.into(),
        ttl_seconds: None,
        task_id: None,
        expected_version: None,
    }
}

async fn write(bed: &ExchangeBed, of: WorkspaceId, new: Remember) -> Result<(Memory, bool), Error> {
    bed.exchange.memories.remember(&bed.operator, of, new).await
}

async fn read(bed: &ExchangeBed, of: WorkspaceId, scope: MemoryScope, key: &str) -> Option<String> {
    match bed.exchange.memories.recall(&bed.operator, of, scope, key.into()).await {
        Ok(found) => Some(found.value),
        Err(error) => {
            assert_eq!(error.code, ErrorCode::MemoryNotFound);
            None
        }
    }
}

async fn search(bed: &ExchangeBed, of: WorkspaceId, scope: Option<MemoryScope>, words: &str) -> Vec<String> {
    let found = bed.exchange.memories.search(&bed.operator, of, scope, words, 50).await.unwrap();
    found.rows.into_iter().map(|one| one.key).collect()
}

// X50
#[tokio::test]
async fn memory_is_read_by_oneself_the_team_or_the_org_and_by_nobody_else() {
    for bed in ExchangeBed::on_each_store().await {
        let lead = bed.workspace().await.id;
        let (one, two) = (bed.workspace_below(Some(lead)).await.id, bed.workspace_below(Some(lead)).await.id);
        let stranger = bed.workspace().await.id;
        for scope in SCOPES {
            write(&bed, one, remember(scope, "k", scope.as_str())).await.unwrap();
        }
        let seen = async |of| {
            let mut seen = Vec::new();
            for scope in SCOPES {
                seen.extend(read(&bed, of, scope, "k").await);
            }
            let listed = bed.exchange.memories.list(&bed.operator, of, None, None, 50).await.unwrap();
            assert_eq!(listed.rows.len(), seen.len(), "the list shows the same");
            assert_eq!(search(&bed, of, None, "k").await.len(), seen.len(), "and so does a search");
            seen
        };
        assert_eq!(seen(one).await, ["local", "team", "org"]);
        assert_eq!(seen(two).await, ["team", "org"]);
        assert_eq!(seen(lead).await, ["team", "org"]);
        assert_eq!(seen(stranger).await, ["org"]);
        // An agent reaches through its own workspace only.
        let agent = bed.agent_of(two).await;
        let memories = &bed.exchange.memories;
        let other = memories.recall(&agent, one, MemoryScope::Local, "k".into()).await.unwrap_err();
        assert_eq!(other.code, ErrorCode::WorkspaceNotFound);
        let hello = remember(MemoryScope::Team, "from-two", "hello");
        let (own, is_new) = memories.remember(&agent, two, hello).await.unwrap();
        assert_eq!((own.author, is_new), (Principal::workspace(two), true));
        assert_eq!(read(&bed, one, MemoryScope::Team, "from-two").await.as_deref(), Some("hello"));
    }
}

// X50, X3: one agent that was talked into something does not speak to all
#[tokio::test]
async fn an_agent_writes_for_its_org_only_where_its_policy_says_so() {
    for bed in ExchangeBed::on_each_store().await {
        let of = bed.workspace().await.id;
        let (agent, memories) = (bed.agent_of(of).await, &bed.exchange.memories);
        for scope in [MemoryScope::Local, MemoryScope::Team] {
            memories.remember(&agent, of, remember(scope, "k", "mine")).await.unwrap();
        }
        write(&bed, of, remember(MemoryScope::Org, "k", "a person's")).await.unwrap();
        for refused in [
            memories.remember(&agent, of, remember(MemoryScope::Org, "k", "obey me")).await.map(drop),
            memories.forget(&agent, of, MemoryScope::Org, "k".into()).await,
        ] {
            let refused = refused.unwrap_err();
            assert_eq!(refused.code, ErrorCode::Forbidden);
            assert!(refused.detail.unwrap().contains("circle `org`"));
        }
        assert_eq!(read(&bed, of, MemoryScope::Org, "k").await.as_deref(), Some("a person's"));
        let policy = PeerPolicy { circle: PeerCircle::Org, ..PeerPolicy::default() };
        bed.fleet.workspaces.set_peer_policy(&bed.operator, of, policy).await.unwrap();
        memories.remember(&agent, of, remember(MemoryScope::Org, "k", "now it may")).await.unwrap();
        memories.forget(&agent, of, MemoryScope::Org, "k".into()).await.unwrap();
    }
}

// X50: compare-and-set
#[tokio::test]
async fn a_write_that_names_a_version_is_refused_when_somebody_was_faster() {
    for bed in ExchangeBed::on_each_store().await {
        let of = bed.workspace().await.id;
        let at = async |version, value: &str| {
            let expected_version = Some(version);
            let new = Remember { expected_version, ..remember(MemoryScope::Local, "a/b c", value) };
            write(&bed, of, new).await.map(|(memory, _)| memory.version).map_err(|error| error.code)
        };
        assert_eq!(at(0, "one").await, Ok(1));
        assert_eq!(at(0, "two").await, Err(ErrorCode::PreconditionFailed));
        assert_eq!(at(1, "two").await, Ok(2));
        assert_eq!(at(1, "three").await, Err(ErrorCode::PreconditionFailed));
        let forgotten = bed.exchange.memories.forget(&bed.operator, of, MemoryScope::Local, "a/b c".into());
        forgotten.await.unwrap();
        assert_eq!(read(&bed, of, MemoryScope::Local, "a/b c").await, None);
    }
}

// X50: of many that name no version, none is refused and all are counted
#[tokio::test]
async fn many_writers_of_one_key_are_all_counted() {
    for bed in ExchangeBed::on_each_store().await {
        let of = bed.workspace().await.id;
        let writers = (0..10)
            .map(|number| write(&bed, of, remember(MemoryScope::Local, "shared", &number.to_string())));
        for written in futures_util::future::join_all(writers).await {
            written.unwrap();
        }
        let recalled = bed.exchange.memories.recall(&bed.operator, of, MemoryScope::Local, "shared".into());
        assert_eq!(recalled.await.unwrap().version, 10);
    }
}

// X50: a time to live, and the sweep
#[tokio::test]
async fn what_has_expired_is_gone_at_once_and_its_key_is_new_again() {
    for bed in ExchangeBed::with_clock().await {
        let of = bed.local_workspace().await.id;
        let local = MemoryScope::Local;
        let brief = |value: &str, seconds| Remember {
            ttl_seconds: Some(seconds),
            ..remember(MemoryScope::Local, "k", value)
        };
        write(&bed, of, brief("brief", 60)).await.unwrap();
        write(&bed, of, remember(local, "stays", "brief too")).await.unwrap();
        bed.clock.advance_ms(59_999);
        assert_eq!(read(&bed, of, local, "k").await.as_deref(), Some("brief"));
        bed.clock.advance_ms(1);
        assert_eq!(read(&bed, of, local, "k").await, None);
        assert_eq!(search(&bed, of, None, "brief").await, ["stays"]);
        let new = Remember { expected_version: Some(0), ..remember(local, "k", "new") };
        assert!(write(&bed, of, new).await.unwrap().1);
        write(&bed, of, brief("old", 1)).await.unwrap();
        bed.clock.advance_ms(1_000);
        let bed = bed.restart().await;
        let place = MemoryPlace::Local(of);
        eventually("its row is cleared", async || {
            bed.store.read::<_, warren_store::Error, _>(move |tx| tx.count_memories(place)).await == Ok(1)
        })
        .await;
    }
}

// X50, sec/U02
#[tokio::test]
async fn secrets_are_masked_before_anything_is_written() {
    let bed = ExchangeBed::on_sqlite(ExchangeOptions::real_time()).await;
    let of = bed.workspace().await.id;
    let secret = "correct-horse-battery-staple";
    let value = SecretValue::new(secret.to_owned().into()).unwrap();
    let scope = SecretScope::Workspace(of);
    bed.fleet.secrets.set(&bed.operator, scope, "TOKEN".parse().unwrap(), value).await.unwrap();
    let github = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let value = format!("log in with {secret}, push with {github}, then rest");
    let (written, _) = write(&bed, of, remember(MemoryScope::Local, "how", &value)).await.unwrap();
    let kept = &written.value;
    assert!(!kept.contains(secret) && !kept.contains(&github[8..]), "{kept}");
    assert!(kept.starts_with("log in with ***") && kept.ends_with(", then rest"), "{kept}");
    assert_eq!(written.masked, 2);
    assert!(search(&bed, of, None, "horse").await.is_empty(), "nor is it found by it");
    let key = write(&bed, of, remember(MemoryScope::Local, github, "x")).await.unwrap_err();
    assert_eq!(key.code, ErrorCode::InvalidMemory);
    let events = format!("{:?}", bed.all_events().await);
    assert!(!events.contains(secret) && !events.contains(github));
    // The whole folder: database, its journal, everything.
    bed.exchange.stop().await;
    let folder = bed.bed.stop().await;
    for file in std::fs::read_dir(folder.path()).unwrap().flatten().filter(|file| file.path().is_file()) {
        let bytes = std::fs::read(file.path()).unwrap();
        for planted in [secret, &github[8..]] {
            let is_there = bytes.windows(planted.len()).any(|window| window == planted.as_bytes());
            assert!(!is_there, "{planted} in {:?}", file.path());
        }
    }
}

// X50
#[tokio::test]
async fn a_search_finds_the_same_in_the_same_order_on_each_database() {
    for bed in ExchangeBed::on_each_store().await {
        let of = bed.workspace().await.id;
        for (key, value) in [
            ("deploy-notes", "how it is done in Zürich"),
            ("log", "deploy, deployed, deploying: Deploy!"),
            ("other", "one deploy; see e-mail to ops@example.com at 10.0.0.1"),
            ("unrelated", "nothing"),
        ] {
            write(&bed, of, remember(MemoryScope::Local, key, value)).await.unwrap();
        }
        assert_eq!(search(&bed, of, None, "DEPLOY").await, ["deploy-notes", "log", "other"]);
        assert_eq!(search(&bed, of, None, "deploy zür").await, ["deploy-notes"]);
        for (words, key) in [
            ("ops@example", "other"),
            ("mail", "other"),
            ("10.0.0.1", "other"),
            ("deploy') \"*", "deploy-notes"),
        ] {
            assert_eq!(search(&bed, of, None, words).await.first().map(String::as_str), Some(key), "{words}");
        }
        let first = bed.exchange.memories.search(&bed.operator, of, None, "deploy", 1).await.unwrap();
        assert_eq!(first.rows.len(), 1);
        assert!(search(&bed, of, Some(MemoryScope::Org), "deploy").await.is_empty());
        for bad in ["", " -- "] {
            let refused = bed.exchange.memories.search(&bed.operator, of, None, bad, 10).await.unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidRequest);
        }
    }
}
