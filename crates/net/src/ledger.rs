//! How many frames were in datagrams that are missing, by the sender's statements.

use std::collections::VecDeque;

/// Number of the newest datagrams of which the frames are known.
const KNOWN: usize = 4096;

/// Number of statements that can wait until their datagrams have arrived or are missing.
const MAX_WAITING: usize = 16;

/// A statement of the sender: there were this many frames in the datagrams before a place.
#[derive(Clone, Copy, Debug)]
struct SenderStatement {
    /// Place of the first datagram that is not included.
    place: u64,
    frames: u64,
    /// Frames that have arrived from that place on.
    above: u64,
}

/// A balance of frames up to a datagram.
#[derive(Clone, Copy, Debug, Default)]
struct FrameBalance {
    sent: u64,
    arrived: u64,
}

/// The frames that arrived from one sender, and those that it stated to have sent.
///
/// Places are those of [`SequenceWindow`](crate::SequenceWindow). A statement counts when no
/// datagram before its place is awaited any more; so the number of lost frames only grows.
#[derive(Clone, Debug)]
pub struct FrameLedger {
    /// Frames of the newest datagrams, in a ring.
    frames: Vec<u16>,
    newest: u64,
    arrived: u64,
    /// The last statement that counted; `None` before the first one, unless the sender's first
    /// datagram was seen.
    balance: Option<FrameBalance>,
    waiting: VecDeque<SenderStatement>,
    /// The greatest place of a statement.
    stated: u64,
    run: Option<u64>,
    lost: u64,
}

impl Default for FrameLedger {
    fn default() -> Self {
        Self {
            frames: vec![0; KNOWN],
            newest: 0,
            arrived: 0,
            balance: None,
            waiting: VecDeque::new(),
            stated: 0,
            run: None,
            lost: 0,
        }
    }
}

impl FrameLedger {
    /// Begins with the datagram at a place: the first one of a sender, or of a sender that began
    /// anew. `is_first`: it has the number 0, so all that was sent before it is known: nothing.
    pub fn begin(&mut self, place: u64, is_first: bool) {
        self.frames.fill(0);
        self.newest = place;
        self.arrived = 0;
        self.balance = is_first.then(FrameBalance::default);
        self.waiting.clear();
        self.stated = 0;
        self.run = None;
    }

    /// Counts a frame of the datagram at this place.
    pub fn count(&mut self, place: u64) {
        if place > self.newest {
            let gap = (place - self.newest).min(KNOWN as u64);
            for at in place + 1 - gap..=place {
                self.frames[at as usize % KNOWN] = 0;
            }
            self.newest = place;
        }
        let frames = &mut self.frames[place as usize % KNOWN];
        *frames = frames.saturating_add(1);
        self.arrived += 1;
        for statement in &mut self.waiting {
            statement.above += u64::from(place >= statement.place);
        }
    }

    /// Returns whether this can be the sender's run.
    #[must_use]
    pub fn is_of(&self, run: u64) -> bool {
        self.run.is_none_or(|known| known == run)
    }

    /// Takes a statement: the sender's run has sent `frames` in the datagrams before `place`.
    pub fn state(&mut self, run: u64, place: u64, frames: u64) {
        let is_known = place + (KNOWN as u64) > self.newest;
        // A later statement includes one that it has overtaken.
        if !self.is_of(run) || !is_known || place <= self.stated {
            return;
        }
        self.stated = place;
        self.run = Some(run);
        if self.waiting.len() == MAX_WAITING {
            self.waiting.pop_back();
        }
        let above = (place..=self.newest).map(|at| u64::from(self.frames[at as usize % KNOWN]));
        self.waiting.push_back(SenderStatement {
            place,
            frames,
            above: above.sum(),
        });
    }

    /// Counts the statements about datagrams before this place, the first one that is awaited.
    pub fn settle(&mut self, awaited: u64) {
        while let Some(&statement) = self.waiting.front()
            && statement.place <= awaited
        {
            self.waiting.pop_front();
            let now = FrameBalance {
                sent: statement.frames,
                arrived: self.arrived.saturating_sub(statement.above),
            };
            if let Some(before) = self.balance {
                let sent = now.sent.saturating_sub(before.sent);
                let arrived = now.arrived.saturating_sub(before.arrived);
                self.lost = self.lost.saturating_add(sent.saturating_sub(arrived));
            }
            self.balance = Some(now);
        }
    }

    /// Returns the number of frames that were lost, as far as statements show.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }
}
