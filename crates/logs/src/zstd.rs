//! Zstandard (RFC 8878): concatenated frames, and the completion of a frame that breaks off.
//!
//! The decoder holds the last bytes of a frame back until the frame has ended, because later blocks
//! can refer to them: with a window of 8 MiB, these would be all of a log. So it receives only
//! complete blocks, and, where the input ends within a block, an empty last block in its place.

use ruzstd::decoding::StreamingDecoder;
use std::io::{self, BufRead, Read};

/// The beginning of a frame. That of a skippable frame is one of 16.
const FRAME: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
const SKIPPED: [u8; 3] = [0x2A, 0x4D, 0x18];

/// The maximum length of a block (`Block_Maximum_Size`), bytes.
const LONGEST: usize = 128 * 1024;

/// An empty block that is the last one of its frame.
const END: [u8; 3] = [1, 0, 0];

/// Returns whether an input with this beginning looks like Zstandard, as far as it goes. At most
/// four bytes count.
pub(crate) fn is_zstd(head: &[u8]) -> bool {
    let skipped = match head {
        [] => true,
        [first, rest @ ..] => {
            first >> 4 == 5 && (SKIPPED.starts_with(rest) || rest.starts_with(&SKIPPED))
        }
    };
    skipped || FRAME.starts_with(head) || head.starts_with(&FRAME)
}

/// Concatenated frames of Zstandard.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one, in a box, and it is the large one nearly always"
)]
pub(crate) enum ZstdInput<R: Read> {
    Between(Option<R>),
    Within(Option<StreamingDecoder<ZstdBlocks<R>, ruzstd::decoding::FrameDecoder>>),
    /// The previous frame was completed; the input is at its end.
    Torn,
}

impl<R: BufRead> ZstdInput<R> {
    pub(crate) const fn new(input: R) -> Self {
        Self::Between(Some(input))
    }
}

impl<R: BufRead> Read for ZstdInput<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self {
                Self::Between(input) => {
                    let Some(mut rest) = input.take() else {
                        return Ok(0);
                    };
                    if rest.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                    let mut magic = [0; 4];
                    rest.read_exact(&mut magic)?;
                    if magic.get(1..) == Some(&SKIPPED) {
                        skip(&mut rest)?;
                        *self = Self::Between(Some(rest));
                        continue;
                    }
                    let blocks = ZstdBlocks::begin(magic, rest)?;
                    let decoder = StreamingDecoder::new(blocks).map_err(io::Error::other)?;
                    *self = Self::Within(Some(decoder));
                }
                Self::Within(decoder) => {
                    let Some(inside) = decoder else { return Ok(0) };
                    let done = inside.read(into);
                    // The decoder wraps the error of the input.
                    if let Some(error) = inside.get_mut().failed.take() {
                        return Err(error);
                    }
                    let n = done?;
                    if n > 0 || into.is_empty() {
                        return Ok(n);
                    }
                    let stated = inside.decoder.get_checksum_from_data();
                    let is_damaged =
                        stated.is_some() && stated != inside.decoder.get_calculated_checksum();
                    let Some(blocks) = decoder.take().map(StreamingDecoder::into_inner) else {
                        return Ok(0);
                    };
                    *self = match blocks.torn {
                        true => Self::Torn,
                        false => Self::Between(Some(blocks.input)),
                    };
                    if is_damaged && !matches!(self, Self::Torn) {
                        let what = "the checksum of the data is another one";
                        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                    }
                }
                Self::Torn => {
                    *self = Self::Between(None);
                    let what = "the input ends within a block";
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
                }
            }
        }
    }
}

/// Skips the rest of a skippable frame.
fn skip(input: &mut impl Read) -> io::Result<()> {
    let mut len = [0; 4];
    input.read_exact(&mut len)?;
    let len = u64::from(u32::from_le_bytes(len));
    match io::copy(&mut input.take(len), &mut io::sink())? == len {
        true => Ok(()),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// A single frame, block by block.
pub(crate) struct ZstdBlocks<R> {
    input: R,
    /// Complete parts that the decoder has not read.
    ready: Vec<u8>,
    at: usize,
    /// Whether the last block was read.
    ended: bool,
    /// Whether four bytes follow the last block.
    checksum: bool,
    /// Whether the input ended within the frame.
    torn: bool,
    failed: Option<io::Error>,
}

impl<R: Read> ZstdBlocks<R> {
    /// Reads the header of a frame after its first four bytes.
    fn begin(magic: [u8; 4], mut input: R) -> io::Result<Self> {
        let mut ready = magic.to_vec();
        let mut descriptor = [0];
        input.read_exact(&mut descriptor)?;
        let [descriptor] = descriptor;
        let single = descriptor & 0x20 != 0;
        let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
        let size = match descriptor >> 6 {
            0 => usize::from(single),
            power => 1 << power,
        };
        let mut rest = vec![0; usize::from(!single) + dictionary + size];
        input.read_exact(&mut rest)?;
        ready.push(descriptor);
        ready.append(&mut rest);
        Ok(Self {
            input,
            ready,
            at: 0,
            ended: false,
            checksum: descriptor & 4 != 0,
            torn: false,
            failed: None,
        })
    }

    /// Reads the next complete block.
    fn next(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.at = 0;
        let mut header = [0; 3];
        self.input.read_exact(&mut header)?;
        let [low, middle, high] = header;
        let word = u32::from_le_bytes([low, middle, high, 0]);
        let size = (word >> 3) as usize;
        // A block of one repeated byte contains only that byte.
        let size = if word >> 1 & 3 == 1 { 1 } else { size };
        if size > LONGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.ready.resize(header.len() + size, 0);
        let (place, rest) = self.ready.split_at_mut(header.len());
        place.copy_from_slice(&header);
        self.input.read_exact(rest)?;
        self.ended = word & 1 == 1;
        if self.ended && self.checksum {
            let mut checksum = [0; 4];
            match self.input.read_exact(&mut checksum) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => self.torn = true,
                done => done?,
            }
            self.ready.extend_from_slice(&checksum);
        }
        Ok(())
    }
}

impl<R: Read> Read for ZstdBlocks<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.ready.len() && !self.ended {
            match self.next() {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    (self.torn, self.ended) = (true, true);
                    self.ready = END.to_vec();
                    self.ready
                        .resize(END.len() + if self.checksum { 4 } else { 0 }, 0);
                }
                Err(error) => {
                    let kind = error.kind();
                    self.failed = Some(error);
                    return Err(kind.into());
                }
            }
        }
        let rest = self.ready.get(self.at..).unwrap_or_default();
        let n = rest.len().min(into.len());
        for (place, byte) in into.iter_mut().zip(rest) {
            *place = *byte;
        }
        self.at += n;
        Ok(n)
    }
}
