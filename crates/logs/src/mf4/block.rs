//! The blocks of a file, and the links between them.

use crate::bad::LogFault;
use crate::byte_order::ByteOrder;

/// All numbers of blocks are little-endian.
pub(super) const LE: ByteOrder = ByteOrder::Little;

/// Size in bytes of a block's header.
pub(super) const HEADER: u64 = 24;

pub(super) const CUT: LogFault =
    LogFault::Said("this ASAM MDF file (MF4) ends within a block: was it cut off?");
const BAD: LogFault = LogFault::Said("no block of MDF begins here");
const OTHER: LogFault = LogFault::Said("a block of another kind than its link requires");

/// The file, with what its first block states.
pub(super) struct Blocks<'a> {
    file: &'a [u8],
    /// The steps that its writer did not do, because it did not finish the file (`id_unfin_flags`).
    unfinished: Option<u16>,
}

/// A block.
#[derive(Clone, Copy)]
pub(super) struct Block<'a> {
    /// The position of its first byte in the file.
    pub(super) at: u64,
    pub(super) id: &'a [u8],
    links: &'a [u8],
    /// Its data, as far as they are in the file.
    pub(super) data: &'a [u8],
    /// The file ends within it.
    pub(super) cut: bool,
}

impl Block<'_> {
    /// Returns a link; 0 is none.
    pub(super) fn link(&self, number: usize) -> u64 {
        LE.u64(self.links, number.saturating_mul(8)).unwrap_or(0)
    }

    /// Returns the position of the first byte after it, as far as it is in the file.
    pub(super) const fn end(&self) -> u64 {
        self.at + HEADER + (self.links.len() + self.data.len()) as u64
    }

    /// Returns the number of links.
    pub(super) const fn link_count(&self) -> usize {
        self.links.len() / 8
    }
}

impl<'a> Blocks<'a> {
    /// Returns `None` if the file does not have its first block.
    pub(super) fn new(file: &'a [u8]) -> Option<Self> {
        let unfinished = file.starts_with(b"UnFinMF ");
        Some(Self {
            file,
            unfinished: if unfinished {
                Some(LE.u16(file, 60)?)
            } else {
                None
            },
        })
    }

    /// Returns whether the writer did not finish the file, so that counts and lengths are open.
    pub(super) const fn is_unfinished(&self) -> bool {
        self.unfinished.is_some()
    }

    /// Returns whether links to the last blocks of data are open (bit 4).
    pub(super) fn has_open_list(&self) -> bool {
        self.unfinished.is_some_and(|flags| flags & 1 << 4 != 0)
    }

    /// Returns whether the offsets of values of variable length are open (bit 6).
    pub(super) fn has_open_offsets(&self) -> bool {
        self.unfinished.is_some_and(|flags| flags & 1 << 6 != 0)
    }

    /// Returns the block at a link.
    ///
    /// # Errors
    /// If no block begins there, or the file ends before its data.
    pub(super) fn get(&self, at: u64) -> Result<Block<'a>, LogFault> {
        let begin = usize::try_from(at).map_err(|_| BAD)?;
        let rest = self.file.get(begin..).ok_or(CUT)?;
        let header = rest.get(..HEADER as usize).ok_or(CUT)?;
        let id = header.get(..4).unwrap_or_default();
        let (length, links) = LE.u64(header, 8).zip(LE.u64(header, 16)).ok_or(CUT)?;
        let data_length = links
            .checked_mul(8)
            .and_then(|links| length.checked_sub(HEADER)?.checked_sub(links));
        // The last data block of a file that was not finished has no length, or that of its header.
        let open = self.is_unfinished() && length <= HEADER && links == 0 && id == b"##DT";
        let data_length = if open { Some(u64::MAX) } else { data_length };
        let (true, Some(data_length)) = (id.starts_with(b"##"), data_length) else {
            return Err(BAD);
        };
        let body = rest.get(HEADER as usize..).unwrap_or_default();
        let links = usize::try_from(links).ok().and_then(|n| n.checked_mul(8));
        let (links, data) = links
            .and_then(|links| body.split_at_checked(links))
            .ok_or(CUT)?;
        let in_file = data.len() as u64;
        let taken = data_length.min(in_file) as usize;
        Ok(Block {
            at,
            id,
            links,
            data: data.get(..taken).unwrap_or_default(),
            cut: data_length > in_file && !open,
        })
    }

    /// Returns the block at a link, which must be of this kind.
    pub(super) fn get_kind(&self, at: u64, id: &[u8; 4]) -> Result<Block<'a>, LogFault> {
        let block = self.get(at)?;
        if block.id == id {
            Ok(block)
        } else {
            Err(OTHER)
        }
    }

    /// Returns a text, up to its first zero; an empty one where there is none.
    pub(super) fn text(&self, at: u64) -> String {
        let block = self
            .get_kind(at, b"##TX")
            .or_else(|_| self.get_kind(at, b"##MD"));
        let data = block.map(|block| block.data).unwrap_or_default();
        let end = data.iter().position(|b| *b == 0).unwrap_or(data.len());
        let text = data.get(..end.min(MAX_TEXT)).unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }
}

/// Maximum length of a name in bytes; the rest is not used.
const MAX_TEXT: usize = 256;
