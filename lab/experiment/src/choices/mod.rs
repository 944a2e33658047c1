//! The choices of an experiment, one file per setting, each with its words.

mod boot;
mod clock;
mod cpu;
mod filters;
mod gateway;
mod hops;
mod load;
mod log;
mod machines;
mod modify;
mod nesting;
mod placement;
mod priority;
mod task;
mod tuning;
mod ways;
mod word;

pub use boot::Boot;
pub use clock::ClockChoice;
pub use cpu::Cpu;
pub use filters::{FilterChoice, MAX_EFF, MOST_FILTERS};
pub use gateway::GatewayChoice;
pub use hops::{HopChoice, MOST_HOPS, VirtualKind};
pub use load::MachineLoad;
pub use log::{LogError, LogSide, LogTraffic};
pub use machines::{Incident, MAX_BUDGET, MAX_MACHINES, MachineOrder, Machines, OtherTraffic};
pub use modify::ModifyChoice;
pub use nesting::Nesting;
pub use placement::MachinePlacement;
pub use priority::Priority;
pub use task::ExperimentTask;
pub use tuning::Tuning;
pub use ways::{PAPER_NAMES, ReceiveChoice, TransmitChoice, WayPair};
pub use word::{WordError, WordKind, WordMeaning};
pub(crate) use word::{checksum, number};

#[cfg(test)]
mod tests {
    use super::*;
    use guest::Kernel;
    use guest::machine::BenchKind;
    use probe::traffic::TrafficPattern;
    use proptest::prelude::*;
    use std::fmt;
    use std::str::FromStr;

    fn back<T: FromStr<Err = WordError> + fmt::Display + PartialEq + fmt::Debug>(value: &T) {
        assert_eq!(value.to_string().parse().as_ref(), Ok(value));
    }

    #[test]
    fn words_come_back() {
        for word in [
            "cangw",
            "can-gw",
            "bpf",
            "user:read-write",
            "direct",
            "direct:irq",
            "chardev",
            "baremetal",
            "baremetal:irq",
            "baremetal:ideal",
            "vm:native",
            "vm:host",
            "vm:driver",
            "vm:vf",
            "vm:card",
            "vm:trap",
            "none",
        ] {
            assert_eq!(word.parse::<GatewayChoice>().unwrap().to_string(), word);
        }
        for word in ["0", "1", "5", "2:2", "4:2", "1:vxcan", "4:2:vxcan"] {
            assert_eq!(word.parse::<HopChoice>().unwrap().to_string(), word);
        }
        assert_eq!("0:2".parse(), Ok(HopChoice::NONE));
        assert_eq!("0:vxcan".parse(), Ok(HopChoice::NONE));
    }

    #[test]
    fn errors_name_what_there_is() {
        let error = WordError::from("often".parse::<TrafficPattern>().unwrap_err());
        assert!(error.hint.contains("oneatatime"), "{error}");
        let error = WordError::from("2.6.33".parse::<Kernel>().unwrap_err());
        assert_eq!(
            error.to_string(),
            "`2.6.33` is not a kernel: choose one of 5.10, 5.10-rt, 6.1, 6.1-rt, 6.12, 6.12-rt, \
             7.3, 7.3-rt"
        );
        let error = WordError::from("x".parse::<BenchKind>().unwrap_err());
        assert_eq!(
            error.to_string(),
            "`x` is not a bench: choose one of kvaser, ctucan, timed, vm, vcan, none"
        );
        for bad in [
            "",
            "sff",
            "sff:0",
            "list:2049",
            "eff:-1",
            "eff:100001",
            "none:1",
        ] {
            assert!(bad.parse::<FilterChoice>().is_err(), "{bad}");
        }
        for bad in [
            "",
            "6",
            "3:2",
            "2:3",
            "-1",
            "2:",
            ":vxcan",
            "2:vcan",
            "2:vxcan:2",
        ] {
            assert!(bad.parse::<HopChoice>().is_err(), "{bad}");
        }
        for bad in ["user", "user:", "user:magic", "cangw:x", "bpf:", "cangw-"] {
            assert!(bad.parse::<GatewayChoice>().is_err(), "{bad}");
        }
        for good in ["none", "nohz=off", "nohz=off+threadirqs", "a.b_c=1.5+d="] {
            let boot: Boot = good.parse().unwrap();
            assert_eq!(boot.to_string(), good);
        }
        let long = format!("a={}", "1".repeat(50));
        for bad in [
            "", "a b", "a+", "+a", "1=2", "a=b=c", "a-b", "-- x", "é", &long,
        ] {
            assert!(bad.parse::<Boot>().is_err(), "{bad}");
        }
        for ours in [
            "rdinit=/bin/sh",
            "cangate.bench=vcan",
            "quiet",
            "nohz=off+console=tty0",
        ] {
            let error = ours.parse::<Boot>().unwrap_err();
            assert!(error.what.contains("set by the lab"), "{error}");
        }
        for bad in ["shift:11", "shift:", "PC", "board:11", "boar:2"] {
            assert!(bad.parse::<Cpu>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn every_count_comes_back(n in 1..=MOST_FILTERS, eff in 1..=MAX_EFF, shift in 0u8..=10) {
            back(&FilterChoice::Sff(n));
            back(&FilterChoice::List(n));
            back(&FilterChoice::Eff(eff));
            back(&Cpu::Shift(shift));
            let word = format!("board:{shift}");
            let cpu: Cpu = word.parse().unwrap();
            assert_eq!(cpu == Cpu::Board, shift == 2);
            back(&cpu);
        }
    }
}
