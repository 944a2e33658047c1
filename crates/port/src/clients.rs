//! `inject` of `[ports.NAME]`: the rights of clients of a running gateway at the port.

use config::read;

config::settings! {
    /// The rights of clients of the control socket at a port. It changes nothing about the port
    /// itself.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct ClientSettings {
        /// Lets clients of the control socket send frames by this port (`cangate send --to PORT`).
        /// The gateway counts them apart from the frames of its routes. `inject` of `[gateway]`
        /// lets them do so by every port.
        pub inject: bool = false => read::boolean(), not "injection" "allow_inject" "allow_send";
    }
}
