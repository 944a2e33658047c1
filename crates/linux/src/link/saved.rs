//! The settings of a CAN interface, to set another one up in the same way: the interface that its
//! card gets when the kernel's driver has the card again.

use super::controller::{IFLA_CAN_BITTIMING, IFLA_CAN_DATA_BITTIMING};
use super::interface::{IFINFO, IFLA_IFNAME, IFLA_INFO_DATA, IFLA_INFO_KIND, IFLA_LINKINFO};
use super::interface::{IFLA_TXQLEN, LinkError, RTM_NEWLINK, raw};
use super::modes::IFLA_CAN_CTRLMODE;
use crate::Errno;
use crate::netlink::{
    Error, KernelRefusal, NetlinkSocket, attribute, attributes, inner, nested, number, text,
};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// `uapi/linux/can/netlink.h`.
pub(super) const IFLA_CAN_RESTART_MS: u16 = 6;

pub(super) const IFF_UP: u32 = 1;

/// Time for which another card may keep the wanted name.
const NAME_TIMEOUT: Duration = Duration::from_secs(2);

/// The settings of a CAN interface: name, bit timing, modes, restart, queue length, and whether it
/// is on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SavedSettings {
    /// The interface's name.
    pub name: String,
    up: bool,
    queue: u32,
    /// Attributes of `IFLA_INFO_DATA` as they are set.
    options: Vec<(u16, Vec<u8>)>,
}

impl SavedSettings {
    /// Queries the kernel about an interface.
    ///
    /// # Errors
    /// [`LinkError`].
    pub fn read(name: &str) -> Result<Self, LinkError> {
        let body = raw(name)?;
        Ok(read(&body))
    }

    /// Sets up an interface, which must be down, and gives it the name. Settings that the kernel
    /// refuses are left out.
    ///
    /// # Errors
    /// The settings that were left out, as text.
    pub fn restore(&self, interface: &str) -> Result<(), String> {
        let fail = |error: &dyn std::fmt::Display| format!("{interface}: {error}");
        let index = super::NetLink::find(interface).map_err(|e| fail(&e))?.index;
        let mut netlink = NetlinkSocket::open().map_err(|e| fail(&e))?;
        let mut left_out = Vec::new();
        if self.name != interface {
            // Cards that return together can get one another's names: each gives up the name that
            // it was given before it requests its own.
            let _ = change(&mut netlink, rename(index, &format!("back{index}")));
        }
        for (what, body) in self.requests(index, interface) {
            let mut answer = change(&mut netlink, body.clone());
            let begin = Instant::now();
            while is_taken(&answer) && begin.elapsed() < NAME_TIMEOUT {
                std::thread::sleep(Duration::from_millis(5));
                answer = change(&mut netlink, body.clone());
            }
            match answer {
                Ok(None) => {}
                Ok(Some(refusal)) => left_out.push(format!("{what} ({refusal})")),
                Err(error) => left_out.push(format!("{what} ({error})")),
            }
        }
        if left_out.is_empty() {
            return Ok(());
        }
        Err(format!(
            "{interface} did not get back its {}",
            left_out.join(", ")
        ))
    }

    /// Returns the requests to the kernel, in order.
    fn requests(&self, index: u32, interface: &str) -> Vec<(&'static str, Vec<u8>)> {
        let start = |flags: u32| head(index, flags);
        let mut all = Vec::new();
        if self.name != interface {
            all.push(("name", rename(index, &self.name)));
        }
        let mut data = Vec::new();
        for (kind, value) in &self.options {
            attribute(&mut data, *kind, value);
        }
        if !data.is_empty() {
            let mut info = Vec::new();
            attribute(&mut info, IFLA_INFO_KIND, b"can");
            nested(&mut info, IFLA_INFO_DATA, &data);
            let mut body = start(0);
            nested(&mut body, IFLA_LINKINFO, &info);
            all.push(("bit timing and modes", body));
        }
        let mut body = start(0);
        attribute(&mut body, IFLA_TXQLEN, &self.queue.to_ne_bytes());
        all.push(("queue length", body));
        if self.up {
            all.push(("being up", start(IFF_UP)));
        }
        all
    }

    /// Returns the settings as one word, which can be passed to another process.
    #[must_use]
    pub fn to_word(&self) -> String {
        let mut word = format!("{}/{}/{}", self.name, u8::from(self.up), self.queue);
        for (kind, value) in &self.options {
            let _ = write!(word, "/{kind}=");
            for byte in value {
                let _ = write!(word, "{byte:02x}");
            }
        }
        word
    }

    /// Parses the result of [`SavedSettings::to_word`].
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        let mut parts = word.split('/');
        let name = parts.next().filter(|name| !name.is_empty())?.to_owned();
        let up = parts.next()? == "1";
        let queue = parts.next()?.parse().ok()?;
        let option = |part: &str| {
            let (kind, value) = part.split_once('=')?;
            Some((kind.parse().ok()?, bytes(value)?))
        };
        let options = parts.map(option).collect::<Option<_>>()?;
        Some(Self {
            name,
            up,
            queue,
            options,
        })
    }
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = hex.bytes().collect();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let pairs = digits.chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    pairs
        .map(|pair| u8::from_str_radix(pair?, 16).ok())
        .collect()
}

/// Returns `struct ifinfomsg` of an interface, with these flags set.
pub(super) fn head(index: u32, flags: u32) -> Vec<u8> {
    let mut body = vec![0; 4];
    body.extend(index.to_ne_bytes());
    body.extend(flags.to_ne_bytes());
    body.extend(flags.to_ne_bytes());
    body
}

/// Returns `struct ifinfomsg` that switches an interface off.
pub(super) fn switch_off(index: u32) -> Vec<u8> {
    let mut body = head(index, 0);
    if let Some(mask) = body.last_chunk_mut::<4>() {
        *mask = IFF_UP.to_ne_bytes();
    }
    body
}

/// Returns whether another interface has the wanted name.
fn is_taken(answer: &Result<Option<KernelRefusal>, Error>) -> bool {
    matches!(answer, Ok(Some(refusal)) if refusal.errno == Errno::EXIST)
}

/// Requests another name for an interface that is down.
fn rename(index: u32, name: &str) -> Vec<u8> {
    let mut body = head(index, 0);
    attribute(&mut body, IFLA_IFNAME, &[name.as_bytes(), &[0]].concat());
    body
}

/// Returns the body of RTM_NEWLINK with options of a controller.
pub(super) fn with_options(index: u32, data: &[u8]) -> Vec<u8> {
    let mut info = Vec::new();
    attribute(&mut info, IFLA_INFO_KIND, b"can");
    nested(&mut info, IFLA_INFO_DATA, data);
    let mut body = head(index, 0);
    nested(&mut body, IFLA_LINKINFO, &info);
    body
}

pub(super) fn change(
    netlink: &mut NetlinkSocket,
    body: Vec<u8>,
) -> Result<Option<KernelRefusal>, Error> {
    netlink.change(RTM_NEWLINK, 0, body)
}

/// Parses these settings from the body of RTM_NEWLINK. Malformed data are left out.
fn read(body: &[u8]) -> SavedSettings {
    let mut saved = SavedSettings::default();
    let Some((head, rest)) = body.split_first_chunk::<IFINFO>() else {
        return saved;
    };
    saved.up = number(&head[8..12]).unwrap_or(0) & IFF_UP != 0;
    for (kind, value) in attributes(rest).map_while(Result::ok) {
        match kind {
            IFLA_IFNAME => saved.name = text(value),
            IFLA_TXQLEN => saved.queue = number(value).unwrap_or(0),
            IFLA_LINKINFO => {
                if let Some(data) = inner(value, IFLA_INFO_DATA) {
                    saved.options = options(data);
                }
            }
            _ => {}
        }
    }
    saved
}

fn options(data: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut all = Vec::new();
    for kind in [
        IFLA_CAN_BITTIMING,
        IFLA_CAN_DATA_BITTIMING,
        IFLA_CAN_CTRLMODE,
        IFLA_CAN_RESTART_MS,
    ] {
        let Some(value) = inner(data, kind) else {
            continue;
        };
        let mut value = value.to_vec();
        let first = number(&value).unwrap_or(0);
        match kind {
            // Without a bit rate the kernel takes the segments as they are (can_get_bittiming);
            // with both it refuses. An interface that was never set up has neither.
            IFLA_CAN_BITTIMING | IFLA_CAN_DATA_BITTIMING => {
                if first == 0 {
                    continue;
                }
                if let Some(rate) = value.first_chunk_mut::<4>() {
                    *rate = [0; 4];
                }
            }
            // `struct can_ctrlmode`: a mask of the flags to set, then the flags. The kernel reports
            // it without the mask.
            IFLA_CAN_CTRLMODE => {
                let Some(flags) = value.get(4..8).map(<[u8]>::to_vec) else {
                    continue;
                };
                if flags == [0; 4] {
                    continue;
                }
                value = [flags.clone(), flags].concat();
            }
            _ if first == 0 => continue,
            _ => {}
        }
        all.push((kind, value));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message() -> Vec<u8> {
        let mut timing = vec![0; 32];
        timing[..4].copy_from_slice(&500_000_u32.to_ne_bytes());
        timing[8] = 125;
        let mut data = Vec::new();
        attribute(&mut data, IFLA_CAN_BITTIMING, &timing);
        attribute(&mut data, IFLA_CAN_CTRLMODE, &[0, 0, 0, 0, 2, 0, 0, 0]);
        attribute(&mut data, IFLA_CAN_RESTART_MS, &100_u32.to_ne_bytes());
        attribute(&mut data, IFLA_CAN_DATA_BITTIMING, &[0; 32]);
        let mut info = Vec::new();
        nested(&mut info, IFLA_INFO_DATA, &data);
        let mut body = vec![0; IFINFO];
        body[8] = 1;
        attribute(&mut body, IFLA_IFNAME, b"can7\0");
        attribute(&mut body, IFLA_TXQLEN, &10_u32.to_ne_bytes());
        nested(&mut body, IFLA_LINKINFO, &info);
        body
    }

    #[test]
    fn settings_are_kept_as_the_kernel_takes_them() {
        let saved = read(&message());
        assert_eq!(
            (saved.name.as_str(), saved.up, saved.queue),
            ("can7", true, 10)
        );
        let kinds: Vec<u16> = saved.options.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [1, 5, 6], "the data phase was never set up");
        // No bit rate, but the segments; and the mask of the flags to set.
        assert_eq!(saved.options[0].1[..9], [0, 0, 0, 0, 0, 0, 0, 0, 125]);
        assert_eq!(saved.options[1].1, [2, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(
            SavedSettings::from_word(&saved.to_word()),
            Some(saved.clone())
        );
        let asked = saved.requests(9, "can3");
        let words: Vec<&str> = asked.iter().map(|(what, _)| *what).collect();
        assert_eq!(
            words,
            ["name", "bit timing and modes", "queue length", "being up"]
        );
        assert!(
            asked
                .iter()
                .all(|(_, body)| body[4..8] == 9_u32.to_ne_bytes())
        );
        assert_eq!(saved.requests(9, "can7").len(), 3);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let saved = read(&body);
            let _ = saved.requests(1, "x");
        }

        #[test]
        fn any_word_is_read_without_panic(word in ".{0,80}") {
            let _ = SavedSettings::from_word(&word);
        }
    }
}
