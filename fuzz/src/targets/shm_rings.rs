//! One side of memory that two sides share, while the other one writes anything anywhere: it must
//! not panic, must pass on only valid frames and never more than a ring holds, each frame that it
//! took must have one fate, and it must continue with a correct peer afterwards.

use crate::Target;
use crate::bytes::ByteSource;
use shm::layout::{self, LEAST, ShmSide, at, slots};
use shm::{PeerLink, SILENT, SharedWords, ShmRings};
use std::cell::RefCell;
use std::rc::Rc;

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "shm_rings",
    run,
    words: &["cangate\u{1}"],
};

const STEPS: usize = 400;

#[derive(Clone)]
struct FuzzMemory(Rc<RefCell<Vec<u64>>>);

impl SharedWords for FuzzMemory {
    fn len(&self) -> usize {
        LEAST
    }

    fn get(&self, at: usize) -> u64 {
        self.0.borrow().get(at / 8).copied().unwrap_or(0)
    }

    fn set(&self, at: usize, word: u64) {
        if let Some(to) = self.0.borrow_mut().get_mut(at / 8) {
            *to = word;
        }
    }

    fn fence(&self) {}
}

fn double(bytes: &mut ByteSource<'_>) -> u64 {
    u64::from(bytes.word()) | u64::from(bytes.word()) << 32
}

fn run(input: &[u8]) {
    let bytes = &mut ByteSource::new(input);
    let memory = FuzzMemory(Rc::new(RefCell::new(vec![0; LEAST / 8])));
    let mine = if bytes.byte() & 1 == 0 {
        ShmSide::First
    } else {
        ShmSide::Second
    };
    let (ours, theirs) = (mine.block(), mine.other().block());
    let Ok(mut side) = ShmRings::new(memory.clone(), mine, 7, 0) else {
        panic!("there is memory enough");
    };
    // Initially, the peer is correct.
    memory.set(theirs + at::VERSION, layout::VERSION);
    memory.set(theirs + at::LIFE, 9);
    side.watch_peer(0);
    let mut now = 0;
    for _ in 0..STEPS {
        if bytes.is_empty() {
            break;
        }
        let what = bytes.byte();
        now += u64::from(bytes.byte()) * 1_000_000;
        let session = memory.get(ours + at::HEAD) >> 32 << 32;
        match what % 11 {
            0 => memory.set(usize::from(bytes.short()) & !7, double(bytes)),
            1 => memory.set(theirs + usize::from(bytes.byte()) * 8, double(bytes)),
            // Counts that are almost correct.
            2 => memory.set(
                theirs + at::HEAD,
                session | u64::from(bytes.short() & 0x3FF),
            ),
            3 => memory.set(
                theirs + at::TAIL,
                session | u64::from(bytes.short() & 0x3FF),
            ),
            // A slot that is almost a frame.
            4 => {
                let slot = mine.other().ring(LEAST) + usize::from(bytes.byte()) * layout::SLOT;
                let header = u64::from(bytes.word()) | u64::from(bytes.word() & 0x0203_0F7F) << 32;
                memory.set(slot, header);
            }
            5 => {
                side.watch_peer(now);
            }
            6 => {
                let budget = usize::from(bytes.short());
                let mut frames = 0;
                side.receive(budget, &mut |frame| {
                    assert!(layout::encode(&frame.view()).is_some());
                    frames += 1;
                });
                assert!(frames <= budget && frames <= slots(LEAST) as usize);
            }
            7 => {
                side.release();
            }
            8 => {
                for _ in 0..bytes.byte() {
                    let _ = side.send(&bytes.frame().view());
                }
            }
            9 => {
                side.publish();
            }
            _ => {
                side.arm(bytes.byte() & 1 != 0);
            }
        }
        let counters = side.counters();
        assert!(side.held() <= slots(LEAST));
        let fates = counters.sent + counters.lost + u64::from(side.held());
        assert_eq!(counters.taken, fates);
    }
    let Ok(mut other) = ShmRings::new(memory, mine.other(), 99, now) else {
        panic!("there is memory enough");
    };
    // Anything that the other side broke in this side's block is correct again with the next
    // heartbeat.
    for _ in 0..3 {
        now += SILENT / 4;
        side.watch_peer(now);
        other.watch_peer(now);
    }
    assert_eq!((side.link(), other.link()), (PeerLink::Up, PeerLink::Up));
}
