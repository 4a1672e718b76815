//! The contract suite: what every backend must do, as plain async functions that panic with what went wrong.
