//! pcapng (draft-ietf-opsawg-pcapng): sections, interfaces, packets; other blocks are passed over.

use super::link::Link;
use super::{Block, Order};
use crate::bad::Fault;
use crate::name::InterfaceName;
use crate::text::Got;
use frame::text::Direction;
use frame::{FrameBuf, Nanos};

pub(crate) const SECTION: [u8; 4] = [0x0A, 0x0D, 0x0D, 0x0A];
const SECTION_TYPE: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const PACKET: u32 = 6;

// Options of an interface and of a packet.
const NAME: u16 = 2;
const RESOLUTION: u16 = 9;
const OFFSET: u16 = 14;
const FLAGS: u16 = 2;

/// The longest block that is looked at; longer ones are no frames.
const LONGEST: u64 = 32 * 1024;

/// As many interfaces can a section have here.
const MOST_INTERFACES: usize = 4096;

/// An interface of the present section.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link: Option<Link>,
    name: InterfaceName,
    /// Units of a second, from 1.
    units: u128,
    /// Seconds to be added.
    offset: i64,
}

/// Reads blocks.
#[derive(Clone, Debug)]
pub(crate) struct Pcapng {
    order: Order,
    interfaces: Vec<Interface>,
}

impl Pcapng {
    pub(crate) const fn new() -> Self {
        Self {
            order: Order::Little,
            interfaces: Vec::new(),
        }
    }

    /// The block at the beginning of `head`.
    pub(crate) fn block(&mut self, head: &[u8], frame: &mut FrameBuf) -> Block {
        let Some(start) = head.get(..12) else {
            return Block::More;
        };
        if start.starts_with(&SECTION) {
            self.order = match start.get(8..12) {
                Some([0x4D, 0x3C, 0x2B, 0x1A]) => Order::Little,
                Some([0x1A, 0x2B, 0x3C, 0x4D]) => Order::Big,
                _ => return Block::Lost(Fault::Said("a section without its byte order")),
            };
        }
        let order = self.order;
        let (Some(kind), Some(size)) = (order.u32(start, 0), order.u32(start, 4)) else {
            return Block::More;
        };
        if size < 12 || size % 4 != 0 {
            let what = "no block of pcapng begins here: its length is wrong";
            return Block::Lost(Fault::Said(what));
        }
        let size = u64::from(size);
        let known = [SECTION_TYPE, INTERFACE, OLD_PACKET, SIMPLE_PACKET, PACKET];
        if !known.contains(&kind) {
            return Block::Other(size);
        }
        if size > LONGEST {
            return match kind {
                SECTION_TYPE => {
                    self.interfaces.clear();
                    Block::Other(size)
                }
                INTERFACE => Block::Lost(Fault::Said("an interface longer than 32 KiB")),
                _ => Block::Bad(size, Fault::Said("longer than any CAN frame")),
            };
        }
        let Some(block) = head.get(..size as usize) else {
            return Block::More;
        };
        if order.u32(block, block.len() - 4).map(u64::from) != Some(size) {
            let what = "a block whose length at its end is another one";
            return Block::Lost(Fault::Said(what));
        }
        let body = block.get(8..block.len() - 4).unwrap_or_default();
        match kind {
            SECTION_TYPE => {
                self.interfaces.clear();
                Block::Other(size)
            }
            INTERFACE => self.interface(body, size),
            SIMPLE_PACKET => Block::Bad(size, Fault::Said("a packet without a time stamp")),
            OLD_PACKET => self.packet(body, true, frame),
            _ => self.packet(body, false, frame),
        }
    }

    fn interface(&mut self, body: &[u8], size: u64) -> Block {
        let number = self.interfaces.len();
        if number >= MOST_INTERFACES {
            return Block::Lost(Fault::Said("more than 4096 interfaces"));
        }
        let mut interface = Interface {
            link: self.order.u16(body, 0).and_then(|n| Link::of(n.into())),
            name: InterfaceName::numbered(number as u32),
            units: 1_000_000,
            offset: 0,
        };
        let options = body.get(8..).unwrap_or_default();
        for (code, value) in Options::new(self.order, options) {
            match (code, value) {
                (NAME, name) => {
                    let name = str::from_utf8(name).unwrap_or_default();
                    let name = name.trim_end_matches('\0');
                    // Such a name a log of lines can have, too.
                    let usable = !name.is_empty()
                        && !name.contains(|c: char| c.is_whitespace() || c.is_control());
                    if let Some(name) = InterfaceName::new(name).filter(|_| usable) {
                        interface.name = name;
                    }
                }
                (RESOLUTION, [code]) => {
                    let (base, power) = if code & 0x80 == 0 {
                        (10_u128, code & 0x7F)
                    } else {
                        (2, code & 0x7F)
                    };
                    let Some(units) = base.checked_pow(u32::from(power)) else {
                        let what = "an interface whose clock is finer than anything";
                        return Block::Lost(Fault::Said(what));
                    };
                    interface.units = units;
                }
                (OFFSET, value) if value.len() == 8 => {
                    let (low, high) = match self.order {
                        Order::Little => (0, 4),
                        Order::Big => (4, 0),
                    };
                    let word = |at| u64::from(self.order.u32(value, at).unwrap_or(0));
                    interface.offset = (word(high) << 32 | word(low)).cast_signed();
                }
                _ => {}
            }
        }
        self.interfaces.push(interface);
        Block::Other(size)
    }

    fn packet(&self, body: &[u8], old: bool, frame: &mut FrameBuf) -> Block {
        let size = body.len() + 12;
        let bad = |what| Block::Bad(size as u64, Fault::Said(what));
        let number = if old {
            self.order.u16(body, 0).map(u32::from)
        } else {
            self.order.u32(body, 0)
        };
        let word = |at| self.order.u32(body, at);
        let (Some(number), Some(high), Some(low), Some(captured), Some(rest)) =
            (number, word(4), word(8), word(12), body.get(20..))
        else {
            return bad("a packet shorter than its own header");
        };
        let Some(interface) = self.interfaces.get(number as usize) else {
            return bad("a packet of an interface that the section has not");
        };
        let Some(link) = interface.link else {
            return bad("a packet of an interface whose link type carries no CAN frames");
        };
        let Some(bytes) = rest.get(..captured as usize) else {
            return bad("a packet longer than its block");
        };
        let units = u128::from(u64::from(high) << 32 | u64::from(low));
        let Some(ns) = interface.ns(units) else {
            return bad("a time before 1970 or after 2554");
        };
        let options = rest.get((captured as usize).next_multiple_of(4)..);
        let said = Options::new(self.order, options.unwrap_or_default())
            .find(|(code, _)| *code == FLAGS)
            .and_then(|(_, value)| self.order.u32(value, 0))
            .and_then(|flags| match flags & 3 {
                1 => Some(Direction::Received),
                2 => Some(Direction::Sent),
                _ => None,
            });
        match link.read(bytes, frame) {
            Err(fault) => Block::Bad(size as u64, fault),
            Ok(None) => Block::Other(size as u64),
            Ok(Some(direction)) => Block::Frame(
                size,
                Got {
                    ns,
                    direction: said.or(direction),
                    name: interface.name,
                },
            ),
        }
    }
}

impl Interface {
    /// A time in the interface's units, as Unix time.
    fn ns(&self, units: u128) -> Option<Nanos> {
        let seconds = units / self.units;
        let part = (units % self.units).checked_mul(1_000_000_000)? / self.units;
        let seconds = i128::try_from(seconds).ok()? + i128::from(self.offset);
        let ns = seconds.checked_mul(1_000_000_000)? + i128::try_from(part).ok()?;
        Nanos::try_from(ns).ok()
    }
}

/// The options of a block, up to its end or the first that does not fit into it.
struct Options<'a> {
    order: Order,
    rest: &'a [u8],
}

impl<'a> Options<'a> {
    const fn new(order: Order, rest: &'a [u8]) -> Self {
        Self { order, rest }
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let code = self.order.u16(self.rest, 0).filter(|code| *code != 0)?;
        let len = usize::from(self.order.u16(self.rest, 2)?);
        let value = self.rest.get(4..4 + len)?;
        let next = 4 + len.next_multiple_of(4);
        self.rest = self.rest.get(next..).unwrap_or_default();
        Some((code, value))
    }
}
