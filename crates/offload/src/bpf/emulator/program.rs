//! The committed object, linked as the loader does it.

use super::super::constants::ProgramConstants;
use super::super::contents::MapContents;
use super::super::loader::OBJECT;
use super::instruction::{Instruction, LOAD_CONSTANT};
use super::memory::Memory;
use aya_obj::Object;
use aya_obj::generated::{BPF_PSEUDO_MAP_FD, BPF_PSEUDO_MAP_VALUE};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock, Mutex};

/// The program at an interface's ingress, with the functions that it calls.
pub(super) struct LinkedProgram {
    pub(super) instructions: Vec<Instruction>,
    /// The name of each map, the size of a value in bytes, and its contents in the object.
    maps: Vec<(String, usize, Vec<u8>)>,
}

/// Programs by their constants: few tables differ in these, and linking takes a millisecond.
static LINKED: LazyLock<Mutex<HashMap<String, Arc<LinkedProgram>>>> = LazyLock::new(Mutex::default);

impl LinkedProgram {
    /// Returns the program with these constants.
    pub(super) fn with(constants: &ProgramConstants) -> Arc<Self> {
        let key = format!("{:?} {:?}", constants.flags, constants.numbers);
        let mut known = LINKED.lock().unwrap();
        let linked = known
            .entry(key)
            .or_insert_with(|| Arc::new(Self::link(constants)));
        Arc::clone(linked)
    }

    fn link(constants: &ProgramConstants) -> Self {
        let mut object = Object::parse(OBJECT).unwrap();
        let flags = constants
            .flags
            .map(|(name, flag)| (name, vec![u8::from(flag)]));
        let numbers = constants.numbers;
        let numbers = numbers.map(|(name, number)| (name, number.to_le_bytes().to_vec()));
        let globals: Vec<(&str, Vec<u8>)> = flags.into_iter().chain(numbers).collect();
        let globals = globals
            .iter()
            .map(|(name, bytes)| (*name, (bytes.as_slice(), true)));
        object.patch_map_data(globals.collect()).unwrap();
        let maps: Vec<(String, aya_obj::Map)> = object.maps.drain().collect();
        let functions = object.functions.keys();
        let text: HashSet<usize> = functions.map(|(section, _)| *section).collect();
        // In place of a descriptor is the number of the map.
        let numbered = maps.iter().zip(0..);
        let numbered = numbered.map(|((name, map), number)| (name.as_str(), number, map));
        object.relocate_maps(numbered, &text).unwrap();
        object.relocate_calls(&text).unwrap();
        let key = object.programs["cangate"].function_key();
        let raw = &object.functions[&key].instructions;
        let decoded = raw.iter().enumerate().map(|(at, it)| {
            let (src, low) = (it.src_reg(), it.imm);
            let upper = || raw[at + 1].imm.cast_unsigned();
            let imm = match u32::from(src) {
                _ if it.code != LOAD_CONSTANT => i64::from(low).cast_unsigned(),
                BPF_PSEUDO_MAP_FD => Memory::handle(low as usize),
                BPF_PSEUDO_MAP_VALUE => Memory::in_map(low as usize, upper() as usize),
                _ => u64::from(low.cast_unsigned()) | u64::from(upper()) << 32,
            };
            Instruction {
                code: it.code,
                dst: it.dst_reg().into(),
                src: src.into(),
                off: it.off.into(),
                imm,
            }
        });
        let instructions = decoded.collect();
        let maps = maps.into_iter().map(|(name, map)| {
            let (size, bytes) = (map.value_size() as usize, map.data().to_vec());
            (name, size, bytes)
        });
        Self {
            instructions,
            maps: maps.collect(),
        }
    }

    /// Returns the memory of the program with these contents of its maps.
    pub(super) fn memory(&self, contents: &[MapContents<'_>]) -> Memory {
        let mut memory = Memory::default();
        for (name, size, in_object) in &self.maps {
            let given = contents.iter().find(|given| given.name == name);
            let bytes = match given {
                Some(given) => {
                    assert_eq!(given.value_size, *size, "{name}");
                    given.bytes
                }
                None => in_object,
            };
            memory.add_map(name, *size, bytes.to_vec());
        }
        for given in contents {
            assert!(self.maps.iter().any(|(name, ..)| given.name == name));
        }
        memory
    }
}
