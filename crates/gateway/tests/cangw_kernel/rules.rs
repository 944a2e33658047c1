//! Random can-gw rules, as arguments of cangw.

use crate::rng::Rng;
use std::fmt::Write as _;

/// The features that a set of rules may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Whether all rules are FD rules (`-X`); otherwise all are classic rules.
    pub(crate) fd: bool,
    /// Whether rules lead from one interface to the next. A frame then passes several rules, and
    /// the kernel keeps the data that one of them writes behind the frame's length for the next
    /// one, which no second gateway on a real bus would see. So lengths stay as they are there.
    pub(crate) chain: bool,
    /// Whether the kernel resolves negative indices of CRC8 rules (CVE-2026-31570 is fixed).
    pub(crate) negative_crc8: bool,
    /// can-gw's module parameter.
    pub(crate) max_hops: u8,
}

/// A rule.
pub(crate) struct Drawn {
    /// The arguments after `cangw -A`.
    pub(crate) text: String,
    /// Raw IDs close to the limits of its filter.
    pub(crate) ids: Vec<u32>,
    /// Whether it has a filter, so that the kernel may keep it in another list than other rules.
    pub(crate) filtered: bool,
}

const EFF: u32 = 0x8000_0000;
const RTR: u32 = 0x4000_0000;
const ERR: u32 = 0x2000_0000;

pub(crate) fn rule(rng: &mut Rng, shape: Shape, interfaces: &[String; 3]) -> Drawn {
    let mut options: Vec<String> = Vec::new();
    let back = !shape.chain && shape.max_hops == 1 && rng.one_in(8);
    let (source, destination) = if shape.chain {
        let source = rng.below(3);
        (source, (source + 1 + rng.below(2)) % 3)
    } else if back {
        (0, 0)
    } else {
        (0, 1 + rng.below(2))
    };
    options.push(format!("-s {}", interfaces[source]));
    options.push(format!("-d {}", interfaces[destination]));
    if shape.fd {
        options.push("-X".into());
    }
    if back || (shape.chain && rng.one_in(3)) {
        options.push("-i".into());
    }
    if rng.one_in(4) {
        options.push("-t".into());
    }
    if rng.one_in(5) {
        options.push(format!("-u {:X}", rng.word()));
    }
    if rng.one_in(4) {
        let most = usize::from(shape.max_hops) + usize::from(rng.one_in(10));
        options.push(format!("-l {}", 1 + rng.below(most)));
    }
    let mut ids = Vec::new();
    let filtered = !rng.one_in(3);
    if filtered {
        let (id, mask) = filter(rng);
        ids.push(id);
        let sign = if rng.one_in(4) { '~' } else { ':' };
        options.push(format!("-f {id:X}{sign}{mask:X}"));
    }
    let modifies = modifications(rng, shape, &mut options);
    if (modifies && rng.one_in(2)) || rng.one_in(40) {
        checksums(rng, shape, &mut options);
    }
    // getopt takes options in any order.
    for i in (1..options.len()).rev() {
        options.swap(i, rng.below(i + 1));
    }
    // A vcan does not echo on its own: no socket would see the output.
    options.push("-e".into());
    Drawn {
        text: options.join(" "),
        ids,
        filtered,
    }
}

fn filter(rng: &mut Rng) -> (u32, u32) {
    let number = rng.word() & 0x1FFF_FFFF;
    match rng.below(12) {
        0 | 1 => (number & 0x7FF, 0xC000_07FF),
        2 | 3 => (number | EFF, 0xDFFF_FFFF),
        4 => (number & 0x7FF, 0x7FF),
        5 => (number & 0x7FF | RTR, RTR | 0x7F0),
        6 => (number & 0x7FF, EFF | rng.pick(&[0, 0x700, 0x1FFF_F000])),
        7 => (number | EFF, EFF | rng.pick(&[0, 0x1FFF_0000, 0xFF00])),
        8 => (number, rng.word() & rng.word() & !ERR),
        9 => (0, rng.pick(&[0, RTR, EFF, EFF | RTR])),
        10 => (ERR | (number & 0x7FF), 0xC000_07FF),
        _ => (ERR | (number & 0x1FF), ERR | (rng.word() & 0x1FF)),
    }
}

fn modifications(rng: &mut Rng, shape: Shape, options: &mut Vec<String>) -> bool {
    let mut operations = vec!["AND", "OR", "XOR", "SET"];
    let count = rng.pick(&[0, 1, 1, 1, 2, 2, 3, 4]);
    for _ in 0..count {
        let operation = operations.remove(rng.below(operations.len()));
        let letters: &[char] = match (shape.fd, shape.chain) {
            (false, false) => &['I', 'L', 'D'],
            (true, false) => &['I', 'L', 'D', 'F'],
            (false, true) => &['I', 'D'],
            (true, true) => &['I', 'D', 'F'],
        };
        let mut elements: String = letters.iter().filter(|_| rng.one_in(2)).collect();
        if elements.is_empty() {
            elements.push(rng.pick(letters));
        }
        if rng.one_in(2) {
            elements = elements.chars().rev().collect();
        }
        let mut id = match (operation, rng.below(4)) {
            ("AND", 0 | 1) => !(1 << rng.below(32)),
            ("AND", 2) => rng.word() | 0xE000_0000,
            ("OR" | "XOR", 0 | 1) => 1 << rng.below(29),
            ("SET", 0) => rng.word() & 0x7FF,
            ("SET", 1) => rng.word() & 0x1FFF_FFFF | EFF,
            _ => rng.word(),
        };
        if shape.chain {
            // In a remote frame, the data that its buffer keeps for the next rule is not visible.
            id &= !RTR;
        }
        if shape.fd && operation != "AND" {
            // The kernel makes FD frames remote, which no bus has, and cangate refuses such a rule.
            id &= !RTR;
        }
        let most = if shape.fd { 64 } else { 8 };
        let len = match rng.below(4) {
            0 => rng.byte(),
            1 => rng.byte() & 15,
            _ => rng.below(most + 1) as u8,
        };
        let data = rng.hex(most);
        options.push(if shape.fd {
            format!(
                "-M {operation}:{elements}:{id:X}.{:X}.{len:X}.{data}",
                rng.byte()
            )
        } else {
            format!("-m {operation}:{elements}:{id:X}.{len:X}.{data}")
        });
    }
    count > 0
}

fn checksums(rng: &mut Rng, shape: Shape, options: &mut Vec<String>) {
    let size: i64 = if shape.fd { 64 } else { 8 };
    let index = |rng: &mut Rng, negative: bool| {
        let outside = i64::from(rng.one_in(100));
        if negative && rng.one_in(2) {
            -1 - rng.below(size as usize) as i64 - outside * size
        } else {
            rng.below(size as usize) as i64 + outside * size
        }
    };
    let which = 1 + rng.below(3);
    if which & 1 != 0 {
        let [from, to, result] = [(); 3].map(|()| index(rng, true));
        options.push(format!("-x {from}:{to}:{result}:{:X}", rng.byte()));
    }
    if which & 2 != 0 {
        let [from, to, result] = [(); 3].map(|()| index(rng, shape.negative_crc8));
        let mut text = format!("-c {from}:{to}:{result}:{:X}:{:X}:", rng.byte(), rng.byte());
        // An arbitrary table, so that a wrong index into it becomes visible.
        let _ = write!(text, "{}", rng.hex(256));
        options.push(text);
        match rng.below(4) {
            0 => {}
            1 => options.push(format!("-p 1:{:X}", rng.byte())),
            2 => options.push(format!("-p 2:{}", rng.hex(16))),
            _ => options.push("-p 3:".into()),
        }
    }
}

/// Returns a rule's text with a mistake in it, or with a change that may be one.
pub(crate) fn spoiled(rng: &mut Rng, text: &str) -> String {
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let at = rng.below(words.len());
    match rng.below(8) {
        0 => {
            words.remove(at);
        }
        1 => {
            let again = words[at].clone();
            words.insert(at, again);
        }
        // Interfaces stay: the test is not about whether `vcax` exists.
        _ if words[at].starts_with("cgt") || words[at] == "-s" || words[at] == "-d" => {}
        2 => {
            let end = rng.below(words[at].len() + 1);
            words[at].truncate(end);
        }
        3 => {
            let end = rng.below(words[at].len() + 1);
            let put = rng.pick(&["0", "F", ":", ".", "-", "G", "~", "I", "1", "x"]);
            words[at].insert_str(end, put);
        }
        _ => {
            let mut bytes = words[at].clone().into_bytes();
            let place = rng.below(bytes.len());
            bytes[place] = rng.pick(b"0189AFGILDXSTmMxcplfti:.~-");
            words[at] = String::from_utf8(bytes).unwrap();
        }
    }
    words.retain(|word| !word.is_empty());
    words.join(" ")
}
