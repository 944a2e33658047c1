//! A card that belongs to this process.

use super::backend::BackendError;
use super::keeper::CardKeeper;
use linux::pci::PciDevice;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The cards that this gateway drives, and the channels in use. Ports on one card share it.
#[derive(Clone, Default)]
pub(super) struct CardOwners(Arc<Mutex<HashMap<String, CardEntry>>>);

#[derive(Default)]
struct CardEntry {
    keeper: Weak<CardKeeper>,
    channels: HashMap<u8, Weak<OwnedCard>>,
}

/// One channel of a card that the kernel's driver has given up. When the last one of a card is
/// dropped, the card is handed back.
pub(super) struct OwnedCard {
    _keeper: Arc<CardKeeper>,
}

impl CardOwners {
    /// Takes a card for one of its channels, or shares it with the ports that have it already.
    pub(super) fn take(
        &self,
        card: &PciDevice,
        channel: u8,
        interrupts: bool,
        usual_driver: &str,
    ) -> Result<Arc<OwnedCard>, BackendError> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = all.entry(card.address().to_owned()).or_default();
        let in_use = entry.channels.get(&channel).and_then(Weak::upgrade);
        if in_use.is_some() {
            return Err(BackendError {
                what: format!(
                    "channel {channel} of {} is in use by this gateway already: to change how a port of \
                     kind \"direct\" is set up, take it out of the file, reload, put it in again and \
                     reload once more",
                    card.address()
                ),
                source: None,
            });
        }
        let keeper = match entry.keeper.upgrade() {
            Some(keeper) => {
                if interrupts && card.driver().is_none() {
                    return Err(BackendError {
                        what: format!(
                            "another port on the card {} has mode = \"poll\": give all ports on a card \
                             the same mode",
                            card.address()
                        ),
                        source: None,
                    });
                }
                keeper
            }
            None => Arc::new(CardKeeper::take(card, interrupts, usual_driver)?),
        };
        entry.keeper = Arc::downgrade(&keeper);
        let owned = Arc::new(OwnedCard { _keeper: keeper });
        entry.channels.insert(channel, Arc::downgrade(&owned));
        Ok(owned)
    }
}
