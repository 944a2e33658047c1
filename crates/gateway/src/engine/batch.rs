//! From decisions to ports: copies, their answers, and the marks that make a frame's fate.

use crate::counters::RouteCount;
use crate::fate::{Fate, Marks};
use crate::lane::Sender;
use frame::Nanos;
use port::{Outgoing, Refused, Stamp, Token};
use route::{Forward, RouteId, Routes, Sink, Stop};

/// What a route wants of its copies besides what the table does.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Wish {
    pub(crate) echo: bool,
    pub(crate) keep_stamp: bool,
}

pub(crate) fn wishes(routes: &Routes) -> Vec<Wish> {
    let wish = |route: &route::Route| Wish {
        echo: route.echo,
        keep_stamp: route.keep_stamp,
    };
    routes.routes.iter().map(wish).collect()
}

/// Where the table's decisions about one batch go.
pub(super) struct Batch<'e> {
    pub(super) now: Nanos,
    pub(super) token: Token,
    pub(super) stamp: Stamp,
    pub(super) tx: &'e mut [Sender],
    pub(super) routes: &'e mut [RouteCount],
    pub(super) wishes: &'e [Wish],
    pub(super) marks: Marks,
    /// The route whose copies of this frame are being made.
    pub(super) forwarding: Option<RouteId>,
}

impl Sink for Batch<'_> {
    fn taken(&mut self, route: RouteId) {
        self.forwarding = None;
        if let Some(count) = self.routes.get_mut(route.0 as usize) {
            count.taken += 1;
        }
    }

    fn stopped(&mut self, route: RouteId, why: Stop) {
        self.marks.mark(Fate::from(why));
        if let Some(count) = self.routes.get_mut(route.0 as usize) {
            *match why {
                Stop::DropRule => &mut count.dropped_by_rule,
                Stop::RateLimit => &mut count.rate_limited,
                Stop::HopLimit => &mut count.hop_limit,
                Stop::TooLong => &mut count.too_long,
                Stop::IdRange => &mut count.id_range,
            } += 1;
        }
    }

    fn forward(&mut self, copy: Forward<'_>) {
        let at = copy.route.0 as usize;
        // Layout::new made sure that both exist; a table that broke its word would show as an
        // imbalance, not as a panic.
        let (Some(route), Some(port), Some(wish)) = (
            self.routes.get_mut(at),
            self.tx.get_mut(usize::from(copy.to.0)),
            self.wishes.get(at),
        ) else {
            self.marks.mark(Fate::Undeliverable);
            return;
        };
        if self.forwarding != Some(copy.route) {
            self.forwarding = Some(copy.route);
            route.forwarded += 1;
        }
        route.copies.offered += 1;
        port.copies.offered += 1;
        let answer = if port.in_service {
            let outgoing = Outgoing {
                frame: copy.frame,
                token: self.token,
                hops: copy.hops,
                stamp: wish.keep_stamp.then_some(self.stamp),
                echo: wish.echo,
            };
            port.half.transmit(self.now, outgoing)
        } else {
            Err(Refused::Down)
        };
        let (fate, of_route, of_port) = match answer {
            Ok(_) => {
                port.touched = true;
                let (r, p) = (&mut route.copies.accepted, &mut port.copies.accepted);
                (Fate::Routed, r, p)
            }
            Err(Refused::Full) => {
                // A flush may make room; held frames are flushed again with the next step.
                port.touched = true;
                let (r, p) = (&mut route.copies.refused, &mut port.copies.refused);
                (Fate::Refused, r, p)
            }
            Err(Refused::Down) => {
                let (r, p) = (&mut route.copies.down, &mut port.copies.down);
                (Fate::Undeliverable, r, p)
            }
            Err(Refused::Unsupported) => {
                let (r, p) = (&mut route.copies.unsupported, &mut port.copies.unsupported);
                (Fate::Undeliverable, r, p)
            }
        };
        self.marks.mark(fate);
        *of_route += 1;
        *of_port += 1;
    }
}
