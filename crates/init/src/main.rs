//! Process 1 of a box.
fn main() {}
