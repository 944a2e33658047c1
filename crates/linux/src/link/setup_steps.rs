//! The steps of setting up a CAN interface, and what an error leaves of them.

use super::interface::NetLink;
use super::modes::ControlMode;
use super::saved::{IFF_UP, IFLA_CAN_RESTART_MS, head, switch_off, with_options};
use super::setup::{LinkSetup, RestartDelay, words};
use super::setup_error::SetupError;
use crate::Errno;
use crate::netlink::{Error, KernelRefusal, attribute};

/// Sends a request to the kernel, which answers with a refusal or none.
type KernelRequest<'a> = &'a mut dyn FnMut(Vec<u8>) -> Result<Option<KernelRefusal>, Error>;

/// The changes of an interface by a set-up that has not ended.
#[derive(Default)]
struct SetupChanges {
    /// It was up, and was switched off.
    off: bool,
    /// It has the wanted bit rates.
    rate: bool,
}

impl LinkSetup {
    /// Switches an interface off, sets it up, and switches it on. Returns a note about a default
    /// that was not applied. An error also states what was changed before it.
    ///
    /// The changes are not taken back: the kernel cannot remove the bit rate of an interface that
    /// had none.
    pub(super) fn set_up(
        &self,
        kernel: KernelRequest<'_>,
        link: &NetLink,
    ) -> Result<Option<String>, SetupError> {
        let mut changes = SetupChanges::default();
        self.run_steps(kernel, link, &mut changes).map_err(|error| {
            let state = match (changes.off, changes.rate) {
                (false, false) => return error,
                (true, false) => "was switched off".to_owned(),
                (off, true) => {
                    let down = if off {
                        "was switched off"
                    } else {
                        "stays down"
                    };
                    format!("{down}, and is now set to {}", words(self.rate))
                }
            };
            SetupError::Incomplete {
                error: Box::new(error),
                name: link.name.clone(),
                state,
            }
        })
    }

    fn run_steps(
        &self,
        kernel: KernelRequest<'_>,
        link: &NetLink,
        changes: &mut SetupChanges,
    ) -> Result<Option<String>, SetupError> {
        if link.up {
            let refused = kernel(switch_off(link.index))?;
            Self::switched(&link.name, false, refused)?;
            changes.off = true;
        }
        if let Some(refusal) = kernel(self.request(link.index))? {
            return Err(self.refused(kernel, link, refusal, changes)?);
        }
        changes.rate = true;
        for (setting, body) in self.settings.requests(link.index) {
            if let Some(refusal) = kernel(body)? {
                return Err(SetupError::Setting {
                    name: link.name.clone(),
                    setting,
                    refusal,
                });
            }
        }
        let restart = self.restart(kernel, link)?;
        let refused = kernel(head(link.index, IFF_UP))?;
        Self::switched(&link.name, true, refused)?;
        Ok(restart)
    }

    /// Returns the error for the refusal of the request with the bit rates. If it also has settings
    /// of CAN FD, requests without one of them show what is refused. Where a right is missing, the
    /// kernel refuses these, too, so that they are not sent.
    fn refused(
        &self,
        kernel: KernelRequest<'_>,
        link: &NetLink,
        refusal: KernelRefusal,
        changes: &mut SetupChanges,
    ) -> Result<SetupError, SetupError> {
        let name = link.name.clone();
        let non_iso = self.settings.mode(ControlMode::NonIso);
        let mut without_delay = self.settings;
        without_delay.delay = None;
        let suspects = [
            self.settings
                .delay
                .map(|delay| (delay.words(), without_delay)),
            non_iso.map(|on| {
                let without = self.settings.with_mode(ControlMode::NonIso, None);
                (ControlMode::NonIso.words(on), without)
            }),
        ];
        let is_right_missing = matches!(refusal.errno, Errno::PERM | Errno::ACCESS);
        let suspects = suspects.into_iter().flatten();
        for (setting, settings) in suspects.filter(|_| !is_right_missing) {
            let without = Self { settings, ..*self };
            if kernel(without.request(link.index))?.is_none() {
                changes.rate = true;
                return Ok(SetupError::Setting {
                    name,
                    setting,
                    refusal,
                });
            }
        }
        Ok(SetupError::Refused {
            name,
            wanted: words(self.rate),
            fd: self.rate.data().is_some(),
            refusal,
        })
    }

    fn switched(
        interface: &str,
        on: bool,
        refused: Option<KernelRefusal>,
    ) -> Result<(), SetupError> {
        let error = |refusal| SetupError::Switch {
            name: interface.to_owned(),
            on,
            refusal,
        };
        refused.map_or(Ok(()), |refusal| Err(error(refusal)))
    }

    /// Sets the restart, by a separate request, so that a refusal can be attributed to it. A note
    /// states that a default was not applied.
    fn restart(
        &self,
        kernel: KernelRequest<'_>,
        link: &NetLink,
    ) -> Result<Option<String>, SetupError> {
        let (ms, interface) = (self.restart.ms(), &link.name);
        let mut data = Vec::new();
        attribute(&mut data, IFLA_CAN_RESTART_MS, &ms.to_ne_bytes());
        match (kernel(with_options(link.index, &data))?, self.restart) {
            (None, _) => Ok(None),
            (Some(refusal), RestartDelay::Asked(_)) => Err(SetupError::Restart {
                name: interface.clone(),
                ms,
                refusal,
            }),
            (Some(refusal), RestartDelay::Default(_)) => Ok(Some(format!(
                "{interface} is set up without a restart after bus-off, which its driver refuses \
                 ({refusal}): after bus-off, the interface must be switched off and on"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::{ControllerSettings, DelayCompensation};
    use super::*;
    use frame::wire::BitRate;

    /// Sets up an interface by a kernel that refuses some requests, by their order from 0. Returns
    /// the error, and the number of requests.
    fn refused(up: bool, refuses: impl Fn(usize) -> Option<Errno>) -> (String, usize) {
        let mut settings = ControllerSettings::default();
        settings.delay = Some(DelayCompensation::Off);
        settings.termination = Some(120);
        let setup = LinkSetup {
            rate: BitRate::new(500_000, Some(2_000_000)).unwrap(),
            sample_point: 0,
            data_sample_point: 0,
            restart: RestartDelay::Asked(100),
            settings,
        };
        let link = NetLink {
            name: "can0".to_owned(),
            up,
            ..NetLink::default()
        };
        let mut requests = 0;
        let result = setup.set_up(
            &mut |_| {
                requests += 1;
                Ok(refuses(requests - 1).map(Into::into))
            },
            &link,
        );
        (result.unwrap_err().to_string(), requests)
    }

    #[test]
    fn an_error_states_what_was_changed_before_it() {
        let now = "is now set to 500000 bit/s, data phase 2000000 bit/s";
        // The bit rates, and the termination, which the kernel refuses.
        let (error, _) = refused(false, |at| (at == 1).then_some(Errno::INVAL));
        assert!(error.contains("a termination of 120 ohms"), "{error}");
        assert!(
            error.ends_with(&format!("; can0 stays down, and {now}")),
            "{error}"
        );
        let (error, _) = refused(true, |at| (at == 2).then_some(Errno::INVAL));
        assert!(
            error.ends_with(&format!("; can0 was switched off, and {now}")),
            "{error}"
        );
        // A request without the refused setting sets the bit rates, too.
        let (error, requests) = refused(false, |at| (at == 0).then_some(Errno::OPNOTSUPP));
        assert!(error.contains("no tdc") && error.ends_with(now), "{error}");
        assert_eq!(requests, 2);
        let (error, _) = refused(true, |at| (at > 0).then_some(Errno::INVAL));
        assert!(error.ends_with("; can0 was switched off"), "{error}");
        let (error, _) = refused(false, |_| Some(Errno::INVAL));
        assert!(!error.contains("; can0"), "nothing was changed: {error}");
    }

    #[test]
    fn without_the_right_the_kernel_is_asked_once() {
        for errno in [Errno::PERM, Errno::ACCESS] {
            let (error, requests) = refused(false, |_| Some(errno));
            assert!(error.contains("CAP_NET_ADMIN"), "{error}");
            assert_eq!(requests, 1);
        }
    }
}
