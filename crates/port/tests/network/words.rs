//! The settings, as users write them.

use crate::common::parse;

fn messages(kind: &str, keys: &str) -> Vec<String> {
    parse(&format!("[ports.p]\nkind = '{kind}'\n{keys}")).1
}

fn described(kind: &str, keys: &str) -> String {
    let (spec, messages) = parse(&format!("[ports.p]\nkind = '{kind}'\n{keys}"));
    assert_eq!(messages, [""; 0], "{keys}");
    spec.unwrap().describe()
}

#[test]
fn ports_in_words() {
    let cases = [
        (
            "cannelloni",
            "listen = 20000\nconnect = 'host.example:20001'\npack = '500us'\nallow = ['192.0.2.0/24', '::1']",
            "cannelloni over UDP, at 127.0.0.1:20000, to host.example:20001; frames wait 500 us for others; \
             allows 192.0.2.0/24, ::1",
        ),
        (
            "cannelloni",
            "transport = 'tcp'\nlisten = 20000",
            "cannelloni over TCP, listens at 127.0.0.1:20000, clients: 1",
        ),
        (
            "cannelloni",
            "transport = 'tcp'\nconnect = '[::1]:20000'",
            "cannelloni over TCP, connects to [::1]:20000",
        ),
        (
            "slcan",
            "listen = '[::1]:3333'",
            "slcan, listens at [::1]:3333, clients: 16",
        ),
        (
            "slcan",
            "connect = 'adapter:3333'\nbitrate = '500k'",
            "slcan, connects to adapter:3333 at 500 kbit/s",
        ),
        (
            "socketcand",
            "listen = 29536\nbeacon = '127.0.0.1:42000'\nclients = 3",
            "socketcand, serves `p` at 127.0.0.1:29536, clients: 3; beacons to 127.0.0.1:42000",
        ),
        (
            "socketcand",
            "connect = 'host:29536'\nname = 'can0'",
            "socketcand, opens `can0` at host:29536",
        ),
        (
            "ieee1722",
            "connect = 'host:17220'",
            "IEEE 1722 stream AABBCCDDEEFF0001, bus 0, at 127.0.0.1:17220, to host:17220",
        ),
        (
            "ieee1722",
            "listen = '[::]:1'\nconnect = '[::1]:2'\nstream = '0011223344550001'\nbus = 40\nversion = 2\nbrief = true",
            "IEEE 1722 stream 0011223344550001, bus 40, version 2, without stamps, at [::]:1, to [::1]:2",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\npack = '500us'\nurgent = ['000-0FF', '18FEF100']\ndelay = '20ms'\nmax_age = '100ms'",
            "IEEE 1722 stream AABBCCDDEEFF0001, bus 0, at 127.0.0.1:17220, to h:1; frames wait 500 us for others; \
             000-0FF, 18FEF100 at once; frames are handed on 20ms after their stamps and the shortest time on the way, \
             late ones at once; those older than 120ms are dropped",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\ndelay = '1ms'\nlate = 'expire'\nclock = 'common'\nallow = '192.0.2.7'",
            "IEEE 1722 stream AABBCCDDEEFF0001, bus 0, at 127.0.0.1:17220, to h:1; frames are handed on 1ms after \
             their stamps, late ones are dropped; allows 192.0.2.7",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\nreports = '1s'",
            "IEEE 1722 stream AABBCCDDEEFF0001, bus 0, at 127.0.0.1:17220, to h:1; reports each 1s",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\nmax_age = '50ms'",
            "IEEE 1722 stream AABBCCDDEEFF0001, bus 0, at 127.0.0.1:17220, to h:1; frames older than 50ms are dropped",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\nmax_transit = '2ms'",
            "IEEE 1722 stream AABBCCDDEEFF0001, bus 0, at 127.0.0.1:17220, to h:1; presentation times 2ms after the \
             stamps (TAI)",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\ndelay = 'presentation'\nbrief = true\nmax_age = '50ms'\nclock = 'common'",
            "IEEE 1722 stream AABBCCDDEEFF0001, bus 0, without stamps, at 127.0.0.1:17220, to h:1; frames are handed on \
             at their presentation times (TAI), late ones at once; those that come more than 50ms later are dropped",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\npack = '500us'\nmax_transit = '20ms'\ntimescale = 'utc'\ndelay = 'presentation'\nlate = 'expire'",
            "IEEE 1722 stream AABBCCDDEEFF0001, bus 0, at 127.0.0.1:17220, to h:1; frames wait 500 us for others; \
             presentation times 20ms after the stamps (UTC); frames are handed on at their presentation times (UTC), \
             late ones are dropped",
        ),
        (
            "multicast",
            "",
            "multicast group 239.74.163.2:43113, this machine only",
        ),
        (
            "multicast",
            "group = 'ff15:7079:7468:6f6e:6465:6d6f:6d63:6173'\nhops = 1\nallow = []",
            "multicast group [ff15:7079:7468:6f6e:6465:6d6f:6d63:6173]:43113, the local network; allows no sender",
        ),
    ];
    for (kind, keys, words) in cases {
        assert_eq!(described(kind, keys), format!("p: {words}"));
    }
}

#[test]
fn mistakes_have_their_place_and_cure() {
    let open = "every machine that can connect here can send to the buses behind this port";
    let cases = [
        ("cannelloni", "connect = 'h:1'", "port `p` needs `listen`"),
        ("cannelloni", "listen = 1", "port `p` needs `connect`"),
        (
            "cannelloni",
            "listen = 1\nconnect = 'h:1'\nclients = 2",
            "`clients` is for TCP",
        ),
        (
            "cannelloni",
            "listen = 1\nconnect = 'h:1'\npack = '1s'",
            "`pack` is at most 100 ms",
        ),
        ("cannelloni", "transport = 'tcp'", "port `p` needs `listen`"),
        (
            "cannelloni",
            "transport = 'tcp'\nlisten = 1\npack = '1ms'",
            "`pack` is for UDP",
        ),
        (
            "cannelloni",
            "transport = 'tcp'\nlisten = 1\nconnect = 'h:1'",
            "a port cannot have both `listen` and `connect`",
        ),
        (
            "cannelloni",
            "transport = 'tcp'\nlisten = '0.0.0.0:1'",
            open,
        ),
        ("slcan", "", "port `p` needs `listen`"),
        (
            "slcan",
            "listen = 'localhost:1'",
            "`listen`: `localhost:1` is not a valid ADDRESS:PORT",
        ),
        ("slcan", "listen = 0", "`listen` must be from 1 to 65535"),
        (
            "slcan",
            "connect = 'h'",
            "`connect`: `h` is not a valid HOST:PORT",
        ),
        (
            "slcan",
            "connect = 'h:1'\nbitrate = '400k'",
            "slcan has no such bit rate",
        ),
        (
            "slcan",
            "listen = 1\nbitrate = '500k'",
            "`bitrate` is for a port with `device` or `connect`",
        ),
        (
            "slcan",
            "connect = 'h:1'\nclients = 2",
            "`clients` is for a port with `listen`",
        ),
        ("slcan", "listen = '192.0.2.1:1'", open),
        (
            "slcan",
            "listen = 1\nallow = ['x']",
            "`x` is not a valid address or range of addresses",
        ),
        ("ieee1722", "", "port `p` needs `connect`"),
        (
            "ieee1722",
            "connect = 'h:1'\nbus = 32",
            "version 1 has 32 buses",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\nstream = '1'",
            "`1` is not a valid stream ID",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\nversion = 3",
            "`version` must be from 1 to 2",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\npack = '101ms'",
            "`pack` is at most 100 ms",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\ndelay = '11s'",
            "`delay` is at most 10 s",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\ndelay = '0ms'",
            "`delay` must be above 0",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\nmax_age = '0ms'",
            "`max_age` must be above 0",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\nlate = 'send'",
            "`late` is for a port with `delay`",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\nmax_age = '1s'\nqueue = 7",
            "`queue` is for a port with `delay`",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\nclock = 'common'",
            "`clock` is for a port with `delay` or `max_age`",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\ndelay = 'presented'",
            "`delay`: `presented` is neither a time nor \"presentation\"",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\ndelay = 'presentation'\nclock = 'own'",
            "presentation times are by a clock that both machines follow",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\nmax_transit = '0ms'",
            "`max_transit` must be above 0",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\nmax_transit = '501ms'",
            "`max_transit` is at most 500 ms: presentation times repeat every 4.29 s",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\nmax_transit = '2ms'\npack = '2ms'",
            "frames would leave after their presentation times: `pack` is not below `max_transit`",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\nmax_transit = '2ms'\npack = '1ms'\nbrief = true",
            "`pack` has no effect with `brief` and `max_transit`: a datagram without stamps has one time for all its \
             frames",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\ndelay = '20ms'\ntimescale = 'tai'",
            "`timescale` is for a port with `max_transit` or `delay = \"presentation\"`",
        ),
        (
            "ieee1722",
            "connect = '127.0.0.1:17220'",
            "the port would send to itself: `connect` is where it listens",
        ),
        (
            "cannelloni",
            "listen = '0.0.0.0:7'\nconnect = '127.0.0.1:7'",
            "the port would send to itself: `connect` is where it listens",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\nreports = '99ms'",
            "`reports` is from 100 ms to 60 s",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\nurgent = ['800']",
            "`800` names no identifiers",
        ),
        (
            "ieee1722",
            "connect = 'h:1'\ndelay = '20ms'\nbrief = true",
            "`delay` needs the time stamps of the other side, and `brief` streams have none",
        ),
        (
            "cannelloni",
            "listen = 1\nconnect = 'h:1'\ndelay = '20ms'",
            "port `p` has no key `delay`",
        ),
        (
            "socketcand",
            "listen = 1\nname = 'a b'",
            "`a b` is not a valid name of a bus",
        ),
        (
            "socketcand",
            "connect = 'h:1'\nbeacon = '127.0.0.1:1'",
            "`beacon` is for a server",
        ),
        ("socketcand", "listen = '[::]:1'", open),
        (
            "multicast",
            "group = '192.0.2.1'",
            "`192.0.2.1` is not a valid multicast address",
        ),
        (
            "multicast",
            "hops = 1",
            "every machine that `hops` reaches can send to the buses behind this port",
        ),
    ];
    for (kind, keys, message) in cases {
        let found = messages(kind, keys);
        assert!(
            found.iter().any(|found| found == message),
            "{kind} {keys}: {found:?}"
        );
    }
    // With a list of clients there is no warning.
    for keys in [
        "listen = '0.0.0.0:1'\nallow = '192.0.2.7'",
        "listen = '[::1]:1'",
    ] {
        assert_eq!(messages("slcan", keys), [""; 0]);
    }
}
