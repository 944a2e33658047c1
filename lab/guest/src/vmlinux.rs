//! The kernel without its compression. Debian's kernels (bzImage) decompress themselves, and
//! emulated processors spend eight of the sixteen seconds of a boot on it. The host does it once
//! for each kernel, and QEMU starts the content: an ELF file, by its PVH entry.

use crate::error::Error;
use goblin::elf::Elf;
use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// The most that a kernel may unpack to, in bytes: ten times the size of Debian's kernels.
const LIMIT: u64 = 1 << 30;

/// The reason why a kernel is booted in its compressed form.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WrappedReason {
    /// The file is not a bzImage, or one older than boot protocol 2.08.
    #[error("it is not a bzImage whose header gives the place of its kernel")]
    Header,
    /// The compression is neither xz nor Zstandard.
    #[error("it is compressed in a way that the lab does not know ({0:02x?})")]
    Unknown(Vec<u8>),
    /// The decompressor reports an error.
    #[error("it does not decompress: {0}")]
    Broken(String),
    /// A kernel that QEMU cannot start.
    #[error("the kernel in it has no PVH entry (CONFIG_PVH)")]
    NoEntry,
}

/// Unpacks a kernel to a file, and returns whether QEMU can start it: otherwise it must be started
/// in its compressed form, and there is no file.
pub(crate) fn unpack(vmlinuz: &Path, to: &Path) -> Result<Result<(), WrappedReason>, Error> {
    let image = fs::read(vmlinuz).map_err(Error::file("read", vmlinuz))?;
    match kernel(&image) {
        Ok(elf) => {
            fs::write(to, elf).map_err(Error::file("write", to))?;
            Ok(Ok(()))
        }
        Err(why) => Ok(Err(why)),
    }
}

/// Returns the ELF file in a bzImage.
fn kernel(image: &[u8]) -> Result<Vec<u8>, WrappedReason> {
    let packed = payload(image).ok_or(WrappedReason::Header)?;
    let broken = |error: io::Error| WrappedReason::Broken(error.to_string());
    let mut elf = Vec::new();
    // Four more bytes follow either form: the unpacked length.
    if packed.starts_with(b"\xfd7zXZ\0") {
        let mut reader = XzReader::new(packed, false).take(LIMIT);
        reader.read_to_end(&mut elf).map_err(broken)?;
    } else if packed.starts_with(b"\x28\xb5\x2f\xfd") {
        let reader = StreamingDecoder::new(packed);
        let reader = reader.map_err(|error| WrappedReason::Broken(error.to_string()))?;
        reader.take(LIMIT).read_to_end(&mut elf).map_err(broken)?;
    } else {
        let start = packed.iter().take(6).copied().collect();
        return Err(WrappedReason::Unknown(start));
    }
    if has_entry(&elf) {
        Ok(elf)
    } else {
        Err(WrappedReason::NoEntry)
    }
}

/// Returns the compressed kernel, by the header that the boot protocol describes
/// (Documentation/arch/x86/boot.rst: `setup_sects`, `payload_offset`, `payload_length`).
fn payload(image: &[u8]) -> Option<&[u8]> {
    let word = |at: usize| -> Option<usize> {
        let bytes = image.get(at..at.checked_add(4)?)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    };
    let version = u16::from_le_bytes(image.get(0x206..0x208)?.try_into().ok()?);
    if image.get(0x202..0x206)? != b"HdrS" || version < 0x208 {
        return None;
    }
    // Zero means four, for compatibility with very old kernels; the boot sector comes before them.
    let sectors = match *image.get(0x1f1)? {
        0 => 4,
        sectors => usize::from(sectors),
    };
    let start = (sectors + 1) * 512 + word(0x248)?;
    image.get(start..start.checked_add(word(0x24c)?)?)
}

/// Returns whether a note has the address of QEMU's entry point (`XEN_ELFNOTE_PHYS32_ENTRY`,
/// include/xen/interface/elfnote.h).
fn has_entry(file: &[u8]) -> bool {
    const PHYS32_ENTRY: u32 = 18;
    let Ok(elf) = Elf::parse(file) else {
        return false;
    };
    let Some(notes) = elf.iter_note_headers(file) else {
        return false;
    };
    notes
        .flatten()
        .any(|note| note.n_type == PHYS32_ENTRY && note.name.trim_end_matches('\0') == "Xen")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a bzImage that contains this payload.
    fn wrapped(packed: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 0x250];
        image[0x1f1] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x206..0x208].copy_from_slice(&[15, 2]);
        image[0x248..0x24c].copy_from_slice(&16_u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&u32::try_from(packed.len()).unwrap().to_le_bytes());
        image.resize(2 * 512 + 16, 0);
        image.extend(packed);
        image.extend([1, 2, 3]);
        image
    }

    /// `xz` of six bytes, and the length that the kernel's build appends.
    const XZ: &[u8] = &[
        0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x01, 0x69, 0x22, 0xde, 0x36, 0x02, 0x00, 0x21,
        0x01, 0x16, 0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0x01, 0x00, 0x05, 0x6b, 0x65, 0x72,
        0x6e, 0x65, 0x6c, 0x00, 0x00, 0x00, 0xab, 0x9a, 0xd2, 0x5d, 0x00, 0x01, 0x1a, 0x06, 0xc5,
        0xea, 0xc8, 0x79, 0x90, 0x42, 0x99, 0x0d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x01, 0x59, 0x5a,
        0x06, 0x00, 0x00, 0x00,
    ];

    #[test]
    fn what_the_header_states_is_taken_out() {
        assert_eq!(payload(&wrapped(b"packed")), Some(&b"packed"[..]));
        let mut old = wrapped(b"packed");
        old[0x206] = 7;
        assert_eq!(payload(&old), None);
        let mut cut = wrapped(b"packed");
        cut.truncate(2 * 512 + 18);
        assert_eq!(payload(&cut), None);
    }

    #[test]
    fn what_cannot_be_started_is_named() {
        assert_eq!(kernel(b"short"), Err(WrappedReason::Header));
        let gzip = kernel(&wrapped(b"\x1f\x8b\x08\0\0\0\0"));
        assert!(matches!(gzip, Err(WrappedReason::Unknown(_))), "{gzip:?}");
        let torn = kernel(&wrapped(&XZ[..20]));
        assert!(matches!(torn, Err(WrappedReason::Broken(_))), "{torn:?}");
        assert_eq!(kernel(&wrapped(XZ)), Err(WrappedReason::NoEntry));
    }

    proptest! {
        #[test]
        fn junk_is_no_kernel(junk: Vec<u8>, zstd: bool) {
            let mut packed = if zstd { b"\x28\xb5\x2f\xfd".to_vec() } else { b"\xfd7zXZ\0".to_vec() };
            packed.extend(&junk);
            prop_assert!(kernel(&wrapped(&packed)).is_err());
            prop_assert!(kernel(&junk).is_err());
        }
    }
}
