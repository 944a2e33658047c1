//! What contributors run.
fn main() {}
