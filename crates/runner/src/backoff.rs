//! How long the runner waits before it asks Warren again.

/// The formula of `warren_model`, compiled from its one file: as a dependency, the model would bring libraries for time
/// zones, YAML and schemas into a program that is built for every box.
#[path = "../../model/src/backoff.rs"]
#[expect(dead_code, unreachable_pub, reason = "the runner needs one of its functions")]
mod formula;

use formula::Backoff;

/// Each runner has a Warren to itself as far as it knows, and what all of them wait for is spread by when each of them
/// failed; so there is no jitter.
const WAITS: Backoff = Backoff::doubling(500, 30_000);

/// The wait after so many failures in a row.
pub fn wait_ms(failures: u32) -> u64 {
    match failures {
        0 => 0,
        _ => WAITS.delay_ms(failures - 1, 0.5),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // F18
    #[test]
    fn waits_double_up_to_half_a_minute() {
        let waits: Vec<_> = (0..9).map(wait_ms).collect();
        assert_eq!(waits, [0, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    }

    proptest! {
        // F18
        #[test]
        fn a_wait_never_shrinks_and_never_exceeds_its_maximum(failures: u32) {
            prop_assert!(wait_ms(failures) <= WAITS.max_ms);
            prop_assert!(wait_ms(failures) <= wait_ms(failures.saturating_add(1)));
        }
    }
}
