//! Gateway files: every error has a position within the text and can be displayed; a file that is
//! accepted can be described, compiled, written back, read again, and used to decide about frames.

use crate::Target;
use crate::bytes::ByteSource;
use config::SourceText;
use frame::FrameRef;
use gateway::config::{GatewayConfig, load};
use port::PortKinds;
use route::{DecisionSink, ForwardedCopy, FrameArrival, PortId, RouteId, RoutingTable, StopReason};

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "configuration",
    run,
    words: &[
        "[gateway]\n",
        "[ports.a]\n",
        "[[routes]]\n",
        "kind = \"log\"\n",
        "kind = \"bus\"\n",
        "kind = \"socketcan\"\n",
        "read = \"-\"\n",
        "bitrate = \"500k\"\n",
        "data_bitrate = \"2M\"\n",
        "match = \"first\"\n",
        "max_hops = 6\n",
        "from = \"a\"\n",
        "to = [\"a\", \"b\"]\n",
        "id = [\"123\", \"200-2FF\", \"100:700\", \"!7DF\", \"18FF0000:1FFF0000\"]\n",
        "filter = \"123~C00007FF\"\n",
        "length = \"2-8\"\n",
        "payload = [{ at = 0, value = \"10\", mask = \"F0\" }]\n",
        "limit = { rate = \"100/s\", burst = 5, per_id = true }\n",
        "drop = true\n",
        "do = [",
        "{ and = { id = \"7FF\", len = 8, flags = \"3\", data = \"FF00\" } },",
        "{ id_offset = -256 },",
        "{ map_id = { from = \"100-1FF\", to = \"500\" } },",
        "{ move = { from = 0, to = 4, count = 2 } },",
        "{ xor_sum = { from = 0, to = -2, result = -1, init = 0 } },",
        "polynomial = \"1D\"",
        "9223372036854775807",
        "-9223372036854775808",
        "1e308",
        "nan",
        "1979-05-27T07:32:00Z",
        "'''",
        "\"\"\"",
        "\\uD800",
        "[[[[[[[[[[[[[[[[",
        "\u{FEFF}",
    ],
};

fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let source = SourceText::new("fuzz.toml", text);
    let found = match load(&source, &PortKinds::standard()) {
        Ok((config, warnings)) => {
            accepted(&config, input);
            warnings
        }
        Err(found) => {
            assert!(!found.is_empty(), "refused without a reason");
            found
        }
    };
    super::shown(&source, &found);
}

/// Checks that a configuration that was accepted works.
fn accepted(config: &GatewayConfig, input: &[u8]) {
    assert!(!config.describe().is_empty());
    let names = config.port_names();
    let table = RoutingTable::compile(&config.routes, names.len()).expect("load has compiled it");
    for port in 0..names.len() {
        std::hint::black_box(table.interest(PortId(port as u16)));
    }
    let mut memory = table.memory();
    let mut bytes = ByteSource::new(input);
    for number in 0..32_u64 {
        let frame = bytes.frame();
        let arrival = FrameArrival {
            from: PortId(u16::from(bytes.byte()) % names.len().max(1) as u16),
            now: number * 1_000_000,
            hops: bytes.below(8),
        };
        let mut sink = Strict {
            ports: names.len(),
            routes: config.routes.routes.len(),
            last: None,
        };
        table.decide(&mut memory, arrival, frame.view(), &mut sink);
    }
}

/// A sink that checks the table against the contract of [`DecisionSink`].
struct Strict {
    ports: usize,
    routes: usize,
    /// The route of the last call, and whether it was stopped.
    last: Option<(RouteId, bool)>,
}

impl Strict {
    fn about(&self, route: RouteId) {
        assert_eq!(self.last, Some((route, false)), "not taken, or stopped");
    }
}

impl DecisionSink for Strict {
    fn taken(&mut self, route: RouteId) {
        assert!((route.0 as usize) < self.routes);
        if let Some((last, _)) = self.last {
            assert!(last < route, "twice, or out of order");
        }
        self.last = Some((route, false));
    }

    fn stopped(&mut self, route: RouteId, _: StopReason) {
        self.about(route);
        self.last = Some((route, true));
    }

    fn forward(&mut self, copy: ForwardedCopy<'_>) {
        self.about(copy.route);
        assert!(usize::from(copy.to.0) < self.ports);
        let frame: FrameRef<'_> = copy.frame;
        assert!(frame.len() <= frame.kind().max_len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If seeds were rejected, the code after `load` would not be fuzzed.
    #[test]
    fn seeds_are_accepted_but_for_the_one_with_mistakes() {
        let seeds = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds/configuration");
        for entry in std::fs::read_dir(seeds).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let source = SourceText::new(&name, std::fs::read_to_string(&path).unwrap());
            match load(&source, &PortKinds::standard()) {
                Ok(_) => assert_ne!(name, "mistakes.toml"),
                Err(found) => assert_eq!(
                    name,
                    "mistakes.toml",
                    "{}",
                    config::render(&source, &found, false)
                ),
            }
        }
    }
}
