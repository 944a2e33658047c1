//! Interfaces of a capture that has many, each packet with the index of its own.

use crate::name::InterfaceName;

/// As many interfaces are told apart.
const MOST: usize = 4096;

/// What is wrong with one more.
pub(crate) const MANY: &str = "a packet of more than 4096 interfaces";

/// The indices that were seen. LINKTYPE_LINUX_SLL2 has indices and no names: the first index of a
/// file is `can0`, the next one that comes `can1`, so that two buses stay two.
#[derive(Clone, Debug, Default)]
pub(crate) struct Indices {
    seen: Vec<u32>,
}

impl Indices {
    /// The name of this index; `None` if there are too many.
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
