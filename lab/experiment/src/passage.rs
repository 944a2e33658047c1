//! The way of frames from one bus of a plan to another one: which came out, how late, and with
//! which gaps.

use frame::{CanId, FrameRef, Header, Kind};
use guest::lockstep::{LinkKind, LinkRecord, LockstepPlan, RecordKind};
use probe::matching::{
    FrameKey, FrameMatcher, KeyRule, MatchOutcome, MatchedFrame, MatcherSettings, OutcomeCounts,
    SentFrame,
};
use probe::{LatencyProfile, LatencySummary};
use std::collections::HashMap;

/// No frame is lost because it is late, ns: runs take less.
const TIMEOUT: u64 = 1 << 60;

/// The reason why the frames of two links cannot be matched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PassageError {
    /// Not two names.
    #[error("`{0}` is not FROM:TO, the names of two CAN links of the plan")]
    Form(String),
    /// A name that no link has.
    #[error("there is no link `{0}` in the plan")]
    Unknown(String),
    /// A link that has no CAN frames.
    #[error("link `{0}` is not a CAN bus: frames are matched between buses")]
    NotCan(String),
}

/// A bus and another one, by their numbers in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The bus on which the frames go in: those of the machines that are on no other link. What a
    /// machine with several links sends is on its way already.
    from: usize,
    /// The bus on which they come out: those of the machines with several links.
    to: usize,
}

/// What became of the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassageReport {
    /// Of the frames that went in and came out. A frame that came out after a later one of its CAN
    /// ID is reordered.
    pub counts: OutcomeCounts,
    /// From the end of the frame on the first bus until the last gateway's card took it for the
    /// other bus, ns. `None` if none came out, as in the others.
    pub to_card: Option<LatencySummary>,
    /// From the end of the frame on the first bus to its end on the other one, ns.
    pub to_bus: Option<LatencySummary>,
    /// From the time at which the sender's card had the frame to its end on the other bus, ns: with
    /// all its waits.
    pub from_card: Option<LatencySummary>,
    /// By how much the gap to the frame before with the same CAN ID, of those that came out,
    /// differs at the last gateway's card from the gap on the first bus, ns.
    pub spacing: Option<LatencySummary>,
}

impl Passage {
    /// Finds the links of `FROM:TO`.
    ///
    /// # Errors
    /// The plan has no such two buses.
    pub fn parse(text: &str, plan: &LockstepPlan) -> Result<Self, PassageError> {
        let (from, to) = text
            .split_once(':')
            .ok_or_else(|| PassageError::Form(text.to_owned()))?;
        let find = |name: &str| {
            let place = plan.links.iter().position(|link| link.name == name);
            let link = place.and_then(|place| plan.links.get(place));
            match (place, link.map(|link| &link.kind)) {
                (Some(place), Some(LinkKind::Can(_))) => Ok(place),
                (Some(_), _) => Err(PassageError::NotCan(name.to_owned())),
                (None, _) => Err(PassageError::Unknown(name.to_owned())),
            }
        };
        Ok(Self {
            from: find(from)?,
            to: find(to)?,
        })
    }

    /// Matches the frames of a run.
    #[must_use]
    pub fn report(self, plan: &LockstepPlan, links: &[Vec<LinkRecord>]) -> PassageReport {
        let is_gateway = |machine: usize| {
            let on = plan.links.iter();
            on.filter(|link| link.members.contains(&machine)).count() > 1
        };
        let of = |link: usize, gateways: bool| -> Vec<&LinkRecord> {
            let all = links.get(link).into_iter().flatten();
            all.filter(|it| it.kind == RecordKind::Sent && is_gateway(it.machine) == gateways)
                .collect()
        };
        report(&of(self.from, false), &of(self.to, true))
    }
}

/// The sizes of Linux's `struct can_frame` and `struct canfd_frame`, which tell the two apart, as
/// at sockets (`CAN_MTU`, `CANFD_MTU` of linux/can.h).
const CLASSIC_SIZE: usize = 16;
const FD_SIZE: usize = 72;

/// Returns the frame of a bus's record, and `None` if it is not one.
#[must_use]
pub fn frame_of(record: &LinkRecord) -> Option<FrameRef<'_>> {
    let bytes = record.bytes.as_slice();
    let kind = match bytes.len() {
        CLASSIC_SIZE => Kind::Classic,
        FD_SIZE => Kind::Fd,
        _ => return None,
    };
    let id = CanId::from_raw(u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?));
    let length = usize::from(*bytes.get(4)?);
    let header = Header::new(kind, id, length).ok()?;
    FrameRef::new(header.with_flags(*bytes.get(5)?), bytes.get(8..)?).ok()
}

fn key(record: &LinkRecord) -> Option<(FrameKey, u32)> {
    let frame = frame_of(record)?;
    Some((KeyRule::IdAndPayload.key(frame)?, frame.id().raw()))
}

fn report(sent: &[&LinkRecord], received: &[&LinkRecord]) -> PassageReport {
    let mut matcher = FrameMatcher::new(MatcherSettings {
        timeout: TIMEOUT,
        capacity: sent.len(),
        duplicates: true,
    });
    let mut pairs: Vec<MatchedFrame> = Vec::new();
    let mut sink = |outcome| {
        if let MatchOutcome::Matched(pair) = outcome {
            pairs.push(pair);
        }
    };
    let mut waiting = sent.iter().enumerate().peekable();
    for (place, record) in received.iter().enumerate() {
        while let Some((place, record)) = waiting.next_if(|(_, it)| it.at <= record.at) {
            add(&mut matcher, place, record, &mut sink);
        }
        if let Some((key, _)) = key(record) {
            matcher.received(&key, place as u64, record.at, &mut sink);
        }
    }
    for (place, record) in waiting {
        add(&mut matcher, place, record, &mut sink);
    }
    matcher.finish(&mut sink);
    pairs.sort_by_key(|pair| pair.sent.tag);
    let at_card = |pair: &MatchedFrame| {
        let record = usize::try_from(pair.tag)
            .ok()
            .and_then(|at| received.get(at));
        record.map_or(pair.at, |record| record.asked)
    };
    let mut before: HashMap<u32, (u64, u64)> = HashMap::new();
    let gaps = pairs.iter().filter_map(|pair| {
        let now = (pair.sent.at, at_card(pair));
        let (sent, card) = before.insert(pair.sent.stream, now)?;
        Some((difference(now.1, card) - difference(now.0, sent)).abs())
    });
    let spacing: LatencyProfile = gaps.collect();
    let asked = |pair: &MatchedFrame| {
        let record = usize::try_from(pair.sent.tag)
            .ok()
            .and_then(|at| sent.get(at));
        record.map_or(pair.sent.at, |record| record.asked)
    };
    let profile = |from: &dyn Fn(&MatchedFrame) -> u64, to: &dyn Fn(&MatchedFrame) -> u64| {
        let all = pairs.iter().map(|pair| difference(to(pair), from(pair)));
        all.collect::<LatencyProfile>().summary()
    };
    PassageReport {
        counts: matcher.counts(),
        to_card: profile(&|pair| pair.sent.at, &at_card),
        to_bus: profile(&|pair| pair.sent.at, &|pair| pair.at),
        from_card: profile(&asked, &|pair| pair.at),
        spacing: spacing.summary(),
    }
}

fn add(
    matcher: &mut FrameMatcher<FrameKey>,
    place: usize,
    record: &LinkRecord,
    sink: &mut impl FnMut(MatchOutcome),
) {
    if let Some((key, stream)) = key(record) {
        let sent = SentFrame {
            tag: place as u64,
            at: record.at,
            stream,
        };
        matcher.sent(key, sent, sink);
    }
}

fn difference(later: u64, earlier: u64) -> i64 {
    later.wrapping_sub(earlier).cast_signed()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use frame::flags;

    /// Returns the record of a classic frame that was on a bus.
    pub(crate) fn record(machine: usize, asked: u64, at: u64, id: u32, data: &[u8]) -> LinkRecord {
        let mut bytes = id.to_le_bytes().to_vec();
        bytes.extend([data.len() as u8, 0, 0, 0]);
        bytes.extend(data);
        bytes.resize(16, 0);
        LinkRecord {
            at,
            asked,
            kind: RecordKind::Sent,
            machine,
            bytes,
        }
    }

    fn plan() -> LockstepPlan {
        let text = "[machines.a]\ncommand = \"x\"\n[machines.g]\ncommand = \"x\"\n\
                    [machines.b]\ncommand = \"x\"\n\
                    [links.left]\nkind = \"can\"\nmachines = [\"a\", \"g\"]\n\
                    [links.right]\nkind = \"can\"\nmachines = [\"g\", \"b\"]\n\
                    [links.lan]\nkind = \"ethernet\"\nmachines = [\"g\", \"h\"]\n\
                    [machines.h]\ncommand = \"x\"\n";
        let source = config::SourceText::new("p.toml", text);
        crate::lockstep::read(&source, std::path::Path::new("")).unwrap()
    }

    #[test]
    fn links_are_found_or_named() {
        let plan = plan();
        assert_eq!(
            Passage::parse("left:right", &plan),
            Ok(Passage { from: 0, to: 1 })
        );
        let error = |text| Passage::parse(text, &plan).unwrap_err().to_string();
        assert!(error("left").contains("`left` is not FROM:TO"));
        assert!(error("left:middle").contains("no link `middle`"));
        assert!(error("lan:right").contains("`lan` is not a CAN bus"));
    }

    #[test]
    fn each_frame_has_one_outcome_and_gaps_are_those_of_its_id() {
        let left = vec![
            record(0, 900, 1000, 0x100, &[1]),
            record(0, 1900, 2000, 0x200, &[1]),
            record(0, 2900, 3000, 0x100, &[2]),
            record(0, 3900, 4000, 0x100, &[3]),
            record(0, 4900, 5000, 0x200, &[2]),
            // Of a gateway: not one that goes in.
            record(1, 4900, 6000, 0x100, &[9]),
        ];
        let right = vec![
            record(1, 1300, 1500, 0x100, &[1]),
            record(1, 2300, 2600, 0x200, &[1]),
            record(1, 4310, 4500, 0x100, &[3]),
            record(1, 4350, 4700, 0x100, &[2]),
            record(1, 4360, 4800, 0x100, &[2]),
            record(1, 4370, 4900, 0x300, &[7]),
            // Of the other node.
            record(2, 4400, 5900, 0x200, &[2]),
        ];
        let passage = Passage { from: 0, to: 1 };
        let report = passage.report(&plan(), &[left, right, Vec::new()]);
        let counts = report.counts;
        assert_eq!((counts.sent, counts.received), (5, 6));
        assert_eq!((counts.matched, counts.lost), (4, 1));
        assert_eq!((counts.duplicated, counts.unexpected), (1, 1));
        assert_eq!((counts.reordered, counts.ambiguous), (1, 0));
        let card = report.to_card.unwrap();
        assert_eq!((card.min, card.p50, card.max), (300, 300, 1350));
        let bus = report.to_bus.unwrap();
        assert_eq!((bus.min, bus.max), (500, 1700));
        let all = report.from_card.unwrap();
        assert_eq!((all.min, all.max), (600, 1800));
        // 0x100: 2000 became 3050, 1000 became −40.
        let spacing = report.spacing.unwrap();
        assert_eq!((spacing.count, spacing.min, spacing.max), (2, 1040, 1050));
    }

    #[test]
    fn the_size_of_a_record_is_the_kind_of_its_frame() {
        let mut bytes = 0x8000_0123_u32.to_le_bytes().to_vec();
        bytes.extend([12, flags::BRS | flags::ESI, 0, 0]);
        bytes.resize(FD_SIZE, 0xab);
        let mut fd = record(0, 0, 0, 0, &[]);
        fd.bytes = bytes;
        let frame = frame_of(&fd).unwrap();
        assert_eq!((frame.kind(), frame.len()), (Kind::Fd, 12));
        assert_eq!(frame.header().flags(), flags::BRS | flags::ESI);
        assert_eq!(frame.data(), [0xab; 12]);
        let classic = record(0, 0, 0, 0x123, &[1, 2]);
        assert_eq!(frame_of(&classic).unwrap().kind(), Kind::Classic);
        fd.bytes.pop();
        assert_eq!(frame_of(&fd), None);
    }

    #[test]
    fn no_frames_are_no_figures() {
        let report = report(&[], &[]);
        assert_eq!(report.counts, OutcomeCounts::default());
        assert_eq!((report.to_card, report.spacing), (None, None));
    }
}
