//! A table as the bytes of its maps.

use super::compile::TableImage;
use super::layout::Plain;

/// The contents of an array map, from its beginning.
pub(crate) struct MapContents<'a> {
    pub(crate) name: &'static str,
    /// The number of bytes of a value: a multiple of 8, so that the kernel puts no gaps between
    /// values.
    pub(crate) value_size: usize,
    pub(crate) bytes: &'a [u8],
}

impl<'a> MapContents<'a> {
    /// Returns the contents that consist of these values.
    pub(crate) const fn of<T: Plain>(name: &'static str, values: &'a [T]) -> Self {
        const { assert!(size_of::<T>().is_multiple_of(8)) }
        // SAFETY: `values` has this many initialized bytes, without padding (`Plain`); a byte has
        // no alignment, and the result borrows `values`.
        #[allow(unsafe_code)]
        let bytes =
            unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) };
        Self {
            name,
            value_size: size_of::<T>(),
            bytes,
        }
    }

    /// Returns the number of values.
    pub(crate) const fn len(&self) -> usize {
        self.bytes.len() / self.value_size
    }
}

impl TableImage {
    /// Returns the contents of the maps that are written as a whole.
    pub(crate) const fn contents(&self) -> [MapContents<'_>; 11] {
        [
            MapContents::of("ports", self.ports.as_slice()),
            MapContents::of("groups", self.groups.as_slice()),
            MapContents::of("slots", self.slots.as_slice()),
            MapContents::of("rest", self.rest.as_slice()),
            MapContents::of("routes", self.routes.as_slice()),
            MapContents::of("destinations", self.destinations.as_slice()),
            MapContents::of("patterns", self.patterns.as_slice()),
            MapContents::of("conditions", self.conditions.as_slice()),
            MapContents::of("ops", self.ops.as_slice()),
            MapContents::of("crc_tables", self.crc_tables.as_slice()),
            MapContents::of("sums", self.sums.as_slice()),
        ]
    }

    /// Makes all frames take the program's long path.
    pub(crate) fn leave_short_path(&mut self) {
        for route in &mut self.routes {
            route.short_sorts = 0;
        }
    }
}
