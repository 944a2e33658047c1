//! The scopes of settings: the measurements in which a setting has a meaning.
//!
//! A setting whose definition has a scope can differ from its default only in the measurements of
//! that scope. The scope has one sentence for the user: [`Experiment::check`](crate::Experiment)
//! refuses the setting elsewhere with it, and the setting's long help contains it. A setting
//! without a scope has a meaning in every measurement.

/// Defines the scopes, each with the rest of its sentence after "only".
macro_rules! scopes {
    ($($(#[doc = $doc:literal])+ $scope:ident = $only:literal;)*) => {
        /// The measurements in which a setting has a meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum SettingScope { $($(#[doc = $doc])+ $scope,)* }

        impl SettingScope {
            /// Returns what has the setting, and the words that choose it: the rest of a sentence
            /// after "only".
            #[must_use]
            pub const fn only(self) -> &'static str {
                match self { $(Self::$scope => $only,)* }
            }
        }
    };
}

scopes! {
    /// A gateway that can filter and change frames.
    Routes = "a gateway with routes filters and changes frames: --task gateway, without --gateway none, ideal or \
              baremetal:ideal";
    /// A gateway that can pass frames through virtual interfaces.
    Hops = "a gateway between CAN interfaces passes frames through virtual interfaces: --task gateway --gateway \
            cangw, can-gw, bpf or user:RECEIVE-TRANSMIT";
    /// A gateway that can be tested by a log.
    Replay = "the tester of the timed bench plays a log at its own times, to a gateway with a kernel: --bench timed \
              --task gateway --gateway cangw, can-gw, bpf, user:RECEIVE-TRANSMIT, direct or chardev";
    /// A gateway that can be measured with fewer stamps.
    Stamps = "the timed bench's tester can leave out stamps, for a gateway with a kernel: --bench timed --task \
              gateway, without --gateway baremetal";
    /// A guest with which other machines can run.
    Apart = "gateways and round trips in a guest can have other machines beside it: --task gateway or round-trip, \
             without --gateway baremetal or vm:…";
    /// A guest without inner machines.
    Plain = "a guest without inner machines supports this setting: not an image, which has no operating system \
             (--gateway baremetal…), and not yet inner machines (--gateway vm:…)";
    /// A guest.
    Guest = "a guest has a kernel with parameters: an image (--gateway baremetal…) has no operating system";
    /// A program with a priority that can be chosen.
    Process = "a gateway in user space or an end of round trips has its own priority: --gateway \
               user:RECEIVE-TRANSMIT, direct or chardev";
    /// An inner machine.
    Inner = "an inner machine has exits: --bench vm --gateway vm:host, vm:own, vm:driver, vm:vf or vm:trap";
    /// Round trips on a controller that machines can share.
    Shared = "round trips can have several machines at one controller: --bench vm --task round-trip, with --gateway \
              vm:native, vm:host, vm:own, vm:driver or vm:vf";
    /// Round trips while other machines send.
    Others = "machines other than the one that asks have this setting: --machines 2 to 8";
    /// Machines whose frames can have another order.
    Order = "several machines have an order, and a controller that shares itself orders by priority: --machines 2 \
             to 8, --gateway vm:native, vm:host, vm:own or vm:driver";
    /// Machines whose frames the controller can limit.
    Budget = "a controller that knows its functions gives other machines a budget: --machines 2 to 8, --gateway \
              vm:vf, or vm:host or vm:own with --order priority";
    /// Machines for whose frames the controller accounts.
    Incident = "a controller that knows its functions accounts for each machine's frames: --machines 2 to 8, \
                --gateway vm:vf, or vm:host with --order priority";
}
