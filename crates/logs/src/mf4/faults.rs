//! The mistakes of a file.

use crate::bad::LogFault;

/// Mistakes, with the place of the first of each kind and their number.
#[derive(Default)]
pub(super) struct FaultList {
    found: Vec<(u64, LogFault, u64)>,
}

impl FaultList {
    /// Adds a mistake at a byte of the file.
    pub(super) fn add(&mut self, place: u64, fault: LogFault) {
        match self.found.iter_mut().find(|(_, known, _)| *known == fault) {
            Some((_, _, count)) => *count += 1,
            None => self.found.push((place, fault, 1)),
        }
    }

    /// Removes a mistake that is reported by others.
    pub(super) fn forget(&mut self, fault: LogFault) {
        self.found.retain(|(_, known, _)| *known != fault);
    }

    /// Takes one mistake off the list.
    pub(super) fn take(&mut self) -> Option<(u64, LogFault)> {
        let (place, fault, count) = self.found.first_mut()?;
        let taken = (*place, *fault);
        *count -= 1;
        if *count == 0 {
            self.found.remove(0);
        }
        Some(taken)
    }
}
