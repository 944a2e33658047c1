//! The gateway under test: its routes, defined once, as can-gw rules and as a `gateway.toml`.

mod files;
mod interfaces;
mod routes;
pub(crate) mod sharing;

pub use files::{GatewayError, SOCKET, abridged, cangw_script, config, gateway_toml};
pub use interfaces::{INCOMING, OUTGOING, interfaces, virtuals};
pub use routes::{routes, sent_id};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::any_experiment;
    use crate::choices::{Cpu, FilterChoice, GatewayChoice, HopChoice, ModifyChoice, VirtualKind};
    use crate::settings::Experiment;
    use crate::settings::Setting;
    use frame::CanId;
    use proptest::prelude::*;
    use route::{
        DecisionSink, ForwardedCopy, FrameArrival, PortId, RouteId, RoutingTable, StopReason,
    };

    fn experiment(words: &[(Setting, &str)]) -> Experiment {
        Experiment::from_words(words.iter().copied()).unwrap()
    }

    #[derive(Default)]
    struct ForwardedCounts(Vec<(u32, u16, u32, Vec<u8>)>);

    impl DecisionSink for ForwardedCounts {
        fn taken(&mut self, _: RouteId) {}
        fn stopped(&mut self, route: RouteId, why: StopReason) {
            panic!("{route:?} {why:?}");
        }
        fn forward(&mut self, copy: ForwardedCopy<'_>) {
            let frame = copy.frame;
            self.0.push((
                copy.route.0,
                copy.to.0,
                frame.id().raw(),
                frame.data().to_vec(),
            ));
        }
    }

    /// Returns the frames to which the routing table forwards a frame of the experiment.
    fn forwarded(e: &Experiment, from: u16, id: u32, data: &[u8]) -> Vec<(u32, u16, u32, Vec<u8>)> {
        let table = RoutingTable::compile(&routes(e), interfaces(e).len()).unwrap();
        let id = CanId::from_raw(id);
        let frame = if e.payload > 8 {
            frame::Frame::fd(id, 0, data).unwrap()
        } else {
            frame::Frame::classic(id, data).unwrap()
        };
        let mut seen = ForwardedCounts::default();
        let arrival = FrameArrival {
            from: PortId(from),
            now: 0,
            hops: 0,
        };
        table.decide(&mut table.memory(), arrival, frame.view(), &mut seen);
        seen.0
    }

    /// Returns the lines of a script without its comments.
    fn commands(script: &str) -> Vec<&str> {
        script
            .lines()
            .filter(|line| !line.starts_with('#'))
            .collect()
    }

    #[test]
    fn the_rule_that_matches_is_tried_last() {
        let script = cangw_script(&experiment(&[(Setting::Filters, "list:3")])).unwrap();
        let lines: Vec<_> = script.lines().filter(|l| l.starts_with("cangw")).collect();
        // can-gw puts a new rule in front of the others: the first added is tried last.
        assert_eq!(
            lines,
            [
                "cangw -A -s gw0 -d gw1 -f 002:7FF # r2",
                "cangw -A -s gw0 -d gw1 -f 001:7FF # r1",
                "cangw -A -s gw0 -d gw1 -f 000:7FF # r0",
            ]
        );
        assert_eq!(
            sent_id(&experiment(&[(Setting::Filters, "list:3")])).raw(),
            2
        );
    }

    #[test]
    fn hops_go_round_the_virtual_interfaces() {
        let script = cangw_script(&experiment(&[(Setting::Hops, "2:2")])).unwrap();
        let lines: Vec<_> = commands(&script);
        assert_eq!(
            lines,
            [
                "modprobe can-gw max_hops=3",
                "cangw -A -s vcan1 -d gw1 -f 125:C00007FF -m SET:I:126.0.0000000000000000 # pass 2",
                "cangw -A -s vcan0 -d vcan1 -e -f 124:C00007FF -m SET:I:125.0.0000000000000000 # pass 1",
                "cangw -A -s gw0 -d vcan0 -e -f 123:C00007FF -m SET:I:124.0.0000000000000000 # pass 0",
            ]
        );
        let one = cangw_script(&experiment(&[(Setting::Hops, "5")])).unwrap();
        assert!(one.contains("max_hops=6"));
        assert!(one.contains("-s vcan0 -d vcan0 -e -i"), "{one}");
    }

    #[test]
    fn the_user_gateway_reads_its_file() {
        let e = experiment(&[
            (Setting::Gateway, "user:read-write"),
            (Setting::Filters, "sff:2"),
        ]);
        let text = gateway_toml(&e).unwrap();
        let ways = "receive = \"read\"\ntransmit = \"write\"\n";
        assert_eq!(text.matches(ways).count(), 2, "{text}");
        assert!(text.contains("realtime = 90"));
        assert_eq!(text.matches("[[routes]]").count(), 2);
        let busy = experiment(&[(Setting::Gateway, "user:ring-busy-ring-bypass")]);
        let text = gateway_toml(&busy).unwrap();
        let ways = "receive = \"ring-busy\"\ntransmit = \"ring\"\nqdisc_bypass = true\n";
        assert_eq!(text.matches(ways).count(), 2, "{text}");
        // Without this setting it would have priority 50.
        assert!(text.contains("realtime = false\n"), "{text}");
        assert_eq!(gateway_toml(&Experiment::default()), None);
    }

    #[test]
    fn routes_go_into_the_kernel_by_one_word() {
        for gateway in ["can-gw", "bpf"] {
            let text = gateway_toml(&experiment(&[(Setting::Gateway, gateway)])).unwrap();
            assert!(
                text.contains(&format!("offload = \"{gateway}\"\n")),
                "{text}"
            );
            assert!(
                !text.contains("realtime") && !text.contains("receive ="),
                "{text}"
            );
            assert!(!text.contains("max_hops"), "{text}");
            let words = [(Setting::Gateway, gateway), (Setting::Hops, "4:2:vxcan")];
            let text = gateway_toml(&experiment(&words)).unwrap();
            assert!(text.contains("max_hops = 5\n"), "{text}");
            for port in ["gw0", "gw1", "vx0", "vx0p", "vx1", "vx1p"] {
                assert!(text.contains(&format!("[ports.{port}]\n")), "{text}");
            }
        }
    }

    #[test]
    fn hops_through_pairs_go_in_at_one_end_and_come_out_at_the_other() {
        let script = cangw_script(&experiment(&[(Setting::Hops, "2:2:vxcan")])).unwrap();
        let lines: Vec<_> = commands(&script).split_off(1);
        assert_eq!(
            lines,
            [
                "cangw -A -s vx1p -d gw1 -f 125:C00007FF -m SET:I:126.0.0000000000000000 # pass 2",
                "cangw -A -s vx0p -d vx1 -f 124:C00007FF -m SET:I:125.0.0000000000000000 # pass 1",
                "cangw -A -s gw0 -d vx0 -f 123:C00007FF -m SET:I:124.0.0000000000000000 # pass 0",
            ]
        );
    }

    #[test]
    fn of_very_many_routes_a_result_has_the_ends() {
        let words = [(Setting::Gateway, "bpf"), (Setting::Filters, "eff:100000")];
        let e = experiment(&words);
        let text = gateway_toml(&e).unwrap();
        assert_eq!(text.matches("[[routes]]").count(), 100_000);
        let short = abridged(&text);
        assert_eq!(short.matches("[[routes]]").count(), 3);
        assert!(short.contains("# 99997 more"), "{short}");
        assert!(short.starts_with("[gateway]\n") && short.ends_with('\n'));
        assert!(
            short.contains("r99999") && short.contains("\"r1\""),
            "{short}"
        );
        let few = gateway_toml(&experiment(&[(Setting::Gateway, "bpf")])).unwrap();
        assert_eq!(abridged(&few), few);
        assert_eq!(sent_id(&e).raw(), 0x8000_0000 | (0x1000_0000 + 99_999));
    }

    /// Returns the same without incompatible settings, and with a gateway.
    fn fitting(any: Experiment) -> Experiment {
        let mut e = Experiment {
            gateway: any.gateway,
            traffic: any.traffic,
            load: any.load,
            payload: any.payload,
            frames: any.frames,
            filters: any.filters,
            modify: any.modify,
            hops: any.hops,
            boot: any.boot,
            seed: any.seed,
            bench: guest::machine::BenchKind::Timed,
            cpu: Cpu::Board,
            ..Experiment::default()
        };
        e.payload = match e.payload {
            n @ 3..=8 => n,
            n => [8, 12, 16, 20, 24, 32, 48, 64][usize::from(n % 8)],
        };
        if e.hops != HopChoice::NONE {
            (e.filters, e.modify) = (FilterChoice::None, ModifyChoice::None);
        }
        if !e.gateway.has_routes() {
            e.gateway = GatewayChoice::Cangw;
        }
        let devices = matches!(
            e.gateway,
            GatewayChoice::Direct { .. } | GatewayChoice::Chardev | GatewayChoice::Baremetal { .. }
        );
        if e.gateway.is_bare() {
            (e.load, e.boot) = (
                crate::choices::MachineLoad::None,
                crate::choices::Boot::default(),
            );
        }
        if e.hops != HopChoice::NONE && devices {
            e.gateway = GatewayChoice::Bpf;
        }
        if e.hops != HopChoice::NONE && e.gateway != GatewayChoice::Cangw {
            e.hops.through = VirtualKind::Vxcan;
        }
        if e.filters.count() > Some(2048) {
            // The program is compiled once per case.
            e.filters = FilterChoice::Eff(e.filters.count().unwrap_or(0) % 4096 + 1);
            e.gateway = GatewayChoice::Bpf;
        }
        e
    }

    proptest! {
        /// With all settings: the frame that is sent is taken by the last route only, its number
        /// stays the same, and the requested changes are made.
        #[test]
        fn the_last_route_takes_what_is_sent(e in any_experiment().prop_map(fitting), number: [u8; 2]) {
            prop_assert_eq!(e.check(), Ok(()));
            let mut data = vec![0xA6; usize::from(e.payload)];
            data[..2].copy_from_slice(&number);
            let all = routes(&e).routes.len() as u32;
            let mut at = (0, sent_id(&e).raw(), data.clone());
            for pass in 0..=e.hops.count {
                // A frame that goes into one end of a pair comes out of the other.
                if pass > 0 && e.hops.through == VirtualKind::Vxcan {
                    at.0 += 1;
                }
                let seen = forwarded(&e, at.0, at.1, &at.2);
                prop_assert_eq!(seen.len(), 1);
                let (route, to, id, bytes) = seen[0].clone();
                if e.hops.count == 0 {
                    prop_assert_eq!(route, all - 1);
                }
                prop_assert_eq!(to == 1, pass == e.hops.count);
                prop_assert_eq!(&bytes[..2], &number[..]);
                at = (to, id, bytes);
            }
            let same_id = at.1 == sent_id(&e).raw();
            let id_changes = e.modify == ModifyChoice::Id || e.hops.count > 0;
            prop_assert_eq!(same_id, !id_changes);
            if matches!(e.modify, ModifyChoice::Xor | ModifyChoice::Or | ModifyChoice::And) && e.payload > 2 {
                prop_assert_ne!(&at.2, &data);
            }
            if matches!(e.modify, ModifyChoice::None | ModifyChoice::Id | ModifyChoice::Copy | ModifyChoice::Set) {
                prop_assert_eq!(&at.2, &data);
            }
            if e.gateway.by_rules() {
                prop_assert!(cangw_script(&e).is_ok());
            }
            prop_assert_eq!(gateway_toml(&e).is_some(), e.gateway != GatewayChoice::Cangw);
        }
    }
}
