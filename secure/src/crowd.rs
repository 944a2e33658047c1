//! Room for handshakes: a crowd from one address does not displace those of others.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Instant;

/// Returns the handshake that gives way to a new one: of the address with the most of them, the
/// oldest. Each handshake has an address and the time when it began; `None` if there is none.
pub(crate) fn oldest_of_most<K>(
    handshakes: impl Iterator<Item = (K, IpAddr, Instant)> + Clone,
) -> Option<K> {
    let mut counts: HashMap<IpAddr, usize> = HashMap::new();
    for (_, address, _) in handshakes.clone() {
        *counts.entry(address.to_canonical()).or_default() += 1;
    }
    let most = counts.values().max().copied()?;
    let is_most = |address: IpAddr| counts.get(&address.to_canonical()) == Some(&most);
    let of_most = handshakes.filter(|(_, address, _)| is_most(*address));
    of_most
        .min_by_key(|(_, _, begun)| *begun)
        .map(|(key, ..)| key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_oldest_of_the_address_with_the_most_gives_way() {
        let begun = Instant::now();
        let handshakes = [
            ("192.0.2.1", 0),
            ("192.0.2.7", 3),
            ("::ffff:192.0.2.7", 2),
            ("192.0.2.9", 1),
        ];
        let all = handshakes.iter().enumerate();
        let all = all.map(|(place, (address, time))| {
            let begun = begun + Duration::from_secs(*time);
            (place, address.parse().unwrap(), begun)
        });
        assert_eq!(oldest_of_most(all.clone()), Some(2));
        assert_eq!(oldest_of_most(all.clone().take(1)), Some(0));
        assert_eq!(oldest_of_most(all.take(0)), None);
    }
}
