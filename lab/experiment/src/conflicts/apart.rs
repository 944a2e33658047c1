//! Limits of machines in step: their cards, their benches and their clock.

use super::Conflicts;
use crate::choices::MachineLoad;
use crate::measurement::{GatewayUnderTest, Measurement};
use crate::settings::Setting;
use guest::machine::BenchKind;

/// The slowest processor of the measured machine, as a shift: a slower one is not set up at the
/// time at which all machines start ([`guest::linked::START`]).
const SLOWEST: u8 = 4;

impl Conflicts<'_> {
    /// Checks what can be measured on several machines.
    pub(super) fn apart(&mut self, measurement: &Measurement) {
        use GatewayUnderTest::{Bpf, Cangw, OwnRules, User};
        let e = self.experiment;
        let in_guest = matches!(
            measurement,
            Measurement::Gateway(_) | Measurement::RoundTrip(_)
        );
        // The scope refuses all others.
        if !e.is_apart() || !in_guest {
            return;
        }
        self.refuse(
            e.is_real_time(),
            &[Setting::Apart, Setting::Clock],
            "machines go in step in virtual time: leave out --real-time",
        );
        self.refuse(
            e.cpu.shift() > SLOWEST,
            &[Setting::Apart, Setting::Cpu],
            "all machines start two seconds after the beginning, and a slower one is not ready by then: --cpu board:4 \
             or faster",
        );
        match e.bench {
            BenchKind::Kvaser => {
                self.refuse(
                    matches!(measurement, Measurement::RoundTrip(_)),
                    &[Setting::Apart, Setting::Task, Setting::Bench],
                    "both ends of a round trip are in one machine, which has one card on each bus between machines: \
                     --bench timed with --load eth-rx or eth-tx",
                );
                let between = matches!(
                    measurement,
                    Measurement::Gateway(Cangw | OwnRules | Bpf | User(_)) | Measurement::RoundTrip(_)
                );
                self.refuse(
                    !between,
                    &[Setting::Apart, Setting::Gateway],
                    "buses between machines end at CAN interfaces, and without a gateway nothing leads from one to \
                     the other: --gateway cangw, can-gw, bpf or user:RECEIVE-TRANSMIT",
                );
            }
            BenchKind::Timed => self.refuse(
                !matches!(e.load, MachineLoad::EthRx | MachineLoad::EthTx),
                &[Setting::Apart, Setting::Bench, Setting::Load],
                "the tester of the timed bench is in its buses, and only an Ethernet load has another end: --load \
                 eth-rx or eth-tx, or --bench kvaser",
            ),
            BenchKind::Ctucan | BenchKind::Vm | BenchKind::Vcan | BenchKind::None => self.refuse(
                true,
                &[Setting::Apart, Setting::Bench],
                "machines in step have SJA1000 cards or the timed bench: --bench kvaser, or --bench timed with --load \
                 eth-rx or eth-tx",
            ),
        }
    }
}
