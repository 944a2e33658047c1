//! The key space: `cangate/VEHICLE/BUS/out/CLASS` for frames that come from a vehicle's bus, and
//! `cangate/VEHICLE/BUS/in/CLASS` for those that are to be sent on it.

use crate::class::FrameClass;

/// The first chunk of all keys.
pub const ROOT: &str = "cangate";

/// Maximum length of the name of a vehicle or a bus, bytes.
pub const LONGEST_NAME: usize = 64;

/// The end of a bus at which a program is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BusSide {
    /// In the vehicle, with the gateway that has the bus.
    #[default]
    Vehicle,
    /// At the far end: it gets what the vehicle's bus has, and sends to it.
    Operator,
}

impl BusSide {
    /// The words of a file of settings.
    pub const WORDS: [(&'static str, Self); 2] =
        [("vehicle", Self::Vehicle), ("operator", Self::Operator)];

    const fn published(self) -> &'static str {
        match self {
            Self::Vehicle => "out",
            Self::Operator => "in",
        }
    }

    const fn received(self) -> &'static str {
        match self {
            Self::Vehicle => "in",
            Self::Operator => "out",
        }
    }
}

/// The keys of one bus of one vehicle, seen from one side.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct BusKey {
    vehicle: String,
    bus: String,
}

impl BusKey {
    /// Returns the keys of a bus; `None` if one of the names is not [`is_name`].
    #[must_use]
    pub fn new(vehicle: &str, bus: &str) -> Option<Self> {
        (is_name(vehicle) && is_name(bus)).then(|| Self {
            vehicle: vehicle.to_owned(),
            bus: bus.to_owned(),
        })
    }

    /// Returns the key under which this side publishes the frames of a class.
    #[must_use]
    pub fn to_publish(&self, side: BusSide, class: FrameClass) -> String {
        let Self { vehicle, bus } = self;
        let (way, class) = (side.published(), class.word());
        format!("{ROOT}/{vehicle}/{bus}/{way}/{class}")
    }

    /// Returns the key expression of all that the other side publishes.
    #[must_use]
    pub fn to_receive(&self, side: BusSide) -> String {
        let Self { vehicle, bus } = self;
        let way = side.received();
        format!("{ROOT}/{vehicle}/{bus}/{way}/*")
    }
}

/// Returns whether a text can be the name of a vehicle or a bus: one chunk of a key, without the
/// characters that have a meaning in key expressions (`* $ # ? /`) or at a chunk's begin (`@`).
#[must_use]
pub fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !text.is_empty() && text.len() <= LONGEST_NAME && text.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zenoh::key_expr::KeyExpr;

    #[test]
    fn the_two_sides_meet() {
        let key = BusKey::new("truck-7", "can0").unwrap();
        for (from, to) in [
            (BusSide::Vehicle, BusSide::Operator),
            (BusSide::Operator, BusSide::Vehicle),
        ] {
            let received = KeyExpr::new(key.to_receive(to)).unwrap();
            let own = KeyExpr::new(key.to_receive(from)).unwrap();
            for class in FrameClass::ALL {
                let published = KeyExpr::new(key.to_publish(from, class)).unwrap();
                assert!(received.includes(&published));
                assert!(!own.intersects(&published));
            }
        }
    }

    #[test]
    fn names_are_single_chunks() {
        for good in ["truck-7", "WVWZZZ1JZXW000001", "a", "can0.1_x"] {
            assert!(is_name(good), "{good}");
            assert!(KeyExpr::new(good).is_ok());
        }
        for wrong in ["", "a/b", "*", "a*", "$*", "@x", "ä", "a b", "?", "#"] {
            assert!(!is_name(wrong), "{wrong}");
            assert_eq!(BusKey::new("v", wrong), None);
        }
        assert!(!is_name(&"x".repeat(65)));
    }
}
