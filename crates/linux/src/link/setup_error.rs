//! Why an interface does not have the wanted settings, with the kernel's own reason.

use super::interface::LinkError;
use crate::Errno;
use crate::netlink::{Error, KernelRefusal};

/// The reason why an interface does not have the wanted settings.
#[derive(thiserror::Error, Debug)]
pub enum SetupError {
    /// The kernel gives no information about it.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// It has no bit rate.
    #[error("{0} is a {1}, which has no bit rate: leave `bitrate` out")]
    Virtual(String, String),
    /// It is in use at other bit rates.
    #[error(
        "{name} is up at {now}: `ip link set {name} down` first, or leave `bitrate` out to use its \
         present settings"
    )]
    Other {
        /// The interface.
        name: String,
        /// Its bit rates.
        now: String,
    },
    /// The kernel refuses the bit rates.
    #[error("{name} cannot be set to {wanted}: {}", refused(refusal, *fd))]
    Refused {
        /// The interface.
        name: String,
        /// The bit rates.
        wanted: String,
        /// Whether a data phase bit rate is among them.
        fd: bool,
        /// The kernel's refusal.
        refusal: KernelRefusal,
    },
    /// It is in use with other settings.
    #[error(
        "{name} is up with {now}, and its port wants {wanted}: `ip link set {name} down` first, or \
         leave that setting out"
    )]
    Settings {
        /// The interface.
        name: String,
        /// The setting as it is.
        now: String,
        /// The setting as it is wanted.
        wanted: String,
    },
    /// The kernel refuses a setting.
    #[error("{name} cannot be set to {setting}: {}", not_supported(refusal))]
    Setting {
        /// The interface.
        name: String,
        /// The setting.
        setting: String,
        /// The kernel's refusal.
        refusal: KernelRefusal,
    },
    /// The kernel refuses the restart.
    #[error(
        "{name} cannot be set to restart {ms} ms after bus-off: {refusal}; leave `restart` out, \
         and after bus-off the interface must be switched off and on"
    )]
    Restart {
        /// The interface.
        name: String,
        /// Time from bus-off to the restart, ms.
        ms: u32,
        /// The kernel's refusal.
        refusal: KernelRefusal,
    },
    /// It cannot be switched on, or off.
    #[error("{name} cannot be switched {}: {}", if *on { "on" } else { "off" }, refused(refusal, false))]
    Switch {
        /// The interface.
        name: String,
        /// Whether the interface should have been switched on.
        on: bool,
        /// The kernel's refusal.
        refusal: KernelRefusal,
    },
    /// The set-up ended after some of its changes, which stay.
    #[error("{error}; {name} {state}")]
    Incomplete {
        /// The reason.
        error: Box<SetupError>,
        /// The interface.
        name: String,
        /// The interface's state: words that follow its name.
        state: String,
    },
    /// The kernel could not be queried.
    #[error(transparent)]
    Netlink(#[from] Error),
}

/// Advice where a right is missing.
const NEEDS_RIGHT: &str = ": only root or CAP_NET_ADMIN is allowed to; give the program that \
    capability, or set it with `ip link`";

/// Returns the kernel's refusal and advice. The advice is a guess only where the kernel gives no
/// reason.
fn refused(refusal: &KernelRefusal, fd: bool) -> String {
    let hint = match (refusal.errno, &refusal.reason) {
        (Errno::PERM | Errno::ACCESS, _) => NEEDS_RIGHT,
        (_, Some(_)) => "",
        (Errno::OPNOTSUPP, None) if fd => " (does its driver support CAN FD?)",
        (Errno::INVAL | Errno::RANGE | Errno::DOM, None) => {
            " (is the bit rate or the sample point outside the controller's range?)"
        }
        _ => "",
    };
    format!("{refusal}{hint}")
}

/// Returns the kernel's refusal of a setting, and advice where the kernel gives no reason.
fn not_supported(refusal: &KernelRefusal) -> String {
    let hint = match (refusal.errno, &refusal.reason) {
        (Errno::PERM | Errno::ACCESS, _) => NEEDS_RIGHT,
        (Errno::OPNOTSUPP, None) => " (its driver does not support it: leave it out)",
        (Errno::INVAL, None) => " (does its driver support this value?)",
        _ => "",
    };
    format!("{refusal}{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's reason is printed, and a guess only where it gives none.
    #[test]
    fn a_refusal_states_the_kernels_reason() {
        let output = |errno, reason: Option<&str>, fd| {
            let reason = reason.map(Box::from);
            let error = SetupError::Refused {
                name: "can0".to_owned(),
                wanted: "500000 bit/s".to_owned(),
                fd,
                refusal: KernelRefusal {
                    errno,
                    reason,
                    offset: None,
                },
            };
            error.to_string()
        };
        assert_eq!(
            output(Errno::INVAL, Some("bitrate error 17.3% too high"), true),
            "can0 cannot be set to 500000 bit/s: Invalid argument (os error 22); the kernel reports: bitrate error 17.3% too \
             high"
        );
        let no_fd = output(Errno::OPNOTSUPP, None, true);
        assert!(no_fd.ends_with("(os error 95) (does its driver support CAN FD?)"));
        let plain = output(Errno::OPNOTSUPP, None, false);
        assert!(plain.ends_with("Operation not supported (os error 95)"));
        assert!(output(Errno::PERM, None, false).contains("CAP_NET_ADMIN"));
        let error = SetupError::Restart {
            name: "can0".to_owned(),
            ms: 70,
            refusal: Errno::OPNOTSUPP.into(),
        };
        let output = error.to_string();
        assert!(
            output.contains("70 ms after bus-off: Operation not supported (os error 95); leave")
        );
        let setting = |errno: Errno| {
            let error = SetupError::Setting {
                name: "can0".to_owned(),
                setting: "a termination of 60 ohms".to_owned(),
                refusal: errno.into(),
            };
            error.to_string()
        };
        assert_eq!(
            setting(Errno::INVAL),
            "can0 cannot be set to a termination of 60 ohms: Invalid argument (os error 22) (does its driver support \
             this value?)"
        );
        assert!(setting(Errno::PERM).contains("CAP_NET_ADMIN"));
    }
}
