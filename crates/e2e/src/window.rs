//! The state of a communication, from the statuses of its last frames.

use crate::error::SettingsError;
use crate::profiles::check_range;
use crate::receiver::{ReceptionKind, ReceptionStatus};
use core::fmt;

/// The state of a communication.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChannelState {
    /// No right frame has been received.
    NoData,
    /// Right frames have been received, but not enough to rely on them.
    Init,
    /// Data may be used.
    Valid,
    /// Too many frames are wrong or missing: data must not be used.
    Invalid,
}

impl ChannelState {
    /// Returns the name, in the form of a counter's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoData => "no_data",
            Self::Init => "init",
            Self::Valid => "valid",
            Self::Invalid => "invalid",
        }
    }
}

impl fmt::Display for ChannelState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How many right and wrong frames a state needs among the last ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowLimits {
    /// The number of frames that are looked at, 1 to 64: `WindowSize…` of AUTOSAR.
    pub size: u8,
    /// The least number of accepted frames among them: `MinOkState…`.
    pub min_ok: u8,
    /// The greatest number of wrong frames among them: `MaxErrorState…`.
    pub max_errors: u8,
}

/// The settings of a [`ChannelWindow`], for each state in which it can be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowSettings {
    /// In [`ChannelState::Init`]: what makes it valid, and with more errors invalid.
    pub init: WindowLimits,
    /// In [`ChannelState::Valid`]: what keeps it so.
    pub valid: WindowLimits,
    /// In [`ChannelState::Invalid`]: what makes it valid again.
    pub invalid: WindowLimits,
    /// Whether statuses from before the change to invalid are forgotten: `ClearToInvalid`.
    pub clears: bool,
}

impl WindowSettings {
    /// Checks the settings by the constraints of AUTOSAR.
    fn check(&self) -> Result<(), SettingsError> {
        let (init, valid, invalid) = (&self.init, &self.valid, &self.invalid);
        let number = u64::from;
        check_range("valid.size", number(valid.size), 1, 64)?;
        check_range("init.size", number(init.size), 1, number(valid.size))?;
        check_range("invalid.size", number(invalid.size), 1, number(valid.size))?;
        let room = |limits: &WindowLimits| number(limits.size.saturating_sub(limits.max_errors));
        // Each window has room for a frame that is ok.
        let most = number(valid.size - 1);
        check_range("valid.max_errors", valid.max_errors.into(), 0, most)?;
        let most = number(valid.max_errors.min(init.size - 1));
        check_range("init.max_errors", init.max_errors.into(), 0, most)?;
        let most = number(init.max_errors.min(invalid.size - 1));
        check_range("invalid.max_errors", invalid.max_errors.into(), 0, most)?;
        check_range("valid.min_ok", valid.min_ok.into(), 1, room(valid))?;
        check_range(
            "init.min_ok",
            init.min_ok.into(),
            valid.min_ok.into(),
            room(init),
        )?;
        let least = number(init.min_ok);
        check_range(
            "invalid.min_ok",
            invalid.min_ok.into(),
            least,
            room(invalid),
        )
    }
}

/// The state machine that judges a communication by the statuses of its last frames.
///
/// It follows the E2E state machine of AUTOSAR's *E2E Protocol Specification* (document 849,
/// `PRS_E2EProtocol`, R19-11; from memory, and compared with public descriptions, not with the
/// document's figures) with `transitToInvalidExtended` off:
///
/// * The frame with which [`ChannelState::NoData`] ends is not counted.
/// * Accepted frames are *ok*; frames with a [`ReceptionStatus::Wrong`] are errors. Repeated ones,
///   those with a wrong sequence, the first one, and times without a frame are neither.
/// * From a state with a smaller window to one with a larger one, only the frames of the smaller
///   window count further.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChannelWindow {
    settings: WindowSettings,
    state: ChannelState,
    /// The last frames, one bit each, the last one in bit 0: whether it was ok, or an error.
    ok: u64,
    errors: u64,
}

impl ChannelWindow {
    /// Creates a window without frames.
    ///
    /// # Errors
    /// [`SettingsError::Range`]: the sizes of windows are 1 to 64, and that of valid is the
    /// greatest; `min_ok` does not decrease, and `max_errors` does not increase, from valid to init
    /// to invalid; both together fit into the window.
    pub fn new(settings: WindowSettings) -> Result<Self, SettingsError> {
        settings.check()?;
        Ok(Self {
            settings,
            state: ChannelState::NoData,
            ok: 0,
            errors: 0,
        })
    }

    /// Returns the state.
    #[must_use]
    pub const fn state(&self) -> ChannelState {
        self.state
    }

    /// Takes the status of a received frame, and returns the new state.
    pub fn add(&mut self, status: &ReceptionStatus) -> ChannelState {
        let is_error = matches!(status, ReceptionStatus::Wrong(_));
        let is_ok = matches!(status.kind(), ReceptionKind::Ok | ReceptionKind::SomeLost);
        if self.state == ChannelState::NoData {
            if !is_error {
                self.state = ChannelState::Init;
            }
            return self.state;
        }
        self.push(is_ok, is_error)
    }

    /// Takes the absence of a frame when one was due, and returns the new state.
    pub fn add_absence(&mut self) -> ChannelState {
        if self.state == ChannelState::NoData {
            return self.state;
        }
        self.push(false, false)
    }

    fn push(&mut self, is_ok: bool, is_error: bool) -> ChannelState {
        self.ok = self.ok << 1 | u64::from(is_ok);
        self.errors = self.errors << 1 | u64::from(is_error);
        let limits = match self.state {
            ChannelState::NoData | ChannelState::Init => self.settings.init,
            ChannelState::Valid => self.settings.valid,
            ChannelState::Invalid => self.settings.invalid,
        };
        let mask = u64::MAX >> (64 - u32::from(limits.size));
        let has_errors = (self.errors & mask).count_ones() > u32::from(limits.max_errors);
        let is_enough = (self.ok & mask).count_ones() >= u32::from(limits.min_ok);
        let next = match self.state {
            _ if is_enough && !has_errors => ChannelState::Valid,
            ChannelState::Init if !has_errors => ChannelState::Init,
            _ => ChannelState::Invalid,
        };
        if next != self.state {
            self.ok &= mask;
            self.errors &= mask;
            if next == ChannelState::Invalid && self.settings.clears {
                (self.ok, self.errors) = (0, 0);
            }
            self.state = next;
        }
        next
    }
}
