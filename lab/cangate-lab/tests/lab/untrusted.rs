//! The recipes of docs/secure.md for WireGuard and MACsec, between two network namespaces.

use super::documents::typed;
use super::lab;
use super::script::{parts, printed};

/// Returns the page's block of commands that has this line.
fn recipe(line: &str) -> String {
    let blocks = typed("secure.md");
    let mut found = blocks.into_iter().filter(|block| block.contains(line));
    let block = found.next().unwrap();
    assert!(found.next().is_none(), "{line}");
    block
}

/// The frames of both directions arrive, and the network between has none of them in clear text.
#[test]
#[ignore = "boots a guest"]
fn frames_pass_by_wireguard_and_by_macsec_as_the_page_states() {
    let Some(_lab) = lab() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        format!("--file {}", path.display())
    };
    let wireguard = recipe("wg genkey");
    // The other machine's key is there after these lines.
    let (keys, rest) = wireguard.split_once("ip link add wg0").unwrap();
    let files = [
        file("wireguard-keys.sh", keys.to_owned()),
        file("wireguard.sh", format!("ip link add wg0{rest}")),
        file("macsec.sh", recipe("type macsec")),
    ];
    let arguments = format!(
        "--fast --bench none --kernel 6.1 --timeout 300 {}",
        files.join(" ")
    );
    let text = printed(&arguments, "untrusted.sh");
    let steps = parts(&text);
    let sent = "123#11223344AABBCCDD\n18FEF100#55667788DEADBEEF\n";
    for way in ["without", "wireguard", "macsec"] {
        let received = steps[way];
        assert_eq!(received, sent.repeat(2), "{way}");
        let network = steps[format!("{way} on the network").as_str()];
        let mut counts = network.lines().map(|line| line.parse::<u32>().unwrap());
        let [packets, clear] = [counts.next().unwrap(), counts.next().unwrap()];
        // A packet, at least, in each direction.
        assert!(packets >= 2, "{way}: {packets} packets");
        let expected = if way == "without" { 4 } else { 0 };
        assert_eq!(clear, expected, "{way}: frames in clear text");
    }
}
