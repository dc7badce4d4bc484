//! Mutations of inputs.

/// A deterministic generator (SplitMix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    /// Below `bound`; 0 if `bound` is 0.
    fn below(&mut self, bound: usize) -> usize {
        match bound {
            0 => 0,
            bound => (self.next() % bound as u64) as usize,
        }
    }

    fn pick<'a, T: ?Sized>(&mut self, list: &'a [&'a T]) -> Option<&'a T> {
        list.get(self.below(list.len())).copied()
    }
}

/// Fragments to insert.
const PIECES: [&str; 44] = [
    ": ",
    "- ",
    "{",
    "}",
    "[",
    "]",
    ",",
    "#",
    "&a ",
    "*a",
    "!",
    "!!str ",
    "|\n",
    ">-\n",
    "'",
    "\"",
    "%YAML 1.2\n",
    "---\n",
    "...\n",
    "? ",
    "\t",
    "\r\n",
    "\n",
    "\n  ",
    "\u{feff}",
    "\u{85}",
    "\u{2028}",
    "\u{0}",
    "\u{1f600}",
    "\\",
    "\\x41",
    "~",
    "null",
    "true",
    "0x10",
    "1e309",
    "-1",
    "99999999999999999999",
    "::/0",
    "10.0.0.0/8",
    "password: x",
    "<<: ",
    "KB1",
    "//@",
];

/// A random input of the corpus with a few changes.
pub fn mutate(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let all: Vec<&[u8]> = corpus.iter().map(Vec::as_slice).collect();
    let mut input = random.pick(&all).unwrap_or_default().to_vec();
    for _ in 0..=random.below(6) {
        let at = random.below(input.len() + 1);
        let end = (at + random.below(60)).min(input.len());
        match random.below(9) {
            0 => drop(input.drain(at..end)),
            1 => {
                let part = input.get(at..end).unwrap_or_default().to_vec();
                input.splice(at..at, part);
            }
            2 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte = random.next() as u8;
                }
            }
            3 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
            4 | 5 => {
                let piece = random.pick(&PIECES).unwrap_or_default();
                input.splice(at..at, piece.bytes());
            }
            6 => {
                let piece = random.pick(&PIECES).unwrap_or_default();
                let many = piece.repeat(random.below(2000));
                input.splice(at..at, many.bytes());
            }
            7 => swap_lines(&mut input, random),
            _ => {
                let other = random.pick(&all).unwrap_or_default();
                let from = random.below(other.len() + 1);
                let to = (from + random.below(400)).min(other.len());
                let part = other.get(from..to).unwrap_or_default();
                input.splice(at..at, part.iter().copied());
            }
        }
    }
    input
}

/// Swaps two lines: changes the structure, but every line stays valid.
fn swap_lines(input: &mut Vec<u8>, random: &mut Random) {
    let mut lines: Vec<Vec<u8>> = input
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    let (one, other) = (random.below(lines.len()), random.below(lines.len()));
    if !lines.is_empty() {
        lines.swap(one, other);
    }
    *input = lines.concat();
}
