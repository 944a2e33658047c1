//! A rate limit on messages, so that a reader can keep up: a few at once, then one a second, for
//! each port and event.

use super::LoggedNotice;
use frame::Nanos;
use std::collections::HashMap;

/// The number of notices of one port and event that are passed on at once.
pub(super) const BURST: u32 = 5;

/// Then one notice per this time, ns; each such time without a notice allows one more at once.
const PERIOD: Nanos = 1_000_000_000;

/// A port (or data path) and an event.
type Key = (String, &'static str);

/// The state of one port and event.
struct EventAccount {
    /// The number of notices that may be passed on now.
    credit: u32,
    /// The time at which the credit was last increased.
    counted: Nanos,
    /// The last notice that was held back, with the number of held-back notices before it.
    held: Option<LoggedNotice>,
}

impl EventAccount {
    fn earn(&mut self, now: Nanos) {
        let periods = now.saturating_sub(self.counted) / PERIOD;
        let earned = u32::try_from(periods).unwrap_or(u32::MAX);
        self.credit = self.credit.saturating_add(earned).min(BURST);
        self.counted = self.counted.saturating_add(periods * PERIOD);
    }

    fn spend(&mut self, now: Nanos) -> bool {
        if self.credit == BURST {
            self.counted = now;
        }
        let some = self.credit > 0;
        self.credit = self.credit.saturating_sub(1);
        some
    }
}

/// Decides which notices may be passed on now. The caller passes the time in, ns.
#[derive(Default)]
pub(super) struct NoticeLimiter {
    accounts: HashMap<Key, EventAccount>,
}

impl NoticeLimiter {
    /// Takes a new notice. Returns it if it may be passed on at once; otherwise keeps the last one
    /// of its port and event.
    pub(super) fn offer(&mut self, now: Nanos, mut logged: LoggedNotice) -> Option<LoggedNotice> {
        let key = (logged.notice.about().to_owned(), logged.notice.event());
        let account = self.accounts.entry(key).or_insert(EventAccount {
            credit: BURST,
            counted: now,
            held: None,
        });
        account.earn(now);
        logged.more += account.held.take().map_or(0, |held| held.more + 1);
        if account.spend(now) {
            return Some(logged);
        }
        account.held = Some(logged);
        None
    }

    /// Returns the notices that were kept and may be passed on now.
    pub(super) fn due(&mut self, now: Nanos) -> Vec<LoggedNotice> {
        let mut due = Vec::new();
        for account in self.accounts.values_mut() {
            account.earn(now);
            if account.held.is_some() && account.spend(now) {
                due.extend(account.held.take());
            }
        }
        // Ports come and go by reloads; quiet ports need no account.
        self.accounts
            .retain(|_, account| account.credit < BURST || account.held.is_some());
        due.sort_by_key(|logged| logged.at);
        due
    }

    /// Returns the time at which [`NoticeLimiter::due`] has a notice.
    pub(super) fn deadline(&self) -> Option<Nanos> {
        let waiting = self.accounts.values().filter(|a| a.held.is_some());
        waiting.map(|a| a.counted.saturating_add(PERIOD)).min()
    }

    /// Returns all notices that were kept, at the end.
    pub(super) fn rest(&mut self) -> Vec<LoggedNotice> {
        let accounts = self.accounts.drain();
        let mut rest: Vec<LoggedNotice> =
            accounts.filter_map(|(_, account)| account.held).collect();
        rest.sort_by_key(|logged| logged.at);
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LinkSource, Notice};
    use super::*;
    use engine::LinkState;
    use std::time::{Duration, SystemTime};

    const MS: Nanos = 1_000_000;

    fn link(port: &str, now: LinkState) -> Notice {
        Notice::Link {
            port: port.to_owned(),
            interface: None,
            before: LinkState::Up,
            now,
            source: LinkSource::Socket,
        }
    }

    fn wall(now: Nanos) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_nanos(now)
    }

    /// Returns all notices that are passed on while `events` happen, with their times.
    fn notices_of(
        limiter: &mut NoticeLimiter,
        events: &[(Nanos, Notice)],
        end: Nanos,
    ) -> Vec<(Nanos, LoggedNotice)> {
        let mut out = Vec::new();
        let mut events = events.iter().peekable();
        loop {
            let next = events.peek().map(|(at, _)| *at).unwrap_or(end);
            match limiter.deadline().filter(|&at| at < next) {
                Some(at) => out.extend(limiter.due(at).into_iter().map(|logged| (at, logged))),
                None => {
                    let Some((at, notice)) = events.next() else {
                        break;
                    };
                    let logged = limiter.offer(*at, LoggedNotice::new(wall(*at), notice.clone()));
                    out.extend(logged.map(|logged| (*at, logged)));
                }
            }
        }
        out
    }

    #[test]
    fn a_link_that_flaps_a_thousand_times_a_second_is_reported_once_a_second_and_at_last() {
        let state = |n: u64| {
            if n.is_multiple_of(2) {
                LinkState::Down
            } else {
                LinkState::Up
            }
        };
        // Ten seconds of changes; the last state is up.
        let events: Vec<(Nanos, Notice)> =
            (0..10_000).map(|n| (n * MS, link("a", state(n)))).collect();
        let mut limiter = NoticeLimiter::default();
        let all = notices_of(&mut limiter, &events, 60_000 * MS);
        assert_eq!(all.len(), BURST as usize + 10, "{all:#?}");
        for pair in all[BURST as usize - 1..].windows(2) {
            let apart = pair[1].0 - pair[0].0;
            assert!(apart >= 990 * MS, "{apart}");
        }
        let (_, last) = all.last().unwrap();
        assert_eq!(last.notice, link("a", LinkState::Up));
        assert_eq!(last.at, wall(9_999 * MS), "its own time");
        let reported: u64 = all.iter().map(|(_, logged)| logged.more + 1).sum();
        assert_eq!(reported, 10_000, "each is said or counted");
        assert!(limiter.accounts.len() <= 1);
        assert_eq!(limiter.due(100_000 * MS), []);
        assert!(limiter.accounts.is_empty(), "nothing is kept of the quiet");
    }

    #[test]
    fn a_port_that_floods_does_not_silence_another_nor_another_event() {
        let mut limiter = NoticeLimiter::default();
        for n in 0..100 {
            limiter.offer(n, LoggedNotice::new(wall(n), link("a", LinkState::Down)));
        }
        assert!(
            limiter
                .offer(
                    100,
                    LoggedNotice::new(wall(100), link("b", LinkState::Down))
                )
                .is_some()
        );
        let failed = Notice::PortFailed {
            port: "a".into(),
            why: "no reason".into(),
        };
        assert!(
            limiter
                .offer(100, LoggedNotice::new(wall(100), failed))
                .is_some()
        );
    }

    #[test]
    fn what_is_held_at_the_end_is_reported() {
        let mut limiter = NoticeLimiter::default();
        for n in 0..20 {
            limiter.offer(n, LoggedNotice::new(wall(n), link("a", LinkState::Down)));
        }
        limiter.offer(
            20,
            LoggedNotice::new(wall(20), link("a", LinkState::BusOff)),
        );
        let rest = limiter.rest();
        assert_eq!(rest.len(), 1);
        assert_eq!(rest[0].notice, link("a", LinkState::BusOff));
        assert_eq!(rest[0].more, 20 - u64::from(BURST));
        assert_eq!(limiter.deadline(), None);
    }

    #[test]
    fn quiet_earns_a_burst_again() {
        let mut limiter = NoticeLimiter::default();
        let burst = |limiter: &mut NoticeLimiter, at: Nanos| {
            (0..10)
                .filter(|n| {
                    let at = at + n;
                    limiter
                        .offer(at, LoggedNotice::new(wall(at), link("a", LinkState::Down)))
                        .is_some()
                })
                .count()
        };
        assert_eq!(burst(&mut limiter, 0), BURST as usize);
        assert_eq!(limiter.due(2_000 * MS).len(), 1);
        assert_eq!(burst(&mut limiter, 100_000 * MS), BURST as usize);
    }
}
