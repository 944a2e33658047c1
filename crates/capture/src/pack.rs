//! Compression.

use std::io::{self, Write as _};

/// The compression of a file. The data is compressed in pieces that can be unpacked independently
/// and are concatenated, as RFC 1952 (gzip) and RFC 8878 (Zstandard) allow: data that was written
/// before a crash can be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Packing {
    /// No compression.
    #[default]
    None,
    /// gzip, `.gz`.
    Gzip,
    /// Zstandard, `.zst`.
    Zstd,
}

impl Packing {
    /// Returns the end of a file's name.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Gzip => ".gz",
            Self::Zstd => ".zst",
        }
    }

    /// Compresses the bytes and appends them to `out`, as one piece.
    pub(crate) fn pack(self, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::None => out.extend_from_slice(bytes),
            Self::Gzip => {
                let level = flate2::Compression::fast();
                let mut encoder = flate2::write::GzEncoder::new(out, level);
                encoder.write_all(bytes)?;
                encoder.finish()?;
            }
            Self::Zstd => {
                let level = ruzstd::encoding::CompressionLevel::Fastest;
                ruzstd::encoding::compress(bytes, out, level);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn pieces_behind_one_another_are_one_text() {
        let text = |from: u32| -> Vec<u8> {
            (from..from + 2000)
                .flat_map(|n| format!("(1.{n:06}) can0 123#{n:08X}\n").into_bytes())
                .collect()
        };
        let whole = [text(0), text(5000)].concat();
        let packed = |packing: Packing| {
            let mut out = Vec::new();
            packing.pack(&text(0), &mut out).unwrap();
            packing.pack(&text(5000), &mut out).unwrap();
            assert!(out.len() < whole.len() / 2, "{packing:?}: {}", out.len());
            out
        };
        let mut read = Vec::new();
        flate2::read::MultiGzDecoder::new(packed(Packing::Gzip).as_slice())
            .read_to_end(&mut read)
            .unwrap();
        assert!(read == whole);
        let packed = packed(Packing::Zstd);
        let mut rest = packed.as_slice();
        read.clear();
        while !rest.is_empty() {
            let mut decoder = ruzstd::decoding::StreamingDecoder::new(&mut rest).unwrap();
            decoder.read_to_end(&mut read).unwrap();
        }
        assert!(read == whole);
    }
}
