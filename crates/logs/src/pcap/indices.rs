//! The interfaces of a capture with several interfaces, in which each packet has the index of its
//! interface.

use crate::name::InterfaceName;

/// Maximum number of interfaces that are distinguished.
const MOST: usize = 4096;

/// The error for one interface too many.
pub(crate) const MANY: &str = "a packet of more than 4096 interfaces";

/// The indices found so far. LINKTYPE_LINUX_SLL2 has indices and no names: the first index of a
/// file becomes `can0`, the next new one `can1`, so that two buses remain distinct.
#[derive(Clone, Debug, Default)]
pub(crate) struct InterfaceIndices {
    seen: Vec<u32>,
}

impl InterfaceIndices {
    /// Returns the name of this index; `None` if there are too many.
    pub(crate) fn name(&mut self, index: u32) -> Option<InterfaceName> {
        let known = self.seen.iter().position(|seen| *seen == index);
        let place = match known {
            Some(place) => place,
            None if self.seen.len() < MOST => {
                self.seen.push(index);
                self.seen.len() - 1
            }
            None => return None,
        };
        Some(InterfaceName::numbered(place as u32))
    }
}
