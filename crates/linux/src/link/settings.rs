//! The settings of a controller beyond its bit rates (`uapi/linux/can/netlink.h`): those of
//! `ip link set … type can`, and the length of the interface's queue.

use super::interface::IFLA_TXQLEN;
use super::modes::{
    ControlMode, IFLA_CAN_CTRLMODE, IFLA_CAN_TDC, IFLA_CAN_TDC_TDCF, IFLA_CAN_TDC_TDCO,
    IFLA_CAN_TDC_TDCV, IFLA_CAN_TERMINATION, PresentSettings, TDC_AUTO, TDC_MANUAL,
};
use super::saved::{head, with_options};
use super::timing::BitTiming;
use crate::netlink::{attribute, nested};

/// `CAN_CTRLMODE_FD` of `uapi/linux/can/netlink.h`.
const FD: u32 = 0x20;

/// How a controller compensates the delay of its transmitter in the data phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DelayCompensation {
    /// Not at all.
    Off,
    /// By these times, in periods of the controller's clock.
    On {
        /// The offset of the second sample point.
        offset: u32,
        /// The delay of the transmitter; `None`: the controller measures it.
        value: Option<u32>,
        /// The width of the filter that ignores dominant glitches.
        filter: Option<u32>,
    },
}

impl DelayCompensation {
    /// Returns the setting in the words of `ip link`.
    pub(super) fn words(self) -> String {
        match self {
            Self::Off => "no tdc".to_owned(),
            Self::On { offset, .. } => format!("tdco {offset}"),
        }
    }
}

/// The wanted settings of a controller. What is absent stays as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ControllerSettings {
    /// The wanted modes, by the order of [`ControlMode::ALL`].
    modes: [Option<bool>; ControlMode::ALL.len()],
    /// The synchronisation jump width, in time quanta.
    pub sjw: Option<u32>,
    /// The same, for the data phase.
    pub data_sjw: Option<u32>,
    /// The termination of the bus, ohms; 0: off.
    pub termination: Option<u16>,
    /// The compensation of the transmitter's delay.
    pub delay: Option<DelayCompensation>,
    /// The number of frames that the interface's own queue holds.
    pub queue: Option<u32>,
}

impl ControllerSettings {
    /// Returns the wanted state of a mode; `None`: it stays as it is.
    #[must_use]
    pub fn mode(&self, mode: ControlMode) -> Option<bool> {
        self.modes.get(mode as usize).copied().flatten()
    }

    /// Requests a mode, or that it is off.
    #[must_use]
    pub fn with_mode(mut self, mode: ControlMode, on: Option<bool>) -> Self {
        if let Some(wanted) = self.modes.get_mut(mode as usize) {
            *wanted = on;
        }
        self
    }

    /// Returns the requests to the kernel for an interface that is down and has its bit rates, each
    /// with words that follow "set to". They are requests of their own, so that a refusal is that
    /// of one setting.
    /// Those of [`ControllerSettings::add_fd`] are not among them.
    pub(super) fn requests(&self, index: u32) -> Vec<(String, Vec<u8>)> {
        let mut all = Vec::new();
        for mode in ControlMode::ALL {
            let wanted = self.mode(mode).filter(|_| mode != ControlMode::NonIso);
            let Some(on) = wanted else { continue };
            let (flag, _) = mode.kernel();
            let flags = if on { flag } else { 0 };
            let mut data = Vec::new();
            attribute(&mut data, IFLA_CAN_CTRLMODE, &control_mode(flag, flags));
            all.push((mode.words(on), with_options(index, &data)));
        }
        if let Some(ohms) = self.termination {
            let mut data = Vec::new();
            attribute(&mut data, IFLA_CAN_TERMINATION, &ohms.to_ne_bytes());
            all.push((
                format!("a termination of {ohms} ohms"),
                with_options(index, &data),
            ));
        }
        if let Some(frames) = self.queue {
            let mut body = head(index, 0);
            attribute(&mut body, IFLA_TXQLEN, &frames.to_ne_bytes());
            all.push((format!("a queue of {frames} frames"), body));
        }
        all
    }

    /// Adds what belongs to CAN FD to the request that sets the bit rates, because the kernel takes
    /// it only together with them: the compensation of the transmitter's delay, and the format from
    /// before ISO 11898-1:2015, without which a controller that has only that format refuses FD.
    pub(super) fn add_fd(&self, data: &mut Vec<u8>) {
        let (mut mask, mut flags) = (FD, FD);
        let (non_iso, _) = ControlMode::NonIso.kernel();
        if let Some(on) = self.mode(ControlMode::NonIso) {
            mask |= non_iso;
            flags |= if on { non_iso } else { 0 };
        }
        if self.delay.is_some() {
            mask |= TDC_AUTO | TDC_MANUAL;
        }
        if let Some(DelayCompensation::On {
            offset,
            value,
            filter,
        }) = self.delay
        {
            flags |= value.map_or(TDC_AUTO, |_| TDC_MANUAL);
            let mut times = Vec::new();
            for (kind, time) in [
                (IFLA_CAN_TDC_TDCV, value),
                (IFLA_CAN_TDC_TDCO, Some(offset)),
                (IFLA_CAN_TDC_TDCF, filter),
            ] {
                if let Some(time) = time {
                    attribute(&mut times, kind, &time.to_ne_bytes());
                }
            }
            nested(data, IFLA_CAN_TDC, &times);
        }
        attribute(data, IFLA_CAN_CTRLMODE, &control_mode(mask, flags));
    }

    /// Returns the first setting that an interface has otherwise, in the words of `ip link`: as it
    /// is, and as it is wanted.
    pub(super) fn difference(
        &self,
        present: &PresentSettings,
        queue: Option<u32>,
    ) -> Option<(String, String)> {
        let on = |on| if on { "on" } else { "off" };
        for mode in ControlMode::ALL {
            let now = present.has(mode);
            if let Some(wanted) = self.mode(mode).filter(|wanted| *wanted != now) {
                return Some((mode.words(now), mode.words(wanted)));
            }
        }
        let is_compensated = present.flags & (TDC_AUTO | TDC_MANUAL) != 0;
        let wants_compensation = self.delay.map(|delay| delay != DelayCompensation::Off);
        if let Some(wanted) = wants_compensation.filter(|wanted| *wanted != is_compensated) {
            return Some((
                format!("tdc {}", on(is_compensated)),
                format!("tdc {}", on(wanted)),
            ));
        }
        let [value, offset, filter] = match self.delay {
            Some(DelayCompensation::On {
                offset,
                value,
                filter,
            }) => [value, Some(offset), filter],
            _ => [None; 3],
        };
        let [timing, data_timing] = present.timing;
        let other_sjw =
            |wanted: Option<u32>, now: BitTiming| wanted.filter(|wanted| !now.has_sjw(*wanted));
        let numbers = [
            ("tdcv", value, present.delay[0]),
            ("tdco", offset, present.delay[1]),
            ("tdcf", filter, present.delay[2]),
            ("sjw", other_sjw(self.sjw, timing), Some(timing.sjw)),
            (
                "dsjw",
                other_sjw(self.data_sjw, data_timing),
                Some(data_timing.sjw),
            ),
            (
                "termination",
                self.termination.map(u32::from),
                present.termination.map(u32::from),
            ),
            ("txqueuelen", self.queue, queue),
        ];
        numbers.into_iter().find_map(|(word, wanted, now)| {
            let (wanted, now) = (wanted?, now?);
            (wanted != now).then(|| (format!("{word} {now}"), format!("{word} {wanted}")))
        })
    }

    /// Returns the settings in the words of `ip link`, each after a comma.
    #[must_use]
    pub fn words(&self) -> String {
        let mut words = Vec::new();
        for mode in ControlMode::ALL {
            let word = mode.kernel().1;
            words.extend(self.mode(mode).map(|on| match on {
                true => word.to_owned(),
                false => format!("no {word}"),
            }));
        }
        let numbers = [
            ("sjw", self.sjw),
            ("dsjw", self.data_sjw),
            ("termination", self.termination.map(u32::from)),
            ("txqueuelen", self.queue),
        ];
        for (word, number) in numbers {
            words.extend(number.map(|number| format!("{word} {number}")));
        }
        words.extend(self.delay.map(DelayCompensation::words));
        words.iter().map(|word| format!(", {word}")).collect()
    }
}

/// Returns `struct can_ctrlmode`: the mask of the flags to set, then the flags.
fn control_mode(mask: u32, flags: u32) -> Vec<u8> {
    [mask, flags].map(u32::to_ne_bytes).concat()
}

#[cfg(test)]
mod tests {
    use super::super::controller::IFLA_CAN_BITTIMING;
    use super::super::timing::SJW;
    use super::*;
    use crate::netlink::{attributes, inner, number};
    use proptest::prelude::*;

    /// Returns `IFLA_INFO_DATA` of a request.
    fn data(body: &[u8]) -> Vec<u8> {
        let (_, info) = attributes(&body[16..]).next().unwrap().unwrap();
        inner(info, 2).unwrap().to_vec()
    }

    fn settings() -> ControllerSettings {
        ControllerSettings {
            termination: Some(120),
            queue: Some(1),
            sjw: Some(4),
            ..ControllerSettings::default()
        }
        .with_mode(ControlMode::OneShot, Some(true))
        .with_mode(ControlMode::ListenOnly, Some(false))
    }

    #[test]
    fn each_setting_is_a_request() {
        let all = settings().requests(7);
        let words: Vec<&str> = all.iter().map(|(words, _)| words.as_str()).collect();
        assert_eq!(
            words,
            [
                "listen-only off",
                "one-shot on",
                "a termination of 120 ohms",
                "a queue of 1 frames"
            ]
        );
        let mode = |body| inner(&data(body), IFLA_CAN_CTRLMODE).unwrap().to_vec();
        assert_eq!(mode(&all[0].1), [2, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(mode(&all[1].1), [8, 0, 0, 0, 8, 0, 0, 0]);
        assert_eq!(inner(&data(&all[2].1), 11).unwrap(), 120_u16.to_ne_bytes());
        let (kind, queue) = attributes(&all[3].1[16..]).next().unwrap().unwrap();
        assert_eq!((kind, number(queue)), (IFLA_TXQLEN, Some(1)));
    }

    #[test]
    fn the_kernel_takes_what_belongs_to_fd_with_the_bit_rates() {
        let mut settings = settings();
        settings.delay = Some(DelayCompensation::On {
            offset: 30,
            value: None,
            filter: Some(2),
        });
        let mut data = Vec::new();
        settings.add_fd(&mut data);
        let mode = inner(&data, IFLA_CAN_CTRLMODE).unwrap();
        assert_eq!(
            (number(mode), number(&mode[4..])),
            (Some(0x620), Some(0x220))
        );
        let times = inner(&data, IFLA_CAN_TDC).unwrap();
        assert_eq!(inner(times, 8).and_then(number), Some(30));
        assert_eq!(inner(times, 9).and_then(number), Some(2));
        assert_eq!(inner(times, 7), None, "the controller measures it");
        settings.delay = Some(DelayCompensation::Off);
        let mut data = Vec::new();
        settings.add_fd(&mut data);
        let mode = inner(&data, IFLA_CAN_CTRLMODE).unwrap();
        assert_eq!(
            (number(mode), number(&mode[4..])),
            (Some(0x620), Some(0x20))
        );
        assert_eq!(inner(&data, IFLA_CAN_TDC), None);
        settings.delay = None;
        for (on, flags) in [(true, 0xA0), (false, 0x20)] {
            let settings = settings.with_mode(ControlMode::NonIso, Some(on));
            let mut data = Vec::new();
            settings.add_fd(&mut data);
            let mode = inner(&data, IFLA_CAN_CTRLMODE).unwrap();
            assert_eq!(
                (number(mode), number(&mode[4..])),
                (Some(0xA0), Some(flags))
            );
            let others = settings.requests(7);
            assert!(others.iter().all(|(words, _)| !words.contains("non-iso")));
        }
    }

    #[test]
    fn what_differs_is_named_and_what_was_not_asked_for_is_not() {
        let mut timing = vec![0; 32];
        timing[SJW] = 1;
        let mut data = Vec::new();
        attribute(&mut data, IFLA_CAN_BITTIMING, &timing);
        attribute(&mut data, IFLA_CAN_CTRLMODE, &[0, 0, 0, 0, 0x19, 0, 0, 0]);
        let mut present = PresentSettings::read(&data);
        assert!(present.has(ControlMode::OneShot) && present.has(ControlMode::Loopback));
        let difference = |settings: ControllerSettings, present: &PresentSettings, queue| {
            let (now, wanted) = settings.difference(present, Some(queue))?;
            Some(format!("{now} / {wanted}"))
        };
        let wanted = settings();
        assert_eq!(difference(wanted, &present, 1).unwrap(), "sjw 1 / sjw 4");
        present.timing[0].sjw = 4;
        // A driver without a switch reports no termination: it refused the request.
        assert_eq!(difference(wanted, &present, 1), None);
        assert_eq!(
            difference(wanted, &present, 10).unwrap(),
            "txqueuelen 10 / txqueuelen 1"
        );
        // The compensation of the delay: by another offset, and not at all.
        let with_delay = ControllerSettings {
            delay: Some(DelayCompensation::On {
                offset: 30,
                value: None,
                filter: None,
            }),
            ..wanted
        };
        assert_eq!(
            difference(with_delay, &present, 1).unwrap(),
            "tdc off / tdc on"
        );
        present.flags |= TDC_AUTO;
        // The controller reports what it has measured, which is not a wish.
        present.delay = [Some(12), Some(20), Some(0)];
        assert_eq!(
            difference(with_delay, &present, 1).unwrap(),
            "tdco 20 / tdco 30"
        );
        present.delay[1] = Some(30);
        assert_eq!(difference(with_delay, &present, 1), None);
        let without = ControllerSettings {
            delay: Some(DelayCompensation::Off),
            ..wanted
        };
        assert_eq!(
            difference(without, &present, 1).unwrap(),
            "tdc on / tdc off"
        );
        present.flags |= 2;
        let words = difference(wanted, &present, 1).unwrap();
        assert_eq!(words, "listen-only on / listen-only off");
        assert_eq!(
            wanted.words(),
            ", no listen-only, one-shot, sjw 4, termination 120, txqueuelen 1"
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let present = PresentSettings::read(&bytes);
            let _ = settings().difference(&present, None);
        }
    }
}
