//! Times bursts of frames by each way.

use super::error::BurstError;
use super::fit::LinearFit;
use super::sockets::{BurstPlace, SendWatcher, is_virtual, patience};
use super::ways::{FrameMover, SyscallWay, WAYS, WayDirection, WayRefusal};
use super::{MAX_BURST, steps};
use frame::{CanId, Nanos};
use linux::Errno;
use linux::can::CanSocket;
use linux::can::layout::CLASSIC_SIZE;
use linux::link::NetLink;
use linux::mmsg::PreparedDatagrams;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Number of times that each number of frames is moved; the median is used. The first round is not
/// counted.
const ROUNDS: usize = 5;

/// Number of attempts for a burst that did not arrive in time.
const ATTEMPTS: usize = 20;
/// Time for `ksoftirqd` to deliver the frames left to it, and a longer time for the same.
const A_MOMENT: Duration = Duration::from_millis(1);
const A_WHILE: Duration = Duration::from_millis(20);

/// The most frames of a burst on an interface whose queue's length is not known.
const SHORT: u32 = 10;

/// One way, with its times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WayRow {
    /// Its word in `gateway.toml`.
    pub way: &'static str,
    /// Whether it receives or sends.
    pub direction: WayDirection,
    /// The median time for each number of frames, ns. Empty where the way was refused.
    pub times_ns: Vec<(u32, Nanos)>,
    /// The line through them; `None` where there are fewer than two.
    pub fit: Option<LinearFit>,
    /// The cost of a frame, divided by its cost by read or by write.
    pub ratio: Option<f64>,
    /// A remark about the figures of this way.
    pub remark: Option<&'static str>,
    /// The reason why the way cannot be used here.
    pub refused: Option<String>,
}

/// The system calls of the paper, for one number of frames: the time to move them, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BurstPoint {
    /// The number of frames.
    pub frames: u32,
    /// By read(2), one frame per call.
    pub read_ns: Nanos,
    /// By recvmmsg(2), up to 1024 frames per call.
    pub recvmmsg_ns: Nanos,
    /// By write(2), one frame per call.
    pub write_ns: Nanos,
    /// By sendmmsg(2), up to 1024 frames per call.
    pub sendmmsg_ns: Nanos,
}

/// A whole measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SyscallResults {
    /// Whether frames take no time on this interface.
    pub is_virtual: bool,
    /// All ways.
    pub ways: Vec<WayRow>,
    /// The paper's four once more, side by side.
    pub points: Vec<BurstPoint>,
}

/// Times each way on an interface, with bursts of 1 to `most` frames; `None` means as many as fit
/// the interface's queue, at most [`MAX_BURST`]. The frames have this ID.
///
/// # Errors
/// [`BurstError`]. A way that this kernel or this interface does not have is a row with the reason.
pub fn measure(
    interface: &str,
    most: Option<u32>,
    id: CanId,
) -> Result<SyscallResults, BurstError> {
    if let Some(most) = most.filter(|most| !(1..=MAX_BURST).contains(most)) {
        return Err(BurstError::Frames(most));
    }
    let link = NetLink::find(interface).ok();
    let room = match &link {
        Some(link) if !is_virtual(&link.kind) => link.queue.unwrap_or(SHORT).clamp(1, MAX_BURST),
        _ => MAX_BURST,
    };
    let place = BurstPlace::new(interface, id, most.unwrap_or(room), link.as_ref());
    let mut ways = Vec::new();
    for way in WAYS {
        ways.push(match times(&place, way) {
            Ok((times_ns, remark)) => WayRow {
                fit: LinearFit::through(&times_ns),
                times_ns,
                remark,
                ..WayRow::new(way)
            },
            Err(WayRefusal::Own(why)) => WayRow {
                refused: Some(why),
                ..WayRow::new(way)
            },
            Err(WayRefusal::All(error)) => return Err(error),
        });
    }
    compare(&mut ways);
    Ok(SyscallResults {
        is_virtual: place.is_virtual,
        points: points(&ways),
        ways,
    })
}

impl WayRow {
    fn new(way: &SyscallWay) -> Self {
        Self {
            way: way.name,
            direction: way.direction,
            times_ns: Vec::new(),
            fit: None,
            ratio: None,
            remark: None,
            refused: None,
        }
    }

    /// Returns the time of a single frame, ns.
    #[must_use]
    pub fn alone_ns(&self) -> Option<Nanos> {
        let first = self.times_ns.first();
        first.filter(|(n, _)| *n == 1).map(|(_, ns)| *ns)
    }
}

/// Fills in the ratios to the first way of each direction.
fn compare(rows: &mut [WayRow]) {
    let per_frame = |row: &WayRow| row.fit.map(|fit| fit.per_frame_ns).filter(|ns| *ns > 0.0);
    for direction in [WayDirection::Receive, WayDirection::Send] {
        let first = rows.iter().find(|row| row.direction == direction);
        let Some(reference) = first.and_then(per_frame) else {
            continue;
        };
        for row in rows.iter_mut().filter(|row| row.direction == direction) {
            row.ratio = per_frame(row).map(|ns| ns / reference);
        }
    }
}

fn points(rows: &[WayRow]) -> Vec<BurstPoint> {
    let of = |way: &str, i: usize| {
        let row = rows.iter().find(|row| row.way == way)?;
        row.times_ns.get(i).copied()
    };
    let point = |i| {
        let (frames, read_ns) = of("read", i)?;
        Some(BurstPoint {
            frames,
            read_ns,
            recvmmsg_ns: of("recvmmsg", i)?.1,
            write_ns: of("write", i)?.1,
            sendmmsg_ns: of("sendmmsg", i)?.1,
        })
    };
    (0..).map_while(point).collect()
}

/// The other end of a way: the socket that feeds it, or receives the frames that it sent.
struct OtherEnd {
    socket: CanSocket,
    frames: PreparedDatagrams<CLASSIC_SIZE>,
}

impl OtherEnd {
    /// Receives the frames that were sent.
    fn collect(&mut self, place: &BurstPlace<'_>, n: u32) -> Result<(), BurstError> {
        let end = Instant::now() + patience(n);
        let mut left = n;
        while left > 0 {
            match self.frames.read(&self.socket, 1) {
                Ok(()) => left -= 1,
                Err(Errno::AGAIN) if Instant::now() < end => sleep(A_MOMENT),
                Err(errno) => return Err(place.failed("read", n, errno)),
            }
        }
        Ok(())
    }
}

/// The median for each number of frames, and the way's remark.
type Times = (Vec<(u32, Nanos)>, Option<&'static str>);

fn times(place: &BurstPlace<'_>, way: &SyscallWay) -> Result<Times, WayRefusal> {
    let mut watcher = SendWatcher::open(place)?;
    let mut other = OtherEnd {
        socket: match way.direction {
            WayDirection::Receive => place.sender()?,
            WayDirection::Send => place.receiver()?,
        },
        frames: PreparedDatagrams::new(place.content()),
    };
    let mut mover = (way.open)(place)?;
    let mut medians = Vec::new();
    for n in steps(place.most) {
        let mut times = Vec::new();
        for round in 0..=ROUNDS {
            let (mover, other) = (mover.as_mut(), &mut other);
            let ns = match way.direction {
                WayDirection::Receive => received(place, way, (mover, other, &mut watcher), n)?,
                WayDirection::Send => sent(place, way, (mover, other, &mut watcher), n)?,
            };
            if round > 0 {
                times.push(ns);
            }
        }
        medians.push((n, median(times)));
    }
    Ok((medians, mover.remark()))
}

type Ends<'a> = (
    &'a mut dyn FrameMover,
    &'a mut OtherEnd,
    &'a mut SendWatcher,
);

/// Times the reception of a burst that is waiting at the socket. The kernel may have left its
/// delivery to `ksoftirqd`: in that case the burst is not yet complete, and does not count.
fn received(
    place: &BurstPlace<'_>,
    way: &SyscallWay,
    (mover, other, watcher): Ends<'_>,
    n: u32,
) -> Result<Nanos, WayRefusal> {
    for _ in 1..ATTEMPTS {
        match receive_once(place, way, (mover, other, watcher), n) {
            Err(WayRefusal::All(BurstError::Lost { .. })) => sleep(A_WHILE),
            done => return done,
        }
    }
    receive_once(place, way, (mover, other, watcher), n)
}

fn receive_once(
    place: &BurstPlace<'_>,
    way: &SyscallWay,
    (mover, other, watcher): Ends<'_>,
    n: u32,
) -> Result<Nanos, WayRefusal> {
    mover.empty()?;
    let fed = other.frames.sendmmsg(&other.socket, n);
    fed.map_err(|errno| place.failed("sendmmsg", n, errno))?;
    if place.is_virtual {
        sleep(A_MOMENT);
    }
    watcher.wait(place, n)?;
    timed(place, way, mover, n)
}

fn sent(
    place: &BurstPlace<'_>,
    way: &SyscallWay,
    (mover, other, watcher): Ends<'_>,
    n: u32,
) -> Result<Nanos, WayRefusal> {
    let ns = timed(place, way, mover, n)?;
    if mover.is_echoed() {
        watcher.wait(place, n)?;
        other.collect(place, n)?;
    } else {
        mover.settle(patience(n))?;
    }
    Ok(ns)
}

fn timed(
    place: &BurstPlace<'_>,
    way: &SyscallWay,
    mover: &mut dyn FrameMover,
    n: u32,
) -> Result<Nanos, WayRefusal> {
    let start = clock_gettime(ClockId::Monotonic);
    let done = mover.move_frames(n);
    let end = clock_gettime(ClockId::Monotonic);
    match done {
        Ok(()) => {
            let seconds = end.tv_sec.saturating_sub(start.tv_sec);
            let rest = end.tv_nsec.saturating_sub(start.tv_nsec);
            let ns = seconds.saturating_mul(1_000_000_000).saturating_add(rest);
            Ok(Nanos::try_from(ns).unwrap_or(0))
        }
        // The socket's own buffer is full: handled as a full queue.
        Err(Errno::AGAIN) if way.direction == WayDirection::Send => {
            Err(place.failed(way.name, n, Errno::NOBUFS).into())
        }
        Err(errno) => Err(place.failed(way.name, n, errno).into()),
    }
}

/// Returns the median of an odd number of values.
fn median(mut values: Vec<Nanos>) -> Nanos {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one() {
        assert_eq!(median(vec![5, 1, 9]), 5);
        assert_eq!(median(vec![]), 0);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let id = CanId::from_raw(0x123);
        assert!(matches!(
            measure("lo", Some(0), id),
            Err(BurstError::Frames(0))
        ));
        let error = measure("lo", Some(10), id).unwrap_err().to_string();
        assert!(error.contains("lo") || error.contains("AF_CAN"), "{error}");
    }

    fn rows() -> Vec<WayRow> {
        let mut rows: Vec<WayRow> = WAYS.iter().map(WayRow::new).collect();
        for (i, row) in (1u64..).zip(&mut rows) {
            row.times_ns = vec![(1, 10 * i), (2, 20 * i), (5, 50 * i)];
            row.fit = LinearFit::through(&row.times_ns);
        }
        rows
    }

    #[test]
    fn ways_are_compared_with_the_first_of_their_direction() {
        let mut rows = rows();
        rows[1].fit = None;
        compare(&mut rows);
        let ratios: Vec<_> = rows.iter().map(|row| (row.direction, row.ratio)).collect();
        let first_send = rows.iter().position(|r| r.direction == WayDirection::Send);
        let first_send = first_send.unwrap();
        assert_eq!(ratios[1], (WayDirection::Receive, None), "it was refused");
        for (i, (direction, ratio)) in ratios.into_iter().enumerate() {
            let reference = match direction {
                WayDirection::Receive => 1,
                WayDirection::Send => first_send + 1,
            };
            let expected = (i + 1) as f64 / reference as f64;
            assert!(ratio.is_none_or(|r| (r - expected).abs() < 1e-9), "{i}");
        }
    }

    #[test]
    fn the_papers_four_stand_side_by_side() {
        let mut rows = rows();
        let points_of = points(&rows);
        assert_eq!(points_of.len(), 3);
        assert_eq!((points_of[2].frames, points_of[2].read_ns), (5, 50));
        assert_eq!(points_of[0].recvmmsg_ns, 20);
        rows[0].times_ns.clear();
        assert!(points(&rows).is_empty());
    }
}
