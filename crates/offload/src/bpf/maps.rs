//! Writing and reading of maps.

use super::Error;
use super::contents::MapContents;
use super::error::whole;
use super::layout::{Limit, PortCount, RouteCount};
use aya::Ebpf;
use aya::maps::{Array, HashMap, Map, MapData, PerCpuArray};
use std::os::fd::AsFd;

macro_rules! pod {
    ($($type:ty),*) => {$(
        // SAFETY: `Plain`: no padding, and every bit pattern is a value.
        #[allow(unsafe_code)]
        unsafe impl aya::Pod for $type {}
    )*};
}

pod!(Limit, RouteCount, PortCount);

fn wrong(map: &'static str, why: impl Into<String>) -> Error {
    Error::Map {
        map,
        why: why.into(),
    }
}

fn data<'a>(ebpf: &'a Ebpf, name: &'static str) -> Result<&'a MapData, Error> {
    match ebpf.map(name) {
        Some(Map::Array(data) | Map::PerCpuArray(data) | Map::HashMap(data)) => Ok(data),
        _ => Err(wrong(name, "it is not in the object")),
    }
}

/// The memory of a map, mapped into this process.
struct MappedMap {
    at: *mut std::ffi::c_void,
    len: usize,
}

impl MappedMap {
    fn new(map: &MapData, name: &'static str, len: usize) -> Result<Self, Error> {
        use rustix::mm::{MapFlags, ProtFlags, mmap};
        // SAFETY: a new mapping at an address that the kernel chooses does not alias memory of
        // Rust.
        #[allow(unsafe_code)]
        let at = unsafe {
            mmap(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                map.fd().as_fd(),
                0,
            )
        };
        match at {
            Ok(at) => Ok(Self { at, len }),
            Err(error) => Err(wrong(name, format!("it cannot be mapped: {error}"))),
        }
    }
}

impl Drop for MappedMap {
    fn drop(&mut self) {
        // SAFETY: these are the address and length of the mapping that `mmap` returned, and no
        // other pointer into it exists.
        #[allow(unsafe_code)]
        let _ = unsafe { rustix::mm::munmap(self.at, self.len) };
    }
}

/// Writes the contents of an array map, from its beginning, all at once.
pub(crate) fn write(ebpf: &Ebpf, contents: &MapContents<'_>) -> Result<(), Error> {
    let MapContents {
        name,
        value_size,
        bytes,
    } = *contents;
    let map = data(ebpf, name)?;
    let info = map.info().map_err(|error| wrong(name, whole(&error)))?;
    if info.value_size() as usize != value_size || !value_size.is_multiple_of(8) {
        return Err(wrong(
            name,
            format!(
                "the object's values have {} bytes, ours {value_size}",
                info.value_size()
            ),
        ));
    }
    if contents.len() > info.max_entries() as usize {
        return Err(wrong(name, "it is too small"));
    }
    if bytes.is_empty() {
        return Ok(());
    }
    let mapped = MappedMap::new(map, name, bytes.len())?;
    // SAFETY: the mapping has at least as many bytes, because the map has as many values of the
    // same size, which is a multiple of 8, so that the kernel puts no gaps between them. A new
    // mapping does not overlap.
    #[allow(unsafe_code)]
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), mapped.at.cast::<u8>(), bytes.len());
    }
    Ok(())
}

/// Writes rate limits. They contain locks, so that their map cannot be mapped into memory.
pub(crate) fn write_limits(ebpf: &mut Ebpf, limits: &[Limit]) -> Result<(), Error> {
    let name = "limits";
    let map = ebpf
        .map_mut(name)
        .ok_or_else(|| wrong(name, "it is not in the object"))?;
    let mut array: Array<_, Limit> =
        Array::try_from(map).map_err(|error| wrong(name, whole(&error)))?;
    for (at, limit) in limits.iter().enumerate() {
        array
            .set(at as u32, limit, 0)
            .map_err(|error| wrong(name, whole(&error)))?;
    }
    Ok(())
}

/// Flag: the kernel copies the value under its lock.
const BPF_F_LOCK: u64 = 4;
/// `struct id_key` and `struct bucket`.
type IdKey = [u32; 2];
type Bucket = [u64; 3];

/// Copies the state of rate limits from another table. `pairs` are the numbers of a limit there and
/// here.
pub(crate) fn inherit_limits(
    from: &Ebpf,
    to: &mut Ebpf,
    pairs: &[(u32, u32)],
) -> Result<(), Error> {
    if pairs.is_empty() {
        return Ok(());
    }
    let (limits, ids) = ("limits", "ids");
    let missing = |name| wrong(name, "it is not in the object");
    let map = from.map(limits).ok_or_else(|| missing(limits))?;
    let old: Array<_, Limit> = map.try_into().map_err(|e| wrong(limits, whole(&e)))?;
    let map = to.map_mut(limits).ok_or_else(|| missing(limits))?;
    let mut new: Array<_, Limit> = map.try_into().map_err(|e| wrong(limits, whole(&e)))?;
    let mut per_id = false;
    for (there, here) in pairs {
        let was = old
            .get(there, BPF_F_LOCK)
            .map_err(|e| wrong(limits, whole(&e)))?;
        per_id |= was.ids != 0;
        new.set(*here, Limit { lock: 0, ..was }, 0)
            .map_err(|e| wrong(limits, whole(&e)))?;
    }
    if !per_id {
        return Ok(());
    }
    let map = from.map(ids).ok_or_else(|| missing(ids))?;
    let old: HashMap<_, IdKey, Bucket> = map.try_into().map_err(|e| wrong(ids, whole(&e)))?;
    let map = to.map_mut(ids).ok_or_else(|| missing(ids))?;
    let mut new: HashMap<_, IdKey, Bucket> = map.try_into().map_err(|e| wrong(ids, whole(&e)))?;
    for key in old.keys() {
        let [limit, id] = key.map_err(|e| wrong(ids, whole(&e)))?;
        let here = pairs.iter().find(|(there, _)| *there == limit);
        if let Some((_, here)) = here
            && let Ok([_, low, high]) = old.get(&[limit, id], BPF_F_LOCK)
        {
            new.insert([*here, id], [0, low, high], 0)
                .map_err(|e| wrong(ids, whole(&e)))?;
        }
    }
    Ok(())
}

/// Returns the sums over all processors.
pub(crate) fn sums<T: aya::Pod + Default>(
    map: &Map,
    name: &'static str,
    count: usize,
    add: impl Fn(&mut T, &T),
) -> Result<Vec<T>, Error> {
    let array: PerCpuArray<_, T> =
        PerCpuArray::try_from(map).map_err(|error| wrong(name, whole(&error)))?;
    (0..count)
        .map(|at| {
            let values = array
                .get(&(at as u32), 0)
                .map_err(|error| wrong(name, whole(&error)))?;
            let mut sum = T::default();
            for value in values.iter() {
                add(&mut sum, value);
            }
            Ok(sum)
        })
        .collect()
}
