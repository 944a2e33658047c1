//! The interfaces that are recorded: they appear, disappear and change their indices.

use super::settings::LiveError;
use crate::interfaces::InterfaceChoice;
use crate::names::InterfaceNames;
use linux::link::{LinkEvents, NetLinks};
use linux::packet::{CaptureRule, FilterProgram};
use std::os::fd::{AsRawFd as _, RawFd};

/// Indices above this one are looked up one by one.
const MAX_INDEX: usize = 1 << 16;

/// The state of an interface when it was last checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WatchState {
    Gone,
    Down,
    Up,
}

/// The mapping of the interfaces' indices to their names.
pub(super) struct InterfaceWatch {
    choices: Vec<InterfaceChoice>,
    error_frames: bool,
    names: InterfaceNames,
    events: LinkEvents,
    /// The interfaces at the time of the last change.
    links: NetLinks,
    /// Index and state of each choice that has a name.
    states: Vec<(u32, WatchState)>,
    /// Indexes into the names, by the index of the interface; `u16::MAX`: not known yet.
    places: Vec<u16>,
    remarks: Vec<String>,
}

impl InterfaceWatch {
    /// Finds the interfaces.
    pub(super) fn open(
        choices: &[InterfaceChoice],
        error_frames: bool,
        names: InterfaceNames,
    ) -> Result<Self, LiveError> {
        // Opened first, so that all changes from now on are reported.
        let events = LinkEvents::open()?;
        let links = NetLinks::now()?;
        for choice in choices {
            let Some(name) = &choice.name else { continue };
            if links.can(name).is_none() {
                return Err(LiveError::NoInterface {
                    name: name.clone(),
                    there: there(&links),
                });
            }
            // In the order in which the user named them.
            names.place(name);
        }
        let mut watch = Self {
            choices: choices.to_vec(),
            error_frames,
            names,
            events,
            links: NetLinks::default(),
            states: vec![(0, WatchState::Up); choices.len()],
            places: Vec::new(),
            remarks: Vec::new(),
        };
        watch.compare(links);
        Ok(watch)
    }

    pub(super) fn fd(&self) -> RawFd {
        self.events.fd().as_raw_fd()
    }

    /// Returns the filter for the kernel.
    pub(super) fn program(&self) -> Result<FilterProgram, LiveError> {
        let rule =
            |(choice, (index, state)): (&InterfaceChoice, &(u32, WatchState))| -> CaptureRule {
                let there = *state != WatchState::Gone;
                choice.rule(there.then_some(*index).into_iter().collect())
            };
        // Several interfaces without filters are one rule.
        let mut rules: Vec<CaptureRule> = Vec::new();
        for rule in self.choices.iter().zip(&self.states).map(rule) {
            match rules.last_mut() {
                Some(CaptureRule {
                    interfaces: Some(all),
                    filters,
                }) if *filters == rule.filters && rule.interfaces.is_some() => {
                    all.extend(rule.interfaces.unwrap_or_default());
                }
                _ => rules.push(rule),
            }
        }
        Ok(FilterProgram::new(&rules, self.error_frames)?)
    }

    /// Returns the interface to attach to: the only one, or 0 for all.
    pub(super) fn attachment(&self) -> u32 {
        match (self.choices.as_slice(), self.states.as_slice()) {
            ([InterfaceChoice { name: Some(_), .. }], [(index, _)]) => *index,
            _ => 0,
        }
    }

    /// Processes the kernel's notifications; returns true if the filter must be built again.
    pub(super) fn changed(&mut self) -> bool {
        if !self.events.drain() {
            return false;
        }
        match NetLinks::now() {
            Ok(links) => self.compare(links),
            Err(error) => {
                self.remarks
                    .push(format!("cannot list the interfaces: {error}"));
                false
            }
        }
    }

    pub(super) fn take_remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }

    fn compare(&mut self, links: NetLinks) -> bool {
        let mut changed = false;
        // An index may belong to another name now.
        self.places.clear();
        for (choice, state) in self.choices.iter().zip(&mut self.states) {
            let Some(name) = &choice.name else { continue };
            let new = match links.get(name).filter(|link| link.can) {
                None => (state.0, WatchState::Gone),
                Some(link) if link.up => (link.index, WatchState::Up),
                Some(link) => (link.index, WatchState::Down),
            };
            if new == *state {
                continue;
            }
            changed |= new.0 != state.0 || new.1 == WatchState::Gone || state.1 == WatchState::Gone;
            match (state.0, new.1) {
                (0, WatchState::Up) => {}
                (_, WatchState::Gone) => self.remarks.push(format!(
                    "{name} is gone; it is recorded again when it is back"
                )),
                (_, WatchState::Down) => self.remarks.push(format!(
                    "{name} is down; `ip link set {name} up` brings frames"
                )),
                (_, WatchState::Up) => self.remarks.push(format!("{name} is up")),
            }
            *state = new;
        }
        self.links = links;
        changed
    }

    /// Returns the index into the names for the interface with an index.
    #[inline]
    pub(super) fn place(&mut self, index: u32) -> u16 {
        match self.places.get(index as usize) {
            Some(place) if *place != u16::MAX => *place,
            _ => self.find(index),
        }
    }

    fn find(&mut self, index: u32) -> u16 {
        if self.links.at(index).is_none() {
            // It is new, or gone already: in the latter case its index serves as its name.
            self.links = NetLinks::now().unwrap_or_default();
        }
        let name = self.links.name(index);
        let place = self.names.place(&name);
        let at = index as usize;
        if at < MAX_INDEX {
            if self.places.len() <= at {
                self.places.resize(at + 1, u16::MAX);
            }
            if let Some(slot) = self.places.get_mut(at) {
                *slot = place;
            }
        }
        place
    }
}

/// Returns the CAN interfaces of this machine, in words.
fn there(links: &NetLinks) -> String {
    let all: Vec<&str> = links.all_can().map(|link| link.name.as_str()).collect();
    if all.is_empty() {
        "this machine has none; make a virtual one with `ip link add dev vcan0 type vcan && ip link \
         set vcan0 up`"
            .to_owned()
    } else {
        format!("CAN interfaces here: {}", all.join(", "))
    }
}
