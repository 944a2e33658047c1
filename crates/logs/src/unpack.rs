//! Unpacking of gzip and Zstandard during reading.

use crate::zstd::{ZstdInput, is_zstd};
use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufReader, Cursor, Read};

/// The beginning of a gzip file (RFC 1952).
const GZIP: [u8; 2] = [0x1F, 0x8B];

/// Number of bytes that determine how an input is packed.
const HEAD: usize = 4;

/// The bytes that were read ahead to determine how the input is packed, and the rest of the input.
type Whole<R> = BufReader<io::Chain<Cursor<Vec<u8>>, R>>;

/// Reads an input and unpacks it, if it begins as gzip or Zstandard. Concatenated pieces, as
/// written by `cangate capture`, are one log. A read blocks as long as a read of the input does,
/// and one read of this can be several of the input: it is for files, and for callers that may
/// block.
pub struct UnpackedInput<R: Read>(UnpackState<R>);

enum UnpackState<R: Read> {
    Unread(Option<R>),
    Plain(Whole<R>),
    Gzip(Box<MultiGzDecoder<Whole<R>>>),
    Zstd(Box<ZstdInput<Whole<R>>>),
}

impl<R: Read> UnpackedInput<R> {
    /// Creates a reader that has not read anything yet.
    pub const fn new(input: R) -> Self {
        Self(UnpackState::Unread(Some(input)))
    }

    /// Determines how the input is packed.
    fn begin(mut input: R) -> io::Result<UnpackState<R>> {
        let mut head = Vec::with_capacity(HEAD);
        // The first bytes decide: with a pipe that has a short first line, it does not wait for
        // more.
        while head.len() < HEAD {
            let mut more = [0; HEAD];
            let room = more.get_mut(head.len()..).unwrap_or_default();
            let n = match input.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            head.extend(room.iter().take(n));
            let gzip = GZIP.starts_with(&head) || head.starts_with(&GZIP);
            if n == 0 || !(gzip || is_zstd(&head)) {
                break;
            }
        }
        let (gzip, zstd) = (
            head.starts_with(&GZIP),
            head.len() == HEAD && is_zstd(&head),
        );
        let whole = BufReader::new(Cursor::new(head).chain(input));
        Ok(if gzip {
            UnpackState::Gzip(Box::new(MultiGzDecoder::new(whole)))
        } else if zstd {
            UnpackState::Zstd(Box::new(ZstdInput::new(whole)))
        } else {
            UnpackState::Plain(whole)
        })
    }
}

impl<R: Read> Read for UnpackedInput<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match &mut self.0 {
                UnpackState::Unread(input) => match input.take() {
                    Some(input) => self.0 = Self::begin(input)?,
                    None => return Ok(0),
                },
                UnpackState::Plain(input) => return input.read(into),
                UnpackState::Gzip(input) => {
                    return input.read(into).map_err(|error| unpacking("gzip", error));
                }
                UnpackState::Zstd(input) => {
                    return input
                        .read(into)
                        .map_err(|error| unpacking("Zstandard", error));
                }
            }
        }
    }
}

/// The error for packed data that breaks off or is damaged.
#[derive(thiserror::Error, Debug)]
#[error("{what} cannot be unpacked any further: {source}")]
struct TornInput {
    what: &'static str,
    source: io::Error,
}

/// Returns whether the error means that the end of data packed by gzip or Zstandard is missing or
/// damaged. The data that was unpacked before that was returned, and is valid. Otherwise the input
/// itself cannot be read.
#[must_use]
pub fn is_torn(error: &io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(<dyn std::error::Error + Send + Sync>::is::<TornInput>)
}

fn unpacking(what: &'static str, source: io::Error) -> io::Error {
    use io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
    let kind = source.kind();
    // These are the unpackers' own errors; an input's own errors have error numbers of the system.
    let own = matches!(kind, InvalidData | InvalidInput | Other | UnexpectedEof);
    if own && source.raw_os_error().is_none() {
        return io::Error::new(kind, TornInput { what, source });
    }
    source
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use std::io::Write as _;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        compress_to_vec(bytes, CompressionLevel::Fastest)
    }

    fn unpack(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        UnpackedInput::new(bytes).read_to_end(&mut out)?;
        Ok(out)
    }

    #[test]
    fn what_is_packed_is_unpacked_and_the_rest_stays() {
        let text: Vec<u8> = (0..5000_u32).flat_map(u32::to_le_bytes).collect();
        let (a, b) = text.split_at(7000);
        assert_eq!(unpack(&text).unwrap(), text);
        for pack in [gzip, zstd] {
            assert_eq!(unpack(&pack(&text)).unwrap(), text);
            // Concatenated pieces.
            assert_eq!(unpack(&[pack(a), pack(b)].concat()).unwrap(), text);
        }
        for short in [&b""[..], b"a", &GZIP[..1], &[0x28, 0xB5, 0x2F]] {
            assert_eq!(unpack(short).unwrap(), short);
        }
    }

    /// Returns the data that can be unpacked before an error, and the error.
    fn until_torn(bytes: &[u8]) -> (Vec<u8>, Option<io::Error>) {
        let (mut unpacked, mut out) = (UnpackedInput::new(bytes), Vec::new());
        let error = unpacked.read_to_end(&mut out).err();
        (out, error)
    }

    #[test]
    fn what_is_cut_off_is_given_up_to_there_and_reported() {
        // Larger than a block of Zstandard, so that a part can be unpacked.
        let mut state = 1_u32;
        let text: Vec<u8> = (0..400_000_u32)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                b'0' + (state >> 28) as u8
            })
            .collect();
        for (packed, name) in [(gzip(&text), "gzip"), (zstd(&text), "Zstandard")] {
            for cut in [packed.len() - 6, packed.len() / 2] {
                let (out, error) = until_torn(&packed[..cut]);
                let error = error.unwrap();
                assert!(is_torn(&error), "{error}");
                assert!(error.to_string().contains(name), "{error}");
                assert_eq!(out, text[..out.len()], "{name}");
                let least = text.len() * cut / packed.len() - 140_000;
                assert!(out.len() >= least, "{name}: {} of {least}", out.len());
            }
            // Of several pieces, all that are complete.
            let two = [&packed[..], &packed[..packed.len() / 2]].concat();
            let (out, error) = until_torn(&two);
            assert!(error.is_some_and(|error| is_torn(&error)));
            assert!(out.len() > text.len() && out.starts_with(&text), "{name}");
        }
    }

    #[test]
    fn an_input_that_cannot_be_read_is_not_torn() {
        struct FailingInput;
        impl Read for FailingInput {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::from_raw_os_error(5))
            }
        }
        let text = vec![7; 50_000];
        for packed in [gzip(&text), zstd(&text)] {
            let begin = &packed[..packed.len() / 2];
            let mut unpacked = UnpackedInput::new(begin.chain(FailingInput));
            let error = unpacked.read_to_end(&mut Vec::new()).unwrap_err();
            assert!(!is_torn(&error), "{error}");
        }
    }
}
