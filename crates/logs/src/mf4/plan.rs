//! How the records of a group become frames.

use super::channel::{ChannelType, DataChannel};
use super::group::ChannelGroup;
use crate::bad::LogFault;
use crate::draft::{FrameDraft, id};
use frame::dlc;
use frame::text::Direction;

const LENGTH: LogFault = LogFault::Said("fewer bytes than its length states");
const MEMBER: LogFault = LogFault::Said("a frame without its ID, its length or its bytes");
const ID: LogFault = LogFault::Said("an ID that is too large for its format");
const DLC: LogFault = LogFault::Said("a DLC above 15");
const CHANNEL: LogFault = LogFault::Said("a channel above 4294967295");

/// The members of a frame that are read, with the names that the standard for bus logging gives
/// them.
macro_rules! members {
    ($($field:ident: $($name:literal)|+,)*) => {
        #[derive(Debug, Default)]
        struct FrameMembers {
            $($field: Option<DataChannel>,)*
        }

        impl FrameMembers {
            fn add(&mut self, name: &str, channel: &DataChannel) {
                match name {
                    $($($name)|+ => self.$field = Some(channel.clone()),)*
                    _ => {}
                }
            }
        }
    };
}

members! {
    id: "ID",
    ide: "IDE",
    dlc: "DLC",
    length: "DataLength",
    bytes: "DataBytes",
    direction: "Dir",
    bus: "BusChannel",
    fdf: "EDL" | "FDF",
    brs: "BRS",
    esi: "ESI",
}

/// The direction as a text of two letters, which some writers have in place of a number.
const RX: u64 = u16::from_le_bytes(*b"Rx") as u64;

/// The kind of event of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BusEvent {
    Data,
    Remote,
    Error,
}

const EVENTS: [(&str, BusEvent); 3] = [
    ("CAN_DataFrame.", BusEvent::Data),
    ("CAN_RemoteFrame.", BusEvent::Remote),
    ("CAN_ErrorFrame.", BusEvent::Error),
];

/// A record of a group, and the values of variable length of its payload.
#[derive(Clone, Copy)]
pub(super) struct GroupRecord<'a> {
    pub(super) bytes: &'a [u8],
    /// The payload, if it is of variable length.
    pub(super) payload: Option<&'a [u8]>,
}

/// A frame, before it is ordered by time.
pub(super) struct PlannedFrame {
    pub(super) channel: u32,
    pub(super) direction: Option<Direction>,
    pub(super) draft: FrameDraft,
}

/// The members of a group's frames.
#[derive(Debug)]
pub(super) struct FramePlan {
    event: BusEvent,
    members: FrameMembers,
    /// The channel of a group whose records do not have it.
    bus: u32,
    /// Size in bytes of a record's values.
    values: usize,
}

impl FramePlan {
    /// Returns the plan of a group; `None` where its records are not CAN frames.
    pub(super) fn from_group(group: &ChannelGroup) -> Option<Self> {
        let (prefix, event) = *EVENTS.iter().find(|(prefix, _)| {
            let mut names = group.channels.iter().map(|(name, _)| name);
            names.any(|name| name.starts_with(prefix))
        })?;
        let mut members = FrameMembers::default();
        for (name, channel) in &group.channels {
            if let Some(name) = name.strip_prefix(prefix) {
                members.add(name, channel);
            }
        }
        let digits = group.name.trim_start_matches(|c: char| !c.is_ascii_digit());
        Some(Self {
            event,
            members,
            bus: digits.parse().unwrap_or(1),
            values: group.values,
        })
    }

    /// Returns the channel of the payload, if it is of variable length.
    pub(super) fn variable(&self) -> Option<&DataChannel> {
        let bytes = self.members.bytes.as_ref();
        bytes.filter(|channel| channel.kind == ChannelType::Variable)
    }

    /// Reads a record.
    pub(super) fn read(&self, record: &GroupRecord<'_>) -> Result<PlannedFrame, LogFault> {
        let direction = self.raw(self.members.direction.as_ref(), record);
        let bus = self.raw(self.members.bus.as_ref(), record);
        let channel = bus
            .map_or(Ok(self.bus), u32::try_from)
            .map_err(|_| CHANNEL)?;
        Ok(PlannedFrame {
            channel,
            direction: direction.map(|sent| match sent {
                0 | RX => Direction::Received,
                _ => Direction::Sent,
            }),
            draft: match self.event {
                BusEvent::Error => FrameDraft::error(),
                BusEvent::Remote => self.remote(record)?,
                BusEvent::Data => self.data(record)?,
            },
        })
    }

    fn raw(&self, member: Option<&DataChannel>, record: &GroupRecord<'_>) -> Option<u64> {
        let member = member.filter(|member| member.is_valid(record.bytes, self.values))?;
        member.raw(record.bytes)
    }

    fn is_set(&self, member: Option<&DataChannel>, record: &GroupRecord<'_>) -> bool {
        self.raw(member, record).is_some_and(|bit| bit != 0)
    }

    /// Returns a frame with its ID.
    fn begin(&self, record: &GroupRecord<'_>) -> Result<FrameDraft, LogFault> {
        let raw = self.raw(self.members.id.as_ref(), record).ok_or(MEMBER)?;
        // Some writers keep the bit IDE above the ID, and have no member for it.
        let number = (raw & 0x1FFF_FFFF) as u32;
        let extended = match &self.members.ide {
            Some(_) => self.is_set(self.members.ide.as_ref(), record),
            None => raw & 0x8000_0000 != 0 || number > 0x7FF,
        };
        id(number, extended).map(FrameDraft::new).ok_or(ID)
    }

    fn remote(&self, record: &GroupRecord<'_>) -> Result<FrameDraft, LogFault> {
        let dlc = self.raw(self.members.dlc.as_ref(), record);
        let dlc = dlc.or_else(|| self.raw(self.members.length.as_ref(), record));
        let draft = self.begin(record)?.with_dlc(small(dlc.unwrap_or(0)));
        let mut draft = draft.ok_or(DLC)?;
        draft.id = draft.id.with_rtr();
        Ok(draft)
    }

    fn data(&self, record: &GroupRecord<'_>) -> Result<FrameDraft, LogFault> {
        let mut draft = self.begin(record)?;
        let dlc = self.raw(self.members.dlc.as_ref(), record);
        let length = self.raw(self.members.length.as_ref(), record);
        if self.is_set(self.members.fdf.as_ref(), record) {
            let brs = self.is_set(self.members.brs.as_ref(), record);
            draft = draft.fd(brs, self.is_set(self.members.esi.as_ref(), record));
            let of_dlc = dlc
                .filter(|dlc| *dlc <= 15)
                .map(|dlc| dlc::fd_len(dlc as u8));
            draft.len = match length {
                Some(length) => small(length) as usize,
                None => of_dlc.ok_or(MEMBER)?.into(),
            };
        } else {
            let code = dlc.or(length).ok_or(MEMBER)?;
            draft = draft.with_dlc(small(code)).ok_or(DLC)?;
            draft.len = length.map_or(draft.len, |length| small(length) as usize);
        }
        let len = draft.len;
        let payload = draft.payload()?;
        let member = self.members.bytes.as_ref();
        let bytes = match (record.payload, member) {
            (Some(bytes), _) => bytes,
            (None, Some(member)) => member.bytes(record.bytes).unwrap_or_default(),
            (None, None) => &[],
        };
        payload.copy_from_slice(bytes.get(..len).ok_or(LENGTH)?);
        Ok(draft)
    }
}

/// Returns a number that is too large for all uses as such a number.
fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
