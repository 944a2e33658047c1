//! Random changes of seeds, for a runner that is not guided by coverage. The same seed gives the
//! same sequence of inputs on every machine.

/// The greatest length of an input, in bytes.
pub const LONGEST: usize = 4096;

/// Random numbers: SplitMix64 (Steele, Lea, Flood, 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Starts a sequence.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next random number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// Returns a number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % (end.max(1) as u64)) as usize
    }
}

/// A generator of inputs from seeds.
#[derive(Clone, Debug)]
pub struct Mutator<'a> {
    random: Random,
    seeds: &'a [Vec<u8>],
    words: &'a [&'a str],
    input: Vec<u8>,
    /// The index of the next seed; the seeds themselves come first, unchanged.
    next_seed: usize,
}

impl<'a> Mutator<'a> {
    /// Creates a generator from seeds and words to insert.
    #[must_use]
    pub fn new(seed: u64, seeds: &'a [Vec<u8>], words: &'a [&'a str]) -> Self {
        Self {
            random: Random::new(seed),
            seeds,
            words,
            input: Vec::with_capacity(LONGEST),
            next_seed: 0,
        }
    }

    /// Returns the next input: each seed once unchanged, then a random one with 1 to 16 changes.
    pub fn input(&mut self) -> &[u8] {
        self.input.clear();
        if let Some(seed) = self.seeds.get(self.next_seed) {
            self.next_seed += 1;
            self.input.extend_from_slice(seed);
            return &self.input;
        }
        if let Some(seed) = self.seeds.get(self.random.below(self.seeds.len())) {
            self.input.extend_from_slice(seed);
        }
        for _ in 0..1_usize << self.random.below(5) {
            self.change();
        }
        self.input.truncate(LONGEST);
        &self.input
    }

    fn change(&mut self) {
        let at = self.random.below(self.input.len() + 1);
        match self.random.below(8) {
            0 => self.write(at, |old, random| old ^ (1 << random.below(8))),
            1 => self.write(at, |_, random| random.number() as u8),
            2 => {
                const EDGES: [u8; 10] = [0, 1, 0x7F, 0x80, 0xFF, b'\n', b' ', b'#', b'"', b'9'];
                self.write(at, |_, random| EDGES[random.below(EDGES.len())]);
            }
            3 => {
                let byte = self.random.number() as u8;
                self.input.insert(at, byte);
            }
            4 => {
                let end = (at + 1 + self.random.below(16)).min(self.input.len());
                self.input.drain(at.min(end)..end);
            }
            5 => {
                // Repeat a piece of the input.
                let end = (at + 1 + self.random.below(32)).min(self.input.len());
                let piece = self.input[at.min(end)..end].to_vec();
                self.insert(&piece);
            }
            6 => {
                // Insert a piece of another seed.
                let other = &self.seeds.get(self.random.below(self.seeds.len()));
                if let Some(other) = other.filter(|other| !other.is_empty()) {
                    let from = self.random.below(other.len());
                    let end = (from + 1 + self.random.below(64)).min(other.len());
                    self.insert(&other[from..end]);
                }
            }
            _ => {
                let word = self.words.get(self.random.below(self.words.len()));
                if let Some(word) = word {
                    self.insert(word.as_bytes());
                }
            }
        }
    }

    fn write(&mut self, at: usize, value: impl FnOnce(u8, &mut Random) -> u8) {
        if let Some(byte) = self.input.get_mut(at) {
            *byte = value(*byte, &mut self.random);
        }
    }

    fn insert(&mut self, piece: &[u8]) {
        let at = self.random.below(self.input.len() + 1);
        self.input.splice(at..at, piece.iter().copied());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_inputs_and_another_gives_others() {
        let seeds = vec![b"one".to_vec(), b"twenty".to_vec()];
        let inputs = |seed| -> Vec<Vec<u8>> {
            let mut mutator = Mutator::new(seed, &seeds, &["word"]);
            (0..1000).map(|_| mutator.input().to_vec()).collect()
        };
        let first = inputs(1);
        assert_eq!(first[..2], seeds);
        assert_eq!(first, inputs(1));
        assert_ne!(first, inputs(2));
        assert!(first.iter().any(|i| i.windows(4).any(|w| w == b"word")));
        assert!(first.iter().all(|input| input.len() <= LONGEST));
    }

    #[test]
    fn no_seeds_and_no_words_are_no_problem() {
        let mut mutator = Mutator::new(1, &[], &[]);
        assert!((0..1000).any(|_| !mutator.input().is_empty()));
    }
}
