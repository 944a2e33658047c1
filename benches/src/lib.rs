//! Benchmarks of the crates that frames pass: `cargo bench -p cangate-benches --bench NAME`, or all
//! by `cargo xtask bench`. `docs/performance.md` has their results.
//!
//! They are a crate of their own, because the library that measures and what it needs would
//! otherwise be compiled for the tests of each crate.

#![forbid(unsafe_code)]
