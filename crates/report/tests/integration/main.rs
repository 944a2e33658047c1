//! The pages: the data that they show, and their display in a real browser.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bound;
#[path = "../sample/bound.rs"]
mod bound_sample;
#[path = "../browser/mod.rs"]
mod browser;
mod chromium;
#[path = "../sample/experiments.rs"]
mod experiments;
mod figures;
mod page;
mod periods;
#[path = "../sample/mod.rs"]
mod sample;
mod site;
