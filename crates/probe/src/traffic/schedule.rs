//! Message sets: periodic and sporadic messages of several nodes, merged into one schedule.

use super::{PayloadMaker, TrafficRelease, TrafficSource};
use crate::rng::Rng;
use frame::{CanId, Frame, LengthError, Nanos};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One message of a message set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetMessage {
    /// A description of its contents, for display.
    pub name: &'static str,
    /// Its sender, an index into [`MessageSet::nodes`].
    pub node: u16,
    /// Its identifier, which determines its priority.
    pub id: CanId,
    /// Number of payload bytes, 0–8.
    pub len: u8,
    /// Period, or the least time between two releases of a sporadic message, ns.
    pub period: Nanos,
    /// The maximum time from release to end of frame, ns.
    pub deadline: Nanos,
    /// The maximum delay of a release after its time, ns; less than the period.
    pub jitter: Nanos,
    /// Whether it is sporadic: the time between two releases is random, from one to two periods.
    pub sporadic: bool,
}

/// Messages of several nodes on one bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageSet {
    /// Its name.
    pub name: &'static str,
    /// The publication, and the parts that are not from there.
    pub source: &'static str,
    /// The nodes' names.
    pub nodes: &'static [&'static str],
    /// The messages.
    pub messages: Vec<SetMessage>,
}

/// The reason why a message set cannot be scheduled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// A message with a period of 0.
    #[error("message {0} has period 0: give it a period of at least 1 ns")]
    NoPeriod(String),
    /// A jitter with which releases of one message would overtake each other.
    #[error("message {0} has a jitter of its period or more: releases would change places")]
    Jitter(String),
    /// More payload than a classic frame carries.
    #[error("message {0}: {1}")]
    Length(String, LengthError),
}

/// The next release of a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct NextRelease {
    at: Nanos,
    message: usize,
    /// The time without jitter, from which the next one is counted.
    nominal: Nanos,
}

/// The releases of a [`MessageSet`], in order of time.
///
/// A periodic message is released at `offset + n × period`, plus a random jitter; offsets are
/// random within the period, so that nodes are not in step. Releases at the same time come in the
/// set's order. The same seed gives the same releases.
#[derive(Clone)]
pub struct SetSchedule {
    messages: Vec<SetMessage>,
    rngs: Vec<Rng>,
    due: BinaryHeap<Reverse<NextRelease>>,
    payload: PayloadMaker,
    end: Nanos,
    tag: u64,
}

impl SetSchedule {
    /// Creates the releases from time 0 up to, but not at, `end`.
    ///
    /// # Errors
    /// [`ScheduleError`] where a message cannot be scheduled.
    pub fn new(set: &MessageSet, seed: u64, end: Nanos) -> Result<Self, ScheduleError> {
        let mut schedule = Self {
            messages: set.messages.clone(),
            rngs: Vec::with_capacity(set.messages.len()),
            due: BinaryHeap::with_capacity(set.messages.len()),
            payload: PayloadMaker::new(seed),
            end,
            tag: 0,
        };
        for (index, message) in set.messages.iter().enumerate() {
            let name = || message.name.to_owned();
            if message.period == 0 {
                return Err(ScheduleError::NoPeriod(name()));
            }
            if message.jitter >= message.period {
                return Err(ScheduleError::Jitter(name()));
            }
            Frame::classic(message.id, &[0; 255][..usize::from(message.len)])
                .map_err(|e| ScheduleError::Length(name(), e))?;
            let mut rng = Rng::fork(seed, index as u64);
            let nominal = rng.up_to(message.period - 1);
            schedule.rngs.push(rng);
            schedule.push(index, nominal);
        }
        Ok(schedule)
    }

    fn push(&mut self, message: usize, nominal: Nanos) {
        let jitter = self.rngs[message].up_to(self.messages[message].jitter);
        self.due.push(Reverse(NextRelease {
            at: nominal.saturating_add(jitter),
            message,
            nominal,
        }));
    }
}

impl TrafficSource for SetSchedule {
    fn next(&mut self) -> Option<TrafficRelease> {
        let Reverse(due) = *self.due.peek()?;
        if due.at >= self.end {
            return None;
        }
        self.due.pop();
        let message = self.messages[due.message];
        let (data, len) = self.payload.bytes(usize::from(message.len));
        // The length was checked in `new`.
        let frame = Frame::classic(message.id, &data[..len]).ok()?;
        let gap = if message.sporadic {
            let extra = self.rngs[due.message].up_to(message.period);
            message.period.saturating_add(extra)
        } else {
            message.period
        };
        // A sporadic message keeps its distance from the release itself, jitter included.
        let from = if message.sporadic {
            due.at
        } else {
            due.nominal
        };
        self.push(due.message, from.saturating_add(gap));
        let tag = self.tag;
        self.tag += 1;
        Some(TrafficRelease {
            at: due.at,
            node: message.node,
            frame,
            tag,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::sae_class_c;
    use proptest::prelude::*;

    fn releases(seed: u64, end: Nanos) -> Vec<TrafficRelease> {
        let mut schedule = SetSchedule::new(&sae_class_c(), seed, end).unwrap();
        std::iter::from_fn(|| schedule.next()).collect()
    }

    #[test]
    fn same_seed_same_releases() {
        assert_eq!(releases(3, 500_000_000), releases(3, 500_000_000));
        assert_ne!(releases(3, 500_000_000), releases(4, 500_000_000));
    }

    #[test]
    fn a_message_that_cannot_be_scheduled_is_refused_by_name() {
        let mut set = sae_class_c();
        set.messages[4].period = 0;
        let error = SetSchedule::new(&set, 0, 1).err().unwrap();
        assert!(error.to_string().contains(set.messages[4].name));
        let mut set = sae_class_c();
        set.messages[2].len = 9;
        assert!(matches!(
            SetSchedule::new(&set, 0, 1),
            Err(ScheduleError::Length(..))
        ));
        let mut set = sae_class_c();
        set.messages[2].jitter = set.messages[2].period;
        assert!(matches!(
            SetSchedule::new(&set, 0, 1),
            Err(ScheduleError::Jitter(_))
        ));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn times_follow_the_set(seed: u64) {
            let end = 3_000_000_000;
            let all = releases(seed, end);
            prop_assert!(all.windows(2).all(|w| w[0].at <= w[1].at));
            prop_assert!(all.iter().enumerate().all(|(i, r)| r.tag == i as u64 && r.at < end));
            for message in sae_class_c().messages {
                let times: Vec<Nanos> =
                    all.iter().filter(|r| r.frame.id() == message.id).map(|r| r.at).collect();
                for pair in times.windows(2) {
                    let gap = pair[1] - pair[0];
                    if message.sporadic {
                        prop_assert!(gap >= message.period);
                        prop_assert!(gap <= 2 * message.period + message.jitter);
                    } else {
                        prop_assert!(gap + message.jitter >= message.period);
                        prop_assert!(gap <= message.period + message.jitter);
                    }
                }
                if !message.sporadic {
                    let expected = end / message.period;
                    prop_assert!(times.len().abs_diff(expected as usize) <= 1);
                }
            }
        }
    }
}
