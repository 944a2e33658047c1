//! The words of an experiment's settings: what is typed after `cangate lab measure`'s options,
//! stands in matrix files, and is printed with every result. Each reads back as what it was.

use crate::experiment::{Boot, Cpu, Filters, Gateway, Hops, Load, Modify, TrafficKind, Virtual};
use crate::machine::Bench;
use std::fmt;
use std::str::FromStr;

/// A word that names nothing, and what there is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {hint}")]
pub struct WordError {
    /// What is wrong.
    pub what: String,
    /// What would be right.
    pub hint: String,
}

fn error<T>(what: impl Into<String>, hint: impl Into<String>) -> Result<T, WordError> {
    Err(WordError {
        what: what.into(),
        hint: hint.into(),
    })
}

pub(crate) fn unknown<T>(text: &str, kind: &str, there_is: &str) -> Result<T, WordError> {
    let what = if text.is_empty() {
        format!("no {kind} is given")
    } else {
        format!("`{text}` is no {kind}")
    };
    error(what, format!("there is {there_is}"))
}

/// A whole number within bounds; `what` names it.
pub(crate) fn number<T>(text: &str, least: T, most: T, what: &str) -> Result<T, WordError>
where
    T: FromStr + PartialOrd + fmt::Display + Copy,
{
    // `parse` takes a sign, which would not come back.
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match text.parse::<T>() {
        Ok(n) if digits && n >= least && n <= most => Ok(n),
        _ => error(
            format!("`{text}` is no {what}"),
            format!("a whole number from {least} to {most}"),
        ),
    }
}

/// The kernels of the lab: Debian's, from bullseye to trixie-backports.
pub const KERNELS: [&str; 8] = [
    "5.10", "5.10-rt", "6.1", "6.1-rt", "6.12", "6.12-rt", "7.3", "7.3-rt",
];

/// Does a kernel of [`KERNELS`] have PREEMPT_RT?
pub(crate) fn is_rt(kernel: &str) -> bool {
    kernel.ends_with("-rt")
}

/// A kernel of [`KERNELS`].
///
/// # Errors
/// [`WordError`] for any other.
pub fn kernel(text: &str) -> Result<String, WordError> {
    if KERNELS.contains(&text) {
        Ok(text.to_owned())
    } else {
        unknown(text, "kernel", &KERNELS.join(", "))
    }
}

macro_rules! plain_words {
    ($type:ty, $kind:literal, $($value:path = $word:literal),+ $(,)?) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $($value => $word,)+ })
            }
        }

        impl FromStr for $type {
            type Err = WordError;

            fn from_str(text: &str) -> Result<Self, WordError> {
                match text {
                    $($word => Ok($value),)+
                    _ => unknown(text, $kind, [$($word),+].join(", ").as_str()),
                }
            }
        }
    };
}

plain_words!(
    Bench,
    "bench",
    Bench::Kvaser = "kvaser",
    Bench::Timed = "timed",
    Bench::Vcan = "vcan",
    Bench::None = "none"
);
plain_words!(
    Load,
    "load",
    Load::None = "none",
    Load::Cpu = "cpu",
    Load::EthRx = "eth-rx",
    Load::EthTx = "eth-tx"
);
plain_words!(
    Modify,
    "change",
    Modify::None = "none",
    Modify::Copy = "copy",
    Modify::Id = "id",
    Modify::And = "and",
    Modify::Or = "or",
    Modify::Xor = "xor",
    Modify::Set = "set",
    Modify::Crc8 = "crc8",
    Modify::Xorsum = "xorsum"
);

/// The ways of input and output that `user:` knows.
pub const USER_IO: [&str; 1] = ["read-write"];

impl fmt::Display for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cangw => f.write_str("cangw"),
            Self::User(io) => write!(f, "user:{io}"),
            Self::None => f.write_str("none"),
            Self::OwnRules => f.write_str("can-gw"),
            Self::Bpf => f.write_str("bpf"),
        }
    }
}

impl FromStr for Gateway {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        match (text, text.strip_prefix("user:")) {
            ("cangw", _) => Ok(Self::Cangw),
            ("none", _) => Ok(Self::None),
            ("can-gw", _) => Ok(Self::OwnRules),
            ("bpf", _) => Ok(Self::Bpf),
            (_, Some(io)) if USER_IO.contains(&io) => Ok(Self::User(io.to_owned())),
            _ => unknown(text, "gateway", "cangw, can-gw, bpf, user:read-write, none"),
        }
    }
}

const TRAFFIC: &str = "oneatatime, load:PERCENT, flood, period:MICROSECONDS";

/// The longest period, ns: a frame in 10 s.
const LONGEST_PERIOD: u64 = 10_000_000_000;

impl fmt::Display for TrafficKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneAtATime => f.write_str("oneatatime"),
            Self::Percent(percent) => write!(f, "load:{percent}"),
            Self::Flood => f.write_str("flood"),
            Self::Period(ns) => match (ns / 1000, ns % 1000) {
                (us, 0) => write!(f, "period:{us}"),
                (us, part) => {
                    let part = format!("{part:03}");
                    write!(f, "period:{us}.{}", part.trim_end_matches('0'))
                }
            },
        }
    }
}

impl FromStr for TrafficKind {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        match text.split_once(':') {
            None if text == "oneatatime" => Ok(Self::OneAtATime),
            None if text == "flood" => Ok(Self::Flood),
            Some(("load", percent)) => Ok(Self::Percent(number(
                percent,
                1,
                100,
                "share of the bus in per cent",
            )?)),
            Some(("period", time)) => match config::duration(&format!("{time}us")) {
                Ok(ns) if (1..=LONGEST_PERIOD).contains(&ns) && !time.is_empty() => {
                    Ok(Self::Period(ns))
                }
                _ => error(
                    format!("`{time}` is no period in microseconds"),
                    "write 120 or 120.5; at most 10000000, which is 10 s",
                ),
            },
            _ => unknown(text, "traffic", TRAFFIC),
        }
    }
}

/// As many rules as there are SFF identifiers.
pub const MOST_FILTERS: u32 = 2048;
/// The most rules for EFF identifiers; see [`Experiment::check`] for who can have so many.
///
/// [`Experiment::check`]: crate::experiment::Experiment::check
pub const MOST_EFF: u32 = 100_000;

impl Filters {
    /// How many rules; none for [`Filters::None`].
    #[must_use]
    pub const fn count(self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Sff(n) | Self::List(n) | Self::Eff(n) => Some(n),
        }
    }
}

impl fmt::Display for Filters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Sff(n) => write!(f, "sff:{n}"),
            Self::List(n) => write!(f, "list:{n}"),
            Self::Eff(n) => write!(f, "eff:{n}"),
        }
    }
}

impl FromStr for Filters {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        let up_to = |n, most| number(n, 1, most, "count of filters");
        let count = |n| up_to(n, MOST_FILTERS);
        match text.split_once(':') {
            None if text == "none" => Ok(Self::None),
            Some(("sff", n)) => Ok(Self::Sff(count(n)?)),
            Some(("list", n)) => Ok(Self::List(count(n)?)),
            Some(("eff", n)) => Ok(Self::Eff(up_to(n, MOST_EFF)?)),
            _ => unknown(
                text,
                "set of filters",
                "none, sff:COUNT, list:COUNT, eff:COUNT",
            ),
        }
    }
}

/// can-gw lets a frame pass at most six of its rules (`CGW_MAX_HOPS` of net/can/gw.c): one takes
/// it from each virtual interface, and one from the first bus.
pub const MOST_HOPS: u8 = 5;

impl fmt::Display for Hops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.count)?;
        if self.interfaces != 1 {
            write!(f, ":{}", self.interfaces)?;
        }
        match self.through {
            Virtual::Vcan => Ok(()),
            Virtual::Vxcan => f.write_str(":vxcan"),
        }
    }
}

impl FromStr for Hops {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        let (numbers, through) = match text.strip_suffix(":vxcan") {
            Some(numbers) => (numbers, Virtual::Vxcan),
            None => (text, Virtual::Vcan),
        };
        let (count, interfaces) = numbers.split_once(':').unwrap_or((numbers, "1"));
        let hops = Self {
            count: match number(count, 0, MOST_HOPS, "count of hops") {
                Ok(n) => n,
                Err(e) => {
                    return error(
                        e.what,
                        format!(
                            "{}: can-gw's max_hops is at most 6, and the first rule needs one",
                            e.hint
                        ),
                    );
                }
            },
            interfaces: match interfaces {
                "1" => 1,
                "2" => 2,
                _ => {
                    return error(
                        format!("`{interfaces}` is no count of virtual interfaces"),
                        "write N for one, N:2 for two in a chain, and :vxcan behind it for pairs \
                         of vxcan",
                    );
                }
            },
            through,
        };
        if hops.interfaces == 2 && !hops.count.is_multiple_of(2) {
            return error(
                format!("{} hops do not go round two interfaces", hops.count),
                "each time round a chain of two is two hops: 2:2, 4:2",
            );
        }
        // No hop needs no interface: one way of writing it.
        Ok(if hops.count == 0 { Self::NONE } else { hops })
    }
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pc => f.write_str("pc"),
            Self::Board => f.write_str("board"),
            Self::BoardAt(shift) => write!(f, "board:{shift}"),
            Self::Shift(shift) => write!(f, "shift:{shift}"),
        }
    }
}

impl FromStr for Cpu {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        const KINDS: &str = "pc, board, board:0 to board:10, shift:0 to shift:10";
        let shift =
            |digits| number(digits, 0, 10, "shift").or_else(|_| unknown(text, "processor", KINDS));
        match text.split_once(':') {
            None if text == "pc" => Ok(Self::Pc),
            None if text == "board" => Ok(Self::Board),
            Some(("shift", digits)) => Ok(Self::Shift(shift(digits)?)),
            Some(("board", digits)) => Ok(match shift(digits)? {
                // One experiment has one name.
                2 => Self::Board,
                shift => Self::BoardAt(shift),
            }),
            _ => unknown(text, "processor", KINDS),
        }
    }
}

/// Parameters that the lab sets itself, or that would take its guests from it.
const NOT_YOURS: [&str; 9] = [
    "cangate.", "console", "init", "rdinit", "root", "quiet", "panic", "PATH", "HOME",
];

impl fmt::Display for Boot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        f.write_str(&self.0.join("+"))
    }
}

impl FromStr for Boot {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        if text == "none" {
            return Ok(Self::default());
        }
        let mut all = Vec::new();
        for word in text.split('+') {
            let name = word.split('=').next().unwrap_or_default();
            if NOT_YOURS
                .iter()
                .any(|&n| name == n || (n.ends_with('.') && name.starts_with(n)))
            {
                return error(
                    format!("`{name}` is set by the lab"),
                    "leave it out: a guest would not come up as the lab needs it",
                );
            }
            // Fit for the names of results, and different ones for different words.
            let fit = |c: char| c.is_ascii_alphanumeric() || "_.=".contains(c);
            let lettered = word.starts_with(|c: char| c.is_ascii_alphabetic());
            let once = word.matches('=').count() <= 1;
            if !lettered || !once || !word.chars().all(fit) {
                return error(
                    format!("`{word}` is no parameter of a kernel"),
                    "write nohz=off, or several as nohz=off+threadirqs; `none` for none",
                );
            }
            all.push(word.to_owned());
        }
        if text.len() > MOST_BOOT {
            return error(
                format!("`{text}` is too long"),
                format!("at most {MOST_BOOT} characters: results have it in their files' names"),
            );
        }
        Ok(Self(all))
    }
}

/// The longest list of kernel parameters, characters.
const MOST_BOOT: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn back<T: FromStr<Err = WordError> + fmt::Display + PartialEq + fmt::Debug>(value: &T) {
        assert_eq!(value.to_string().parse().as_ref(), Ok(value));
    }

    #[test]
    fn words_come_back() {
        for bench in [Bench::Kvaser, Bench::Timed, Bench::Vcan, Bench::None] {
            back(&bench);
        }
        for word in ["cangw", "can-gw", "bpf", "user:read-write", "none"] {
            assert_eq!(word.parse::<Gateway>().unwrap().to_string(), word);
        }
        for word in [
            "none", "copy", "id", "and", "or", "xor", "set", "crc8", "xorsum",
        ] {
            assert_eq!(word.parse::<Modify>().unwrap().to_string(), word);
        }
        for word in ["0", "1", "5", "2:2", "4:2", "1:vxcan", "4:2:vxcan"] {
            assert_eq!(word.parse::<Hops>().unwrap().to_string(), word);
        }
        assert_eq!("0:2".parse(), Ok(Hops::NONE));
        assert_eq!("0:vxcan".parse(), Ok(Hops::NONE));
    }

    #[test]
    fn errors_name_what_there_is() {
        let text = |e: WordError| e.to_string();
        let e = text("often".parse::<TrafficKind>().unwrap_err());
        assert_eq!(
            e,
            "`often` is no traffic: there is oneatatime, load:PERCENT, flood, period:MICROSECONDS"
        );
        let e = text("load:0".parse::<TrafficKind>().unwrap_err());
        assert_eq!(
            e,
            "`0` is no share of the bus in per cent: a whole number from 1 to 100"
        );
        let e = text(kernel("2.6.33").unwrap_err());
        assert!(
            e.starts_with("`2.6.33` is no kernel: there is 5.10, 5.10-rt, 6.1"),
            "{e}"
        );
        for bad in [
            "",
            "load:",
            "load:101",
            "load:+5",
            "load:50%",
            "period:",
            "period:0",
            "period:1e3",
            "period:0.0001",
            "period:20000000",
            "flood:1",
            "Flood",
        ] {
            assert!(bad.parse::<TrafficKind>().is_err(), "{bad}");
        }
        for bad in [
            "",
            "sff",
            "sff:0",
            "list:2049",
            "eff:-1",
            "eff:100001",
            "none:1",
        ] {
            assert!(bad.parse::<Filters>().is_err(), "{bad}");
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
            assert!(bad.parse::<Hops>().is_err(), "{bad}");
        }
        for bad in ["user", "user:", "user:magic", "cangw:x", "bpf:", "cangw-"] {
            assert!(bad.parse::<Gateway>().is_err(), "{bad}");
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
        fn every_traffic_comes_back(ns in 1..=LONGEST_PERIOD, percent in 1u8..=100) {
            back(&TrafficKind::Period(ns));
            back(&TrafficKind::Percent(percent));
        }

        #[test]
        fn every_count_comes_back(n in 1..=MOST_FILTERS, eff in 1..=MOST_EFF, shift in 0u8..=10) {
            back(&Filters::Sff(n));
            back(&Filters::List(n));
            back(&Filters::Eff(eff));
            back(&Cpu::Shift(shift));
            let word = format!("board:{shift}");
            let cpu: Cpu = word.parse().unwrap();
            assert_eq!(cpu == Cpu::Board, shift == 2);
            back(&cpu);
        }
    }
}
