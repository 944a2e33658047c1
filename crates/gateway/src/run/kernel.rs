//! Routes that run in the kernel: put there, looked after, counted, taken away.

use crate::config::Offload;
use crate::snapshot::{KernelPart, KernelRow};
use offload::{RouteCounts, cangw};
use route::Routes;
use std::os::fd::{AsFd, BorrowedFd};

/// What is to run in the kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct KernelPlan {
    /// How.
    pub how: Offload,
    /// The name by which the gateway knows its rules again after a crash: that of its control
    /// socket, of which there is one.
    pub instance: String,
    /// The routes.
    pub routes: Routes,
    /// The ports' Linux interfaces, in the order in which routes count them.
    pub interfaces: Vec<Option<String>>,
    /// The ports' names.
    pub ports: Vec<String>,
}

/// Routes in the kernel. They go when this is dropped.
pub(crate) struct InKernel {
    plan: KernelPlan,
    rules: cangw::Offload,
}

impl InKernel {
    /// Puts them there.
    ///
    /// # Errors
    /// What the kernel lacks, refuses or cannot express, in words; then nothing was changed.
    pub(crate) fn start(plan: KernelPlan) -> Result<Self, String> {
        let instance = cangw::Instance::new(&plan.instance);
        let (rules, outcome) = cangw::Offload::start(&instance, &plan.routes, &plan.interfaces)
            .map_err(|error| words(&error))?;
        tracing::info!(
            "{} rules of can-gw: {} new, {} left by an earlier run",
            outcome.added + outcome.unchanged + outcome.updated,
            outcome.added,
            outcome.adopted
        );
        missing(&outcome);
        Ok(Self { plan, rules })
    }

    pub(crate) fn plan(&self) -> &KernelPlan {
        &self.plan
    }

    /// Exchanges the routes; gives what is to be said about it.
    ///
    /// # Errors
    /// As [`InKernel::start`].
    pub(crate) fn reload(&mut self, plan: KernelPlan) -> Result<String, String> {
        let outcome = self
            .rules
            .reload(&plan.routes, &plan.interfaces)
            .map_err(|error| words(&error))?;
        missing(&outcome);
        self.plan = plan;
        Ok(format!(
            "can-gw: {} rules not touched, {} changed in place, {} added, {} taken away",
            outcome.unchanged, outcome.updated, outcome.added, outcome.removed
        ))
    }

    /// Readable when [`InKernel::look`] has something to do.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.rules.as_fd()
    }

    /// Interfaces have come, gone, or changed.
    pub(crate) fn look(&mut self) {
        match self.rules.links_changed() {
            Ok(None) => {}
            Ok(Some(outcome)) => {
                if outcome.added > 0 {
                    tracing::info!("an interface is back: {} rules with it", outcome.added);
                }
                missing(&outcome);
            }
            Err(error) => tracing::error!("{}", words(&error)),
        }
    }

    /// What was counted since the start.
    ///
    /// # Errors
    /// What the kernel says, in words.
    pub(crate) fn counts(&mut self) -> Result<KernelPart, String> {
        let counts = self.rules.counts().map_err(|error| words(&error))?;
        let names = self.plan.routes.routes.iter().map(|r| r.name.clone());
        Ok(KernelPart {
            how: self.plan.how.to_string(),
            routes: names.zip(counts).map(|(n, c)| row(n, c)).collect(),
        })
    }
}

fn row(name: String, counts: RouteCounts) -> KernelRow {
    let RouteCounts {
        taken,
        sent,
        stopped: [dropped_by_rule, rate_limited, hop_limit, too_long, id_range],
        failed,
    } = counts;
    KernelRow {
        name,
        taken,
        sent,
        dropped_by_rule,
        rate_limited,
        hop_limit,
        too_long,
        id_range,
        failed,
    }
}

fn missing(outcome: &cangw::Outcome) {
    if !outcome.missing.is_empty() {
        let all: Vec<_> = outcome.missing.iter().map(String::as_str).collect();
        tracing::warn!(
            "no such CAN interface: {}; the rules with it come when it does",
            all.join(", ")
        );
    }
}

/// An error with its causes.
fn words(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(" ({error})"));
        cause = error.source();
    }
    text
}
