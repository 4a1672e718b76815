//! Whom a workspace reaches (X3).

use warren_fleet::{CreateWorkspace, WorkspaceOptions};
use warren_model::{ErrorCode, PeerCircle, PeerPolicy, Runtime, Workspace, WorkspaceId, WorkspaceName};
use warren_store::TaskQuery;
use warren_testkit::{Bed, ExchangeBed};

fn below(name: &str, parent_id: Option<WorkspaceId>) -> CreateWorkspace {
    CreateWorkspace { parent_id, runtime: Runtime::External, ..Bed::local_request(name) }
}

async fn place(
    bed: &ExchangeBed,
    name: &str,
    parent: Option<WorkspaceId>,
    role: Option<&str>,
) -> WorkspaceId {
    let options = WorkspaceOptions { role: role.map(str::to_owned), ..Default::default() };
    bed.create(CreateWorkspace { options, ..below(name, parent) }).await.id
}

async fn names(bed: &ExchangeBed, id: WorkspaceId, query: &str) -> Vec<String> {
    let peers = bed.exchange.peers.list(&bed.operator, id, query).await.unwrap();
    let mut names: Vec<_> = peers.iter().map(|peer| peer.name.as_str().to_owned()).collect();
    names.sort();
    names
}

// X3
#[tokio::test]
async fn peers_are_exactly_those_that_a_message_reaches() {
    for bed in ExchangeBed::on_each_store().await {
        let root = place(&bed, "root", None, None).await;
        let team = place(&bed, "team", Some(root), Some("Lead")).await;
        let (one, own) = bed.called_with(below("one", Some(team))).await;
        let two = place(&bed, "Two", Some(team), Some("code reviewer")).await;
        let child = place(&bed, "below", Some(one), None).await;
        let uncle = place(&bed, "uncle", Some(root), None).await;
        let stranger = place(&bed, "stranger", None, None).await;
        assert_eq!(names(&bed, one, "").await, ["Two", "below", "root", "team"]);
        assert_eq!(names(&bed, root, "").await, ["Two", "below", "one", "stranger", "team", "uncle"]);
        assert_eq!(names(&bed, stranger, "").await, ["root"], "those that nobody is above are siblings");
        for (query, found) in [(" ", 4), ("TWO", 1), ("review", 1), ("lead", 1), ("nobody", 0)] {
            assert_eq!(names(&bed, one, query).await.len(), found, "{query}");
        }
        for to in [one, team, root, two, child] {
            bed.send_as(&own, bed.text(to, "hello")).await.unwrap();
        }
        for to in [uncle, stranger] {
            let refused = bed.send_as(&own, bed.text(to, "hello")).await.unwrap_err();
            assert_eq!(refused.code, ErrorCode::WorkspaceNotFound);
        }
    }
}

// X3
#[tokio::test]
async fn a_policy_widens_or_narrows_whom_a_workspace_reaches() {
    for bed in ExchangeBed::on_each_store().await {
        let (one, own) = bed.called_with(below("one", None)).await;
        let other = place(&bed, "other", None, None).await;
        let reaches = async || bed.send_as(&own, bed.text(other, "hello")).await.is_ok();
        let set = async |id, circle, allow: &[WorkspaceId], deny: &[WorkspaceId]| {
            let policy = PeerPolicy { circle, allow: allow.to_vec(), deny: deny.to_vec() };
            bed.fleet.workspaces.set_peer_policy(&bed.operator, id, policy).await.unwrap();
        };
        assert!(reaches().await, "side by side in an org");
        set(one, PeerCircle::Org, &[], &[]).await;
        set(other, PeerCircle::Nobody, &[], &[]).await;
        assert!(!reaches().await, "one side alone opens nothing");
        set(other, PeerCircle::Nobody, &[one], &[]).await;
        assert!(reaches().await);
        assert_eq!(names(&bed, one, "").await, ["other"]);
        set(other, PeerCircle::Org, &[], &[one]).await;
        assert!(!reaches().await);
        let refused =
            bed.fleet.workspaces.set_peer_policy(&own, one, PeerPolicy::default()).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Forbidden, "an agent does not widen its own reach");
    }
}

// X3: a peer sees what it asked for itself, and nothing else of the workspace
#[tokio::test]
async fn a_peer_sees_its_own_tasks_only() {
    for bed in ExchangeBed::on_each_store().await {
        let lead = place(&bed, "lead", None, None).await;
        let (one, own) = bed.called_with(below("one", Some(lead))).await;
        let mine = bed.send_as(&own, bed.text(lead, "mine")).await.unwrap();
        let theirs = bed.say(lead, "theirs").await;
        let messages = &bed.exchange.messages;
        messages.task(&own, lead, mine.task.id).await.unwrap();
        let hidden = messages.task(&own, lead, theirs.task.id).await.unwrap_err();
        assert_eq!(hidden.code, ErrorCode::TaskNotFound);
        let (page, count) = messages.tasks(&own, TaskQuery::of(lead, 10)).await.unwrap();
        assert_eq!((page.rows.len(), count), (1, 1));
        assert_eq!(page.rows[0].author.id, one.to_string());
    }
}

// X3
#[tokio::test]
async fn all_peers_are_listed_however_many_there_are() {
    for bed in ExchangeBed::on_each_store().await {
        let lead = place(&bed, "lead", None, None).await;
        let row = bed.row(lead).await;
        let ids: Vec<WorkspaceId> = (0..1_050).map(|_| bed.fleet.context.new_id()).collect();
        bed.store
            .write(move |tx| {
                for (number, id) in ids.iter().enumerate() {
                    let name: WorkspaceName = format!("peer-{number}").parse().unwrap();
                    tx.insert_workspace(&Workspace { id: *id, name, ..row.clone() })?;
                }
                Ok::<_, warren_exchange::Error>(())
            })
            .await
            .unwrap();
        assert_eq!(names(&bed, lead, "").await.len(), 1_050);
        assert_eq!(names(&bed, lead, "peer-104").await.len(), 11, "the last of them too");
    }
}

// X3, X20: two agents side by side find each other, and hand each other work, by name
#[tokio::test]
async fn a_peer_is_found_by_its_name() {
    for bed in ExchangeBed::on_each_store().await {
        let (one, own) = bed.called_with(below("one", None)).await;
        let two = place(&bed, "two", None, None).await;
        let find = async |said: &str| bed.exchange.peers.find(&own, one, said).await;
        assert_eq!(find("two").await.unwrap(), two);
        assert_eq!(find(" Two ").await.unwrap(), two);
        assert_eq!(find(&two.to_string()).await.unwrap(), two);
        let unknown = find("three").await.unwrap_err();
        assert_eq!(unknown.code, ErrorCode::WorkspaceNotFound);
        assert!(unknown.detail.unwrap().contains("`three`"));
        let policy = PeerPolicy { circle: PeerCircle::Nobody, ..PeerPolicy::default() };
        bed.fleet.workspaces.set_peer_policy(&bed.operator, two, policy).await.unwrap();
        assert_eq!(find("two").await.unwrap_err().code, ErrorCode::WorkspaceNotFound, "policy says no");
    }
}
