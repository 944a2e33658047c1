//! What the agent is told on the kernel's command line, one word each.

use crate::machine::{Bench, Controller, Spec};
use std::fs;

/// How the bench is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Orders {
    pub(crate) bench: Bench,
    pub(crate) controller: Controller,
    /// bit/s.
    pub(crate) bitrate: u32,
    /// bit/s.
    pub(crate) data_bitrate: Option<u32>,
    pub(crate) ethernet: bool,
    /// Stop the machine when the bench is up, so that the host can save it.
    pub(crate) pause: bool,
}

impl Orders {
    /// The orders that a guest needs.
    pub(crate) fn of(spec: &Spec, pause: bool) -> Self {
        Self {
            bench: spec.bench,
            controller: spec.controller,
            bitrate: spec.bitrate,
            data_bitrate: spec.data_bitrate,
            ethernet: spec.ethernet,
            pause,
        }
    }

    /// As words of a command line.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut all = vec![
            // Words without a dot become the agent's environment.
            "PATH=/lab:/usr/sbin:/usr/bin:/sbin:/bin".to_owned(),
            "HOME=/root".to_owned(),
            // Whichever C library is in the image, this is where it and all others are.
            "LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu".to_owned(),
            format!("cangate.bench={}", bench_name(self.bench)),
            format!(
                "cangate.controller={}",
                match self.controller {
                    Controller::Sja1000 => "sja1000",
                    Controller::Mscan => "mscan",
                }
            ),
            format!("cangate.bitrate={}", self.bitrate),
        ];
        if let Some(rate) = self.data_bitrate {
            all.push(format!("cangate.dbitrate={rate}"));
        }
        if self.ethernet {
            all.push("cangate.ethernet=1".to_owned());
        }
        if self.pause {
            all.push("cangate.pause=1".to_owned());
        }
        all
    }

    /// As this guest was told.
    pub(super) fn read() -> Result<Self, String> {
        let line = fs::read_to_string("/proc/cmdline")
            .map_err(|e| format!("cannot read /proc/cmdline: {e}"))?;
        Self::parse(&line)
    }

    fn parse(line: &str) -> Result<Self, String> {
        let word = |name: &str| {
            line.split_whitespace().find_map(|word| {
                word.strip_prefix("cangate.")?
                    .strip_prefix(name)?
                    .strip_prefix('=')
            })
        };
        let need = |name: &str| word(name).ok_or_else(|| format!("no order about the {name}"));
        let number = |text: &str| text.parse().map_err(|e| format!("`{text}`: {e}"));
        Ok(Self {
            bench: match need("bench")? {
                "kvaser" => Bench::Kvaser,
                "timed" => Bench::Timed,
                "vcan" => Bench::Vcan,
                "none" => Bench::None,
                other => return Err(format!("no bench is called `{other}`")),
            },
            controller: match need("controller")? {
                "sja1000" => Controller::Sja1000,
                "mscan" => Controller::Mscan,
                other => return Err(format!("no controller is called `{other}`")),
            },
            bitrate: number(need("bitrate")?)?,
            data_bitrate: word("dbitrate").map(number).transpose()?,
            ethernet: word("ethernet").is_some(),
            pause: word("pause").is_some(),
        })
    }
}

fn bench_name(bench: Bench) -> &'static str {
    match bench {
        Bench::Kvaser => "kvaser",
        Bench::Timed => "timed",
        Bench::Vcan => "vcan",
        Bench::None => "none",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ordered_is_what_is_read() {
        for bench in [Bench::Kvaser, Bench::Timed, Bench::Vcan, Bench::None] {
            for (data_bitrate, ethernet) in [(None, true), (Some(4_000_000), false)] {
                let orders = Orders {
                    bench,
                    controller: Controller::Mscan,
                    bitrate: 500_000,
                    data_bitrate,
                    ethernet,
                    pause: ethernet,
                };
                let line = format!("console=ttyS0 {} -- lab agent\n", orders.words().join(" "));
                assert_eq!(Orders::parse(&line), Ok(orders));
            }
        }
        assert!(Orders::parse("cangate.bench=x").is_err());
        assert!(Orders::parse("").is_err());
    }
}
