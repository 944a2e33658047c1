//! Numbers by which gateways tell one another apart.

use std::fs;
use std::hash::{BuildHasher, Hasher as _, RandomState};
use std::path::Path;

/// The network interfaces of this machine.
const INTERFACES: &str = "/sys/class/net";

/// Returns a number that no other gateway has: a random one, with the hardware addresses of this
/// machine in it. Virtual machines that go on from one saved state draw the same random numbers;
/// on one network, their cards have different addresses.
pub(super) fn own_number() -> u64 {
    number(
        &RandomState::new(),
        &hardware_addresses(Path::new(INTERFACES)),
    )
}

fn number(random: &impl BuildHasher, addresses: &[String]) -> u64 {
    let mut hasher = random.build_hasher();
    for address in addresses {
        hasher.write(address.as_bytes());
    }
    hasher.finish()
}

/// Returns the addresses in this folder, sorted; none where the system does not show them.
fn hardware_addresses(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let all = entries.map(|entry| fs::read_to_string(entry.path().join("address")));
    let mut all: Vec<String> = all.flatten().collect();
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::{BuildHasherDefault, DefaultHasher};

    #[test]
    fn machines_with_the_same_random_numbers_differ_by_their_cards() {
        let same = BuildHasherDefault::<DefaultHasher>::default();
        let machine = |addresses: &[&str]| {
            let folder = tempfile::tempdir().unwrap();
            for (card, address) in addresses.iter().enumerate() {
                let card = folder.path().join(format!("eth{card}"));
                fs::create_dir(&card).unwrap();
                fs::write(card.join("address"), address).unwrap();
            }
            number(&same, &hardware_addresses(folder.path()))
        };
        let first = machine(&["00:00:00:00:00:00\n", "02:00:00:00:01:02\n"]);
        let second = machine(&["00:00:00:00:00:00\n", "02:00:00:00:01:03\n"]);
        assert_ne!(first, second);
        assert_eq!(
            first,
            machine(&["00:00:00:00:00:00\n", "02:00:00:00:01:02\n"])
        );
        assert!(hardware_addresses(Path::new("/nowhere")).is_empty());
    }

    #[test]
    fn each_number_is_another_one() {
        assert_ne!(own_number(), own_number());
    }
}
