//! Frames known again by a 16-bit number: the papers' lookup table (gateway-2011 §2.1).

use super::matcher::{GivenUp, Origin, Remember, Sent};
use frame::Nanos;

/// What is remembered of the frame that had a number last.
#[derive(Clone, Copy)]
enum Last {
    /// Nobody had it.
    Nobody,
    /// It is under way.
    Waiting(Sent),
    /// It came out.
    Out(Sent),
}

/// Remembers, for each 16-bit number, the frame that was sent with it last.
///
/// Work for each frame is small and constant, and all memory is there from the beginning. A number
/// may be used again; a frame that comes out after that is taken for the later one. Nothing is
/// given up by time.
pub struct Numbered {
    frames: Vec<Last>,
}

impl Default for Numbered {
    fn default() -> Self {
        Self {
            frames: vec![Last::Nobody; 1 << 16],
        }
    }
}

impl Numbered {
    fn last(&self, number: u16) -> Last {
        let last = self.frames.get(usize::from(number));
        last.copied().unwrap_or(Last::Nobody)
    }

    fn set(&mut self, number: u16, last: Last) {
        if let Some(place) = self.frames.get_mut(usize::from(number)) {
            *place = last;
        }
    }
}

impl Remember<u16> for Numbered {
    fn insert(&mut self, key: u16, sent: Sent, lost: &mut impl FnMut(Sent, GivenUp)) {
        if let Last::Waiting(earlier) = self.last(key) {
            lost(earlier, GivenUp::NoRoom);
        }
        self.set(key, Last::Waiting(sent));
    }

    fn recognise(&mut self, key: &u16) -> Origin {
        match self.last(*key) {
            Last::Nobody => Origin::Nothing,
            Last::Out(sent) => Origin::Again(sent),
            Last::Waiting(sent) => {
                self.set(*key, Last::Out(sent));
                Origin::First {
                    sent,
                    place: sent.tag,
                    ambiguous: false,
                }
            }
        }
    }

    fn withdraw(&mut self, key: &u16) -> Option<Sent> {
        match self.last(*key) {
            Last::Waiting(sent) => {
                self.set(*key, Last::Nobody);
                Some(sent)
            }
            Last::Out(_) | Last::Nobody => None,
        }
    }

    fn newest(&self, key: &u16) -> Option<Sent> {
        match self.last(*key) {
            Last::Waiting(sent) | Last::Out(sent) => Some(sent),
            Last::Nobody => None,
        }
    }

    fn expire(&mut self, _now: Nanos, _lost: &mut impl FnMut(Sent, GivenUp)) {}

    fn clear(&mut self, lost: &mut impl FnMut(Sent, GivenUp)) {
        for last in &mut self.frames {
            if let Last::Waiting(sent) = std::mem::replace(last, Last::Nobody) {
                lost(sent, GivenUp::Overdue);
            }
        }
    }
}
