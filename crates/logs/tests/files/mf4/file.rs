//! Writes MF4 files, as far as tests need it.

/// 2024-04-08 09:10:11.350
pub(super) const START: u64 = 1_712_567_411_350_000_000;

/// Types of channels and of their values.
pub(super) const FIXED: u8 = 0;
pub(super) const VARIABLE: u8 = 1;
pub(super) const MASTER: u8 = 2;
pub(super) const VIRTUAL: u8 = 3;
pub(super) const MAXIMUM: u8 = 5;
pub(super) const LITTLE: u8 = 0;
pub(super) const BIG: u8 = 1;
pub(super) const FLOAT: u8 = 4;
pub(super) const BYTES: u8 = 10;

/// A file under construction. Blocks are written before those that link to them, except those that
/// [`MdfFile::link`] links later.
pub(super) struct MdfFile {
    pub(super) bytes: Vec<u8>,
}

/// A channel: name, type, type of value, first bit in the record, number of bits, link to data.
pub(super) type ChannelRow<'a> = (&'a str, u8, u8, usize, u32, u64);

impl MdfFile {
    /// `unfinished`: the flags of a file that was not finished.
    pub(super) fn new(unfinished: Option<u16>) -> Self {
        let mut bytes = if unfinished.is_some() {
            b"UnFinMF "
        } else {
            b"MDF     "
        }
        .to_vec();
        bytes.extend(b"4.11    a test  \0\0\0\0\x9B\x01");
        bytes.resize(60, 0);
        bytes.extend(unfinished.unwrap_or(0).to_le_bytes());
        bytes.resize(64, 0);
        let mut file = Self { bytes };
        let mut data = START.to_le_bytes().to_vec();
        data.resize(32, 0);
        // Its first file history is required by other readers.
        file.block(b"HD", &[0; 6], &data);
        let history = file.block(b"FH", &[0; 2], &[0; 16]);
        file.link(64, 1, history);
        file
    }

    pub(super) fn block(&mut self, kind: &[u8; 2], links: &[u64], data: &[u8]) -> u64 {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let at = self.bytes.len() as u64;
        self.bytes.extend([&b"##"[..], kind, &[0; 4]].concat());
        let length = 24 + 8 * links.len() + data.len();
        self.bytes.extend((length as u64).to_le_bytes());
        self.bytes.extend((links.len() as u64).to_le_bytes());
        self.bytes
            .extend(links.iter().flat_map(|link| link.to_le_bytes()));
        self.bytes.extend(data);
        at
    }

    /// Sets a link of a block that is there already.
    pub(super) fn link(&mut self, block: u64, number: usize, to: u64) {
        let at = block as usize + 24 + 8 * number;
        self.bytes[at..at + 8].copy_from_slice(&to.to_le_bytes());
    }

    pub(super) fn text(&mut self, text: &str) -> u64 {
        let mut text = text.as_bytes().to_vec();
        text.resize((text.len() + 1).next_multiple_of(8), 0);
        self.block(b"TX", &[], &text)
    }

    /// Writes channels; returns the first one. A master is a time with a conversion by `factor`.
    pub(super) fn channels(&mut self, rows: &[ChannelRow<'_>], factor: f64) -> u64 {
        let mut next = 0;
        for (name, kind, value, bit, bits, data) in rows.iter().rev() {
            let master = matches!(*kind, MASTER | VIRTUAL);
            let name = self.text(name);
            let conversion = if master && factor != 1.0 {
                let mut data = [1, 0, 0, 0, 0, 0, 2, 0].to_vec();
                data.extend(
                    [0.0, 0.0, 0.0, factor]
                        .iter()
                        .flat_map(|n: &f64| n.to_le_bytes()),
                );
                self.block(b"CC", &[0; 4], &data)
            } else {
                0
            };
            let mut fields = vec![*kind, u8::from(master), *value, (bit % 8) as u8];
            fields.extend((*bit as u32 / 8).to_le_bytes());
            fields.extend(bits.to_le_bytes());
            fields.resize(72, 0);
            next = self.block(b"CN", &[next, 0, name, 0, conversion, *data, 0, 0], &fields);
        }
        next
    }

    /// Writes a group of records. `flags`: 1 for values of variable length, 2 for events of a bus.
    pub(super) fn group(
        &mut self,
        next: u64,
        channels: u64,
        (id, cycles, flags, size): (u64, u64, u16, u32),
    ) -> u64 {
        let name = self.text("CAN7");
        let mut fields = [id.to_le_bytes(), cycles.to_le_bytes()].concat();
        fields.extend(flags.to_le_bytes());
        fields.extend(*b".\0\0\0\0\0");
        fields.extend(size.to_le_bytes());
        fields.resize(32, 0);
        self.block(b"CG", &[next, channels, name, 0, 0, 0], &fields)
    }

    /// Writes the groups that share data, after those that are there.
    pub(super) fn data_group(&mut self, id_size: u8, group: u64, data: u64) -> u64 {
        let first = self.block(
            b"DG",
            &[self.first(), group, data, 0],
            &[id_size, 0, 0, 0, 0, 0, 0, 0],
        );
        self.link(64, 0, first);
        first
    }

    fn first(&self) -> u64 {
        u64::from_le_bytes(self.bytes[88..96].try_into().unwrap())
    }
}
