//! Tuning of the kernel's part in handling a frame.

use super::word::{WordError, WordKind, WordMeaning, number};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Tuning of the kernel's part in handling a frame; usually none.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct Tuning {
    /// The real-time priority of the interrupt threads of the CAN controllers, 1 to 99; the kernel
    /// gives all interrupt threads 50. There are such threads on PREEMPT_RT, and with the kernel's
    /// parameter `threadirqs`. With [`Tuning::threaded_napi`] it is also the priority of the NAPI
    /// threads.
    pub irq_thread: Option<u8>,
    /// The real-time priority of the kernel's thread for soft interrupts (ksoftirqd), 1 to 99; by
    /// default it has none, and waits among all ordinary processes.
    pub softirq_thread: Option<u8>,
    /// Whether the interfaces' NAPI runs in threads of its own (`/sys/class/net/NAME/threaded`,
    /// Linux 5.12).
    pub threaded_napi: bool,
    /// `net.core.netdev_budget`: the number of frames in one run of the receive soft interrupt, 1
    /// to 100 000.
    pub netdev_budget: Option<u32>,
}

const IRQ_THREAD: &str = "irq-thread";
const SOFTIRQ_THREAD: &str = "softirq-thread";
const THREADED_NAPI: &str = "threaded-napi";
const NETDEV_BUDGET: &str = "netdev-budget";

impl WordKind for Tuning {
    const KIND: &'static str = "tuning";
    const WORDS: &'static [WordMeaning] = &[
        (
            "irq-thread:N",
            &[
                "The interrupt threads of the CAN controllers have real-time priority N, 1 to 99; the \
                kernel's is 50. Kernels with -rt have such threads, others with the kernel's \
                parameter threadirqs",
            ],
        ),
        (
            "softirq-thread:N",
            &["ksoftirqd has real-time priority N, 1 to 99; by default it has none"],
        ),
        (
            "threaded-napi",
            &[
                "Received frames are read in threads (mscan controllers: --cpu board); with \
                irq-thread:N, these have priority N, too",
            ],
        ),
        (
            "netdev-budget:N",
            &["At most N frames in one run of the receive soft interrupt, 1 to 100000"],
        ),
        ("none", &["No tuning"]),
    ];
}

impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.irq_thread.map(|n| format!("{IRQ_THREAD}:{n}")),
            self.softirq_thread.map(|n| format!("{SOFTIRQ_THREAD}:{n}")),
            self.threaded_napi.then(|| THREADED_NAPI.to_owned()),
            self.netdev_budget.map(|n| format!("{NETDEV_BUDGET}:{n}")),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        if parts.is_empty() {
            return f.write_str("none");
        }
        f.write_str(&parts.join("+"))
    }
}

impl FromStr for Tuning {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        let mut tuning = Self::default();
        if text == "none" {
            return Ok(tuning);
        }
        for word in text.split('+') {
            let twice = match word.split_once(':') {
                Some((IRQ_THREAD, n)) => {
                    let priority = number(n, 1..=99, "real-time priority")?;
                    tuning.irq_thread.replace(priority).is_some()
                }
                Some((SOFTIRQ_THREAD, n)) => {
                    let priority = number(n, 1..=99, "real-time priority")?;
                    tuning.softirq_thread.replace(priority).is_some()
                }
                Some((NETDEV_BUDGET, n)) => {
                    let budget = number(n, 1..=100_000, "number of frames")?;
                    tuning.netdev_budget.replace(budget).is_some()
                }
                None if word == THREADED_NAPI => std::mem::replace(&mut tuning.threaded_napi, true),
                _ => {
                    return Err(WordError::unknown::<Self>(word));
                }
            };
            if twice {
                return Err(WordError::new(
                    format!("`{word}` is given twice"),
                    "leave one out",
                ));
            }
        }
        Ok(tuning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_in_one_order() {
        for word in [
            "none",
            "irq-thread:95",
            "softirq-thread:91",
            "threaded-napi",
            "netdev-budget:1",
            "irq-thread:95+softirq-thread:91+threaded-napi+netdev-budget:300",
        ] {
            assert_eq!(word.parse::<Tuning>().unwrap().to_string(), word);
        }
        let turned: Tuning = "netdev-budget:1+irq-thread:95".parse().unwrap();
        assert_eq!(turned.to_string(), "irq-thread:95+netdev-budget:1");
        for bad in [
            "",
            "irq-thread",
            "irq-thread:0",
            "softirq-thread",
            "softirq-thread:100",
            "irq-thread:100",
            "netdev-budget:0",
            "threaded-napi:1",
            "threaded-napi+threaded-napi",
            "irq-thread:1+irq-thread:2",
            "none+threaded-napi",
        ] {
            assert!(bad.parse::<Tuning>().is_err(), "{bad}");
        }
    }
}
