//! The states of a workspace in a registry (W10), and the plans for its failures (W12–W14).
//!
//! ```text
//!            use            opened          lost
//! unopened ──────▶ opening ────────▶ open ────────▶ evicted
//!    ▲                │  ▲             │              │  │ │
//!    │ reset   failed │  └─────────────┼──── use ─────┘  │ │ close
//!    │                ▼                │                 │ │
//!    └───────────── failed ◀───────────┼── eviction storm┘ │
//!                                      ▼                   │
//!                              closing ◀───────────────────┘ ──▶ closed
//! ```
//!
//! The drawing leaves out the ways to `closing` and `closed` that skip `open`; [`diagram`] has all of them, since it
//! is made from the table. `closed` ends this life of the entry; declaring the workspace anew starts the next.

mod plans;

use std::fmt::{self, Write as _};

pub use plans::{
    Breaker, EvictionPlan, EvictionVerdict, FailureCause, OpenPlan, OpenVerdict, RecoveryPlan, StormPlan,
};

macro_rules! named_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant),* }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

named_enum! {
    State {
        /// Declared; the first use opens it.
        Unopened = "unopened",
        /// One open is under way, for all who wait.
        Opening = "opening",
        Open = "open",
        /// Was open and is gone; the next use resolves it again.
        Evicted = "evicted",
        /// Uses fail at once until it is reset.
        Failed = "failed",
        Closing = "closing",
        Closed = "closed",
    }
}

named_enum! {
    /// What can happen to a workspace.
    Signal {
        /// Somebody wants to work in it.
        Use = "use",
        Opened = "opened",
        OpenFailed = "open failed",
        /// A provider, or an operator, says that what was open is gone.
        Lost = "lost",
        /// Too many evictions in too short a time.
        StormDetected = "eviction storm",
        /// By an operator, or by the recovery plan.
        Reset = "reset",
        Close = "close",
        CloseFinished = "close finished",
        /// Declared anew after it was closed.
        Declared = "declared anew",
    }
}

/// A signal that a state does not take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedSignal {
    pub from: State,
    pub signal: Signal,
}

impl fmt::Display for RefusedSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a workspace that is {} does not take `{}`", self.from, self.signal)
    }
}

impl std::error::Error for RefusedSignal {}

impl State {
    /// The one table. Whoever finishes late (an open that ends after the close began) is answered here too.
    pub const fn next(self, signal: Signal) -> Result<Self, RefusedSignal> {
        use Signal::{Close, CloseFinished, Declared, Lost, OpenFailed, Opened, Reset, StormDetected, Use};
        let refused = Err(RefusedSignal { from: self, signal });
        match self {
            Self::Unopened => match signal {
                Use => Ok(Self::Opening),
                Close => Ok(Self::Closed),
                Reset | Declared => Ok(Self::Unopened),
                Opened | OpenFailed | Lost | StormDetected | CloseFinished => refused,
            },
            Self::Opening => match signal {
                Opened => Ok(Self::Open),
                OpenFailed => Ok(Self::Failed),
                Close => Ok(Self::Closing),
                Use | Lost | StormDetected | Reset | CloseFinished | Declared => refused,
            },
            Self::Open => match signal {
                Lost => Ok(Self::Evicted),
                Close => Ok(Self::Closing),
                Use | Opened | OpenFailed | StormDetected | Reset | CloseFinished | Declared => refused,
            },
            Self::Evicted => match signal {
                Use => Ok(Self::Opening),
                StormDetected => Ok(Self::Failed),
                Close => Ok(Self::Closing),
                Opened | OpenFailed | Lost | Reset | CloseFinished | Declared => refused,
            },
            Self::Failed => match signal {
                Reset => Ok(Self::Unopened),
                Close => Ok(Self::Closed),
                Use | Opened | OpenFailed | Lost | StormDetected | CloseFinished | Declared => refused,
            },
            Self::Closing => match signal {
                // The open that was under way still has to be closed.
                Opened | Close => Ok(Self::Closing),
                OpenFailed | CloseFinished => Ok(Self::Closed),
                Use | Lost | StormDetected | Reset | Declared => refused,
            },
            Self::Closed => match signal {
                Declared => Ok(Self::Unopened),
                Close => Ok(Self::Closed),
                Use | Opened | OpenFailed | Lost | StormDetected | Reset | CloseFinished => refused,
            },
        }
    }
}

/// The table as a Mermaid state diagram, for the reference.
pub fn diagram() -> String {
    let mut text = String::from("stateDiagram-v2\n    [*] --> unopened\n");
    for from in State::ALL {
        for signal in Signal::ALL {
            if let Ok(to) = from.next(*signal)
                && to != *from
            {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "    {from} --> {to}: {signal}");
            }
        }
    }
    text.push_str("    closed --> [*]\n");
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn signals() -> impl Strategy<Value = Vec<Signal>> {
        proptest::collection::vec(proptest::sample::select(Signal::ALL.to_vec()), 0..60)
    }

    /// The state after each signal that was taken, beginning with `unopened`.
    fn walk(signals: &[Signal]) -> Vec<(Option<Signal>, State)> {
        let mut path = vec![(None, State::Unopened)];
        for signal in signals {
            let (_, from) = path[path.len() - 1];
            if let Ok(to) = from.next(*signal) {
                path.push((Some(*signal), to));
            }
        }
        path
    }

    // W10
    #[test]
    fn the_chain_of_the_specification_is_in_the_table() {
        let chain = [
            (State::Unopened, Signal::Use, State::Opening),
            (State::Opening, Signal::Opened, State::Open),
            (State::Open, Signal::Lost, State::Evicted),
            (State::Evicted, Signal::Use, State::Opening),
            (State::Evicted, Signal::StormDetected, State::Failed),
            (State::Evicted, Signal::Close, State::Closing),
            (State::Opening, Signal::OpenFailed, State::Failed),
            (State::Open, Signal::Close, State::Closing),
            (State::Closing, Signal::CloseFinished, State::Closed),
        ];
        for (from, signal, to) in chain {
            assert_eq!(from.next(signal), Ok(to), "{from} on {signal}");
        }
    }

    // W10
    #[test]
    fn a_refused_signal_names_the_state_and_the_cause() {
        let refused = State::Closed.next(Signal::Use).unwrap_err();
        assert_eq!(refused.to_string(), "a workspace that is closed does not take `use`");
    }

    // W10
    #[test]
    fn the_diagram_has_exactly_the_changes_of_the_table() {
        let text = diagram();
        for from in State::ALL {
            for signal in Signal::ALL {
                let change = from.next(*signal).ok().filter(|to| to != from);
                let line = change.map(|to| format!("    {from} --> {to}: {signal}\n"));
                let is_drawn = line.is_some_and(|line| text.contains(&line));
                assert_eq!(is_drawn, change.is_some(), "{from} on {signal}");
            }
        }
        assert!(text.starts_with("stateDiagram-v2\n    [*] --> unopened\n"));
    }

    proptest! {
        // W10, W14
        #[test]
        fn open_is_reached_only_by_an_open_that_succeeded(signals in signals()) {
            for pair in walk(&signals).windows(2) {
                let ((_, from), (signal, to)) = (pair[0], pair[1]);
                if to == State::Open {
                    prop_assert_eq!((from, signal), (State::Opening, Some(Signal::Opened)));
                }
                if from == State::Failed && to != State::Failed {
                    prop_assert!(matches!(signal, Some(Signal::Reset | Signal::Close)));
                }
                if from == State::Closed && to != State::Closed {
                    prop_assert_eq!(signal, Some(Signal::Declared));
                }
            }
        }

        // W10, W16
        #[test]
        fn closing_leads_to_closed_and_nowhere_else(signals in signals()) {
            for pair in walk(&signals).windows(2) {
                if pair[0].1 == State::Closing {
                    prop_assert!(matches!(pair[1].1, State::Closing | State::Closed));
                }
            }
        }

        // W16
        #[test]
        fn any_state_can_be_closed(signals in signals()) {
            let (_, state) = walk(&signals)[walk(&signals).len() - 1];
            let closed = state.next(Signal::Close).and_then(|next| match next {
                State::Closing => next.next(Signal::CloseFinished),
                State::Unopened | State::Opening | State::Open | State::Evicted | State::Failed
                | State::Closed => Ok(next),
            });
            prop_assert_eq!(closed, Ok(State::Closed));
        }
    }
}
