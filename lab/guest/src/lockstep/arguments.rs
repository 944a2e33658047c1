//! The plugin's arguments, as `plugin/lockstep/settings.c` reads them.

use super::network;
use super::plan::{CanLink, EthernetLink, LinkKind, LockstepPlan};
use crate::devices::LinkedCard;
use crate::machine::TimeMode;
use crate::qemu::quoted;
use std::fmt::Write as _;
use std::path::Path;

/// Returns QEMU's option for a machine's plugin.
pub(super) fn arguments(
    plan: &LockstepPlan,
    machine: usize,
    plugin: &Path,
    shared: &Path,
    folder: &Path,
) -> String {
    let background = plan.machines.iter().enumerate();
    let background = background.filter(|(_, machine)| machine.background);
    let instruction = match plan.machines.get(machine).map(|it| it.guest.time) {
        Some(TimeMode::Virtual { shift }) => 1_u64 << shift,
        _ => 1,
    };
    let mut text = format!(
        "{},shared={},folder={},machine={machine},machines={},background={},interval={},limit={},\
         instruction={instruction},skip={}",
        quoted(plugin),
        quoted(shared),
        quoted(folder),
        plan.machines.len(),
        mask(background.map(|(number, _)| number)),
        plan.interval().as_nanos(),
        plan.limit.as_nanos(),
        u8::from(plan.skip_idle),
    );
    let cards = network::linked(plan, machine).cards();
    let (mut classic, mut fd) = (cards.classic_cards(), cards.fd_cards());
    let mut ethernet = cards.ethernet_cards();
    for link in &plan.links {
        let cards: &mut dyn Iterator<Item = LinkedCard> = match &link.kind {
            LinkKind::Can(can) if can.data_bitrate.is_none() => &mut classic,
            LinkKind::Can(_) => &mut fd,
            LinkKind::Ethernet(_) => &mut ethernet,
        };
        let is_member = link.members.contains(&machine);
        let card = is_member.then(|| cards.next()).flatten();
        let place = card.map_or(0, |card| card.place);
        let members = mask(link.members.iter().copied());
        // Writing to memory cannot fail.
        let _ = match &link.kind {
            LinkKind::Can(CanLink {
                bitrate,
                data_bitrate,
                queue,
            }) => write!(
                text,
                ",link=can/{place}/{members}/{bitrate}/{queue}/{}",
                data_bitrate.unwrap_or(0)
            ),
            LinkKind::Ethernet(EthernetLink {
                rate,
                latency,
                jitter,
                loss,
                seed,
                queue,
            }) => write!(
                text,
                ",link=ethernet/{place}/{members}/{rate}/{queue}/{}/{}/{loss}/{seed}",
                latency.as_nanos(),
                jitter.as_nanos()
            ),
        };
    }
    text
}

/// Returns a number with a bit for each machine.
fn mask(machines: impl Iterator<Item = usize>) -> u32 {
    machines.fold(0, |mask, machine| mask | 1 << machine)
}
