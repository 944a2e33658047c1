//! The plugin's arguments, as `plugin/lockstep/settings.c` reads them.

use super::plan::{CanLink, EthernetLink, LinkKind, LockstepPlan};
use crate::machine::TimeMode;
use crate::qemu::{FIRST_LINK, quoted};
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
    let (mut buses, mut hubs) = (FIRST_LINK.., FIRST_LINK..);
    for link in &plan.links {
        let is_member = link.members.contains(&machine);
        let place = |places: &mut std::ops::RangeFrom<u8>| {
            is_member.then(|| places.next()).flatten().unwrap_or(0)
        };
        let members = mask(link.members.iter().copied());
        // Writing to memory cannot fail.
        let _ = match &link.kind {
            LinkKind::Can(CanLink { bitrate, queue }) => write!(
                text,
                ",link=can/{}/{members}/{bitrate}/{queue}",
                place(&mut buses)
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
                ",link=ethernet/{}/{members}/{rate}/{queue}/{}/{}/{loss}/{seed}",
                place(&mut hubs),
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
