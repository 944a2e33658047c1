//! The end-to-end protection that a route checks and writes, as a user requests it.

use alloc::string::String;
use e2e::ProtectionSettings;

/// The check of a message's protection when a route takes a frame.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RouteVerification {
    /// The name of the protection in the gateway file: `[e2e.NAME]`.
    pub name: String,
    /// The protection.
    pub settings: ProtectionSettings,
    /// The greatest distance of the counter from that of the last frame (`MaxDeltaCounter`): 1
    /// where no frame may be lost.
    pub max_delta: u32,
    /// The treatment of frames that are not accepted.
    pub on_wrong: WrongFrames,
}

/// The treatment of frames whose protection is wrong, or whose counter is not the next one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum WrongFrames {
    /// They are not sent ([`StopReason::E2eWrong`](crate::StopReason::E2eWrong)).
    #[default]
    Drop,
    /// They are counted and sent: their receivers notice the mistake.
    Forward,
}

/// The protection that a route writes after all of its actions.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RouteProtection {
    /// The name of the protection in the gateway file: `[e2e.NAME]`.
    pub name: String,
    /// The protection.
    pub settings: ProtectionSettings,
    /// The counter of the frames that are sent.
    pub counter: ProtectionCounter,
}

/// The counter of protected frames that a route sends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ProtectionCounter {
    /// That of the received frame: a frame that is lost before the gateway is missed behind it.
    #[default]
    Keep,
    /// A counter of the route, which has one step for each frame that it sends.
    Own,
}
