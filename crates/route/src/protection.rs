//! End-to-end protection in a route: checked when the route takes a frame, written when it sends
//! it.

use crate::protected::{ProtectionCounter, WrongFrames};
use crate::{Route, StopReason};
use alloc::{format, string::String, vec::Vec};
use e2e::{
    CounterSource, MessageReceiver, Protection, ReceptionKind, SendingCounter, SettingsError,
};
use frame::{FrameBuf, FrameRef, Kind};

/// The compiled protections of one route.
#[derive(Clone, Debug)]
pub(crate) struct CompiledProtection {
    /// The route's index.
    pub(crate) route: u32,
    verify: Option<(Protection, u32, WrongFrames)>,
    protect: Option<(Protection, ProtectionCounter)>,
}

/// The state of a route's protections between frames.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProtectionState {
    receiver: Option<MessageReceiver>,
    counter: Option<SendingCounter>,
}

impl CompiledProtection {
    /// Compiles the protections of a route; `None` if it has none.
    ///
    /// # Errors
    /// The mistake in the settings, with the name of the protection.
    pub(crate) fn new(
        number: u32,
        route: &Route,
    ) -> Result<Option<(Self, ProtectionState)>, (String, SettingsError)> {
        if route.verify.is_none() && route.protect.is_none() {
            return Ok(None);
        }
        let mut compiled = Self {
            route: number,
            verify: None,
            protect: None,
        };
        let mut state = ProtectionState::default();
        if let Some(verify) = &route.verify {
            let wrong = |error| (verify.name.clone(), error);
            let protection = Protection::new(verify.settings).map_err(wrong)?;
            let receiver = MessageReceiver::new(&protection, verify.max_delta).map_err(wrong)?;
            state.receiver = Some(receiver);
            compiled.verify = Some((protection, verify.max_delta, verify.on_wrong));
        }
        if let Some(protect) = &route.protect {
            let wrong = |error| (protect.name.clone(), error);
            let protection = Protection::new(protect.settings).map_err(wrong)?;
            state.counter = match protect.counter {
                ProtectionCounter::Keep => None,
                ProtectionCounter::Own => Some(SendingCounter::new(&protection)),
            };
            compiled.protect = Some((protection, protect.counter));
        }
        Ok(Some((compiled, state)))
    }

    /// Checks a frame that the route takes, and reports its kind to `report`. Remote frames and
    /// error frames have no protection.
    pub(crate) fn verify(
        &self,
        state: &mut ProtectionState,
        frame: FrameRef<'_>,
        report: impl FnOnce(ReceptionKind),
    ) -> Result<(), StopReason> {
        let (Some((protection, _, on_wrong)), Some(receiver)) = (&self.verify, &mut state.receiver)
        else {
            return Ok(());
        };
        if !has_payload(frame) {
            return Ok(());
        }
        let status = receiver.check(protection, frame.id(), frame.data());
        report(status.kind());
        match on_wrong {
            WrongFrames::Drop if !status.is_accepted() => Err(StopReason::E2eWrong),
            WrongFrames::Drop | WrongFrames::Forward => Ok(()),
        }
    }

    /// Writes the protection into a copy of the frame in `buf`, and returns the copy; returns the
    /// frame itself if the route writes none.
    pub(crate) fn protect<'b>(
        &self,
        state: &mut ProtectionState,
        frame: FrameRef<'b>,
        buf: &'b mut FrameBuf,
    ) -> Result<FrameRef<'b>, StopReason> {
        let Some((protection, _)) = &self.protect else {
            return Ok(frame);
        };
        if !has_payload(frame) {
            return Ok(frame);
        }
        buf.set(frame);
        let payload = buf.buffer_mut().get_mut(..frame.len()).unwrap_or_default();
        let counter = match &mut state.counter {
            Some(own) => CounterSource::Own(own),
            None => CounterSource::Keep,
        };
        match protection.protect(frame.id(), payload, counter) {
            Ok(_) => Ok(buf.view()),
            Err(e2e::ReceptionFault::InvalidCounter { .. }) => Err(StopReason::E2eWrong),
            Err(_) => Err(StopReason::Absent),
        }
    }

    /// Returns whether the state of another table's route means the same here.
    fn continues(&self, other: &Self) -> bool {
        self.verify == other.verify && self.protect == other.protect
    }
}

/// Returns whether a frame has a payload that can be protected.
fn has_payload(frame: FrameRef<'_>) -> bool {
    let id = frame.id();
    frame.kind() != Kind::Classic || !(id.is_rtr() || id.is_err())
}

/// Compiles the protections of all routes, in the order of the routes. [`check`] must have found
/// nothing: a protection with a mistake is left out.
pub(crate) fn compile(routes: &[Route]) -> (Vec<CompiledProtection>, Vec<ProtectionState>) {
    let numbered = (0..).zip(routes);
    let compiled =
        numbered.filter_map(|(number, route)| CompiledProtection::new(number, route).ok()?);
    compiled.unzip()
}

/// Reports a mistake in the protections of a route.
pub(crate) fn check(route: &Route, report: &mut impl FnMut(String)) {
    if let Err((name, error)) = CompiledProtection::new(0, route) {
        report(format!("has the protection `{name}`: {error}"));
    }
}

/// Takes over the states of routes that were in a former table with the same protections, so that
/// counters go on. `goes_to` has the new index of each route of the former table.
pub(crate) fn adopt(
    (compiled, states): (&[CompiledProtection], &mut [ProtectionState]),
    (former, former_states): (&[CompiledProtection], &[ProtectionState]),
    goes_to: impl Fn(usize) -> Option<usize>,
) {
    for (old, state) in former.iter().zip(former_states) {
        let Some(new) = goes_to(old.route as usize).and_then(|new| u32::try_from(new).ok()) else {
            continue;
        };
        let Ok(at) = compiled.binary_search_by_key(&new, |one| one.route) else {
            continue;
        };
        if let (Some(one), Some(kept)) = (compiled.get(at), states.get_mut(at))
            && one.continues(old)
        {
            *kept = *state;
        }
    }
}
