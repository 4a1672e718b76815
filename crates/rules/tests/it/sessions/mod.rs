//! Sessions under random interleavings of answers, crashes, stops, decisions and messages (A4, A8).
//!
//! `WARREN_SESSION_RUNS` says how many; a failing one is replayed with `WARREN_SESSION_SEED`.

mod world;

use world::World;

const TURNS: u32 = 60;

fn number_from(variable: &str) -> Option<u64> {
    #[expect(clippy::disallowed_methods, reason = "a test's own knob")]
    std::env::var(variable).ok()?.parse().ok()
}

fn play(seed: u64) -> (u64, u64) {
    let mut world = World::new(seed);
    for _ in 0..TURNS {
        world.turn();
    }
    world.calm_down();
    (world.asked, world.crashes)
}

// A2, A4, A8: never an invalid request, never two outcomes of a call, never a lost message, never a session that stays.
#[test]
fn no_interleaving_breaks_a_session() {
    if let Some(seed) = number_from("WARREN_SESSION_SEED") {
        play(seed);
        return;
    }
    let runs = number_from("WARREN_SESSION_RUNS").unwrap_or(5_000);
    let (mut asked, mut crashes) = (0, 0);
    for seed in 0..runs {
        let played = std::panic::catch_unwind(|| play(seed));
        let (of_one, crashed) = played.unwrap_or_else(|cause| {
            eprintln!("WARREN_SESSION_SEED={seed} replays it");
            std::panic::resume_unwind(cause)
        });
        asked += of_one;
        crashes += crashed;
    }
    assert!(asked > runs && crashes > runs / 4, "the world is too quiet: {asked} asked, {crashes} crashes");
}

// A4, A11
#[test]
fn crashes_of_warrens_own_use_up_no_try_of_the_model() {
    assert!(World::new(1).is_asked_again_after_crashes(20));
}
