//! The output of cangw is parsed exactly, and routes come back from a script unchanged.

mod listings;
mod random;
mod scripts;

use super::*;
use crate::{
    Action, Crc8Profile, FrameMatch, IdOperand, KernelPort, KindSet, Modify, ModifyOp, PortId,
    Route, Routes, TriState, XorSum,
};
use ::config::{SourceText, render};
use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};

fn read(text: &str) -> ImportedRules {
    let source = SourceText::new("cangw.txt", text);
    match import(&source) {
        Ok(imported) => imported,
        Err(errors) => panic!("{}", render(&source, &errors, false)),
    }
}

fn errors(text: &str) -> Vec<String> {
    let source = SourceText::new("cangw.txt", text);
    let errors = import(&source).unwrap_err();
    errors.into_iter().map(|d| d.message).collect()
}

fn notes(text: &str) -> Vec<String> {
    read(text).notes.into_iter().map(|d| d.message).collect()
}

fn actions(line: &str) -> Vec<Action> {
    read(line).routes.routes.remove(0).actions
}

/// Returns the line of cangw for a rule, without a comment.
fn bare(rule: &CanGwRule) -> String {
    export::line(rule, "").trim_end_matches(" # ").to_owned()
}

const LISTED: &str = "\
cangw -A -s can0 -d can1 -e -f 123:C00007FF -m SET:IL:444.2.0011223344556677 -l 2 # 5 handled 0 dropped 0 deleted
cangw -A -s can1 -d can0 -X -t -i -f 080~7FF # 0 handled 0 dropped 0 deleted
";
