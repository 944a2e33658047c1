//! gzip and Zstandard, unpacked while they are read.

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;
use std::io::{self, BufRead, BufReader, Cursor, Read};

/// The beginning of a gzip file (RFC 1952) and of a Zstandard frame (RFC 8878).
const GZIP: [u8; 2] = [0x1F, 0x8B];
const ZSTD: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// What was read ahead to see how the input is packed, and the rest of it.
type Whole<R> = BufReader<io::Chain<Cursor<Vec<u8>>, R>>;

/// Reads an input and unpacks it, if it begins as gzip or Zstandard do. Pieces that stand one
/// behind the other, as `cangate capture` writes them, are one log. A read waits as long as a read
/// of the input does, and one read of this can be several of the input: it is for files, and for
/// whoever may wait.
pub struct Unpacked<R: Read>(State<R>);

enum State<R: Read> {
    Unread(Option<R>),
    Plain(Whole<R>),
    Gzip(Box<MultiGzDecoder<Whole<R>>>),
    Zstd(Box<Zstd<Whole<R>>>),
}

impl<R: Read> Unpacked<R> {
    /// Nothing is read yet.
    pub const fn new(input: R) -> Self {
        Self(State::Unread(Some(input)))
    }

    /// Looks how the input is packed.
    fn begin(mut input: R) -> io::Result<State<R>> {
        let mut head = Vec::with_capacity(ZSTD.len());
        // The first bytes that come decide: a pipe with a short first line is not waited for.
        while head.len() < ZSTD.len() {
            let mut more = [0; ZSTD.len()];
            let room = more.get_mut(head.len()..).unwrap_or_default();
            let n = match input.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            head.extend(room.iter().take(n));
            let packed = |magic: &[u8]| magic.starts_with(&head) || head.starts_with(magic);
            if n == 0 || !(packed(&GZIP) || packed(&ZSTD)) {
                break;
            }
        }
        let (gzip, zstd) = (head.starts_with(&GZIP), head.starts_with(&ZSTD));
        let whole = BufReader::new(Cursor::new(head).chain(input));
        Ok(if gzip {
            State::Gzip(Box::new(MultiGzDecoder::new(whole)))
        } else if zstd {
            State::Zstd(Box::new(Zstd::Between(Some(whole))))
        } else {
            State::Plain(whole)
        })
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match &mut self.0 {
                State::Unread(input) => match input.take() {
                    Some(input) => self.0 = Self::begin(input)?,
                    None => return Ok(0),
                },
                State::Plain(input) => return input.read(into),
                State::Gzip(input) => {
                    return input.read(into).map_err(|error| unpacking("gzip", error));
                }
                State::Zstd(input) => {
                    return input
                        .read(into)
                        .map_err(|error| unpacking("Zstandard", error));
                }
            }
        }
    }
}

fn unpacking(what: &str, error: io::Error) -> io::Error {
    let kind = error.kind();
    if kind == io::ErrorKind::Interrupted {
        return error;
    }
    io::Error::new(kind, format!("{what} cannot be unpacked: {error}"))
}

/// Frames of Zstandard, one behind the other.
#[expect(
    clippy::large_enum_variant,
    reason = "there is one, in a box, and it is the large one nearly always"
)]
enum Zstd<R: Read> {
    Between(Option<R>),
    Within(Option<StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>),
}

impl<R: BufRead> Read for Zstd<R> {
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
                    let decoder = StreamingDecoder::new(rest).map_err(io::Error::other)?;
                    *self = Self::Within(Some(decoder));
                }
                Self::Within(decoder) => {
                    let Some(inside) = decoder else { return Ok(0) };
                    let n = inside.read(into)?;
                    if n > 0 || into.is_empty() {
                        return Ok(n);
                    }
                    let rest = decoder.take().map(StreamingDecoder::into_inner);
                    *self = Self::Between(rest);
                }
            }
        }
    }
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
        Unpacked::new(bytes).read_to_end(&mut out)?;
        Ok(out)
    }

    #[test]
    fn what_is_packed_is_unpacked_and_the_rest_stays() {
        let text: Vec<u8> = (0..5000_u32).flat_map(u32::to_le_bytes).collect();
        let (a, b) = text.split_at(7000);
        assert_eq!(unpack(&text).unwrap(), text);
        for pack in [gzip, zstd] {
            assert_eq!(unpack(&pack(&text)).unwrap(), text);
            // Pieces one behind the other.
            assert_eq!(unpack(&[pack(a), pack(b)].concat()).unwrap(), text);
        }
        for short in [&b""[..], b"a", &GZIP[..1], &ZSTD[..3]] {
            assert_eq!(unpack(short).unwrap(), short);
        }
    }

    #[test]
    fn what_is_cut_off_is_said() {
        for (packed, name) in [(gzip(&[7; 9000]), "gzip"), (zstd(&[7; 9000]), "Zstandard")] {
            let error = unpack(&packed[..packed.len() - 6]).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
