//! What the protocol asks for, requirement by requirement (`scripts/a2a-peers/conformance`): of an agent made with the
//! official SDK, and of Warren in front of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;
use warren_testkit::Warren;

use super::{Agent, client, workspace_of};

/// Of 102 requirements, as many as apply to Warren and to the agent by itself: a run that tried less has proved less.
const TRIED_THROUGH_WARREN: usize = 97;
const TRIED_WITH_THE_AGENT: usize = 96;

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Debug)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Holds,
    Fails,
    #[serde(rename = "not applicable")]
    NotApplicable,
}

/// What became of one requirement by one binding.
#[derive(Deserialize)]
struct Verdict {
    id: String,
    level: String,
    binding: String,
    asked: String,
    outcome: Outcome,
    why: String,
}

/// By requirement and binding.
type Verdicts = BTreeMap<(String, String), Verdict>;

async fn verdicts(arguments: &[&str]) -> Verdicts {
    let found: Vec<Verdict> = serde_json::from_value(client("conformance", arguments).await).unwrap();
    found.into_iter().map(|verdict| ((verdict.id.clone(), verdict.binding.clone()), verdict)).collect()
}

fn tried(verdicts: &Verdicts) -> usize {
    let mut ids: Vec<&str> = verdicts
        .values()
        .filter(|verdict| verdict.outcome != Outcome::NotApplicable)
        .map(|verdict| verdict.id.as_str())
        .collect();
    ids.dedup();
    ids.len()
}

fn keys_of(verdicts: &Verdicts, outcome: Outcome) -> impl Iterator<Item = &(String, String)> {
    verdicts.iter().filter(move |(_, verdict)| verdict.outcome == outcome).map(|(key, _)| key)
}

/// Whatever does not hold on both sides, what it is and why.
fn table(direct: &Verdicts, through: &Verdicts) -> String {
    let mut lines = String::new();
    for (key, verdict) in through {
        let by_itself = direct.get(key).map_or(Outcome::NotApplicable, |verdict| verdict.outcome);
        if (by_itself, verdict.outcome) != (Outcome::Holds, Outcome::Holds) {
            let Verdict { id, level, binding, asked, outcome, why } = verdict;
            let _ = write!(lines, "\n{level} {id} ({binding}): {asked}");
            let _ = write!(lines, "\n    the agent: {by_itself:?}; through Warren: {outcome:?} {why}");
        }
    }
    lines
}

// X1: not only what an agent must do, also what it should: all of it holds today.
#[tokio::test]
async fn what_the_protocol_asks_for_holds_through_warren_and_so_does_all_that_holds_for_the_agent() {
    let agent = Agent::start(&[]);
    let warren = Warren::builder().reaches_loopback().start().await;
    let id = workspace_of(&warren, &agent).await;
    let workspace = format!("{}/a2a/{id}", warren.url);
    let (of_agent, of_warren) =
        ([agent.url.as_str(), "--json"], [&workspace, warren.token.as_str(), "--json"]);
    let (direct, through) = tokio::join!(verdicts(&of_agent), verdicts(&of_warren));
    let table = table(&direct, &through);

    let counts = (tried(&direct), tried(&through));
    assert!(
        counts.0 >= TRIED_WITH_THE_AGENT && counts.1 >= TRIED_THROUGH_WARREN,
        "too few were tried: {counts:?}{table}"
    );
    let failed: Vec<_> = keys_of(&through, Outcome::Fails).collect();
    assert!(failed.is_empty(), "fails through Warren: {failed:?}{table}");
    let lost: Vec<_> = keys_of(&direct, Outcome::Holds)
        .filter(|key| through.get(*key).map(|verdict| verdict.outcome) != Some(Outcome::Holds))
        .collect();
    assert!(lost.is_empty(), "holds for the agent itself and not through Warren: {lost:?}{table}");
}
