//! Tuning, in the guest, of the kernel's part in handling a frame.

use super::error::MeasureError;
use super::gateway::{file, set_priorities_of};
use crate::settings::Experiment;
use crate::under_test::{INCOMING, OUTGOING};
use guest::machine::GATEWAY_NAMESPACE as GATEWAY;
use guest::program::output;

const BUDGET: &str = "/proc/sys/net/core/netdev_budget";

/// Applies the setting to both interfaces, which are up.
pub(super) fn apply(experiment: &Experiment) -> Result<(), MeasureError> {
    let tuning = experiment.tuning;
    if let Some(budget) = tuning.netdev_budget {
        std::fs::write(BUDGET, format!("{budget}\n")).map_err(file("write", BUDGET))?;
    }
    if tuning.threaded_napi {
        for name in [INCOMING, OUTGOING] {
            let order = format!("echo 1 > /sys/class/net/{name}/threaded");
            output(Some(GATEWAY), &["sh", "-c", &order])?;
        }
    }
    if let Some(priority) = tuning.softirq_thread
        && set_priorities_of(|thread| thread.starts_with("ksoftirqd/"), priority)? == 0
    {
        return Err(MeasureError::NoThread("ksoftirqd"));
    }
    let Some(priority) = tuning.irq_thread else {
        return Ok(());
    };
    for name in [INCOMING, OUTGOING] {
        // The kernel cuts names of threads to 15 bytes.
        let is_irq =
            |thread: &str| thread.starts_with("irq/") && thread.ends_with(&format!("-{name}"));
        if set_priorities_of(is_irq, priority)? == 0 {
            return Err(MeasureError::NoInterruptThread(name));
        }
        if tuning.threaded_napi {
            let is_napi = |thread: &str| thread.starts_with(&format!("napi/{name}-"));
            if set_priorities_of(is_napi, priority)? == 0 {
                return Err(MeasureError::NoThread("napi"));
            }
        }
    }
    Ok(())
}
