//! The papers' claims and our own bounds: the experiments that each needs, and its verdict on the
//! measured evidence.
//!
//! Each claim is one file of `list/`, which `list/mod.rs` lists. Its criterion is next to the
//! paper's figure and was taken from the paper, before anything was measured. Shapes and ratios are
//! compared, because the guest is not the papers' board.
//!
//! [`reproduce`] leads from claims to experiments to a table of verdicts; [`Paper`] names the
//! papers in full.

#![forbid(unsafe_code)]

mod claim;
mod conditions;
mod data_path;
mod evidence;
mod extent;
mod figure;
mod list;
mod own_share;
mod papers;
pub mod reproduce;
mod setups;
mod stats;
#[cfg(test)]
mod testing;
mod worst_case;

pub use claim::{Claim, ClaimJudgement, ClaimKind, Verdict};
pub use data_path::DataPath;
pub use evidence::{ClaimEvidence, MissingEvidence};
pub use extent::Extent;
pub use figure::{
    AxisPlace, ClaimFigure, FigureAxis, FigureForm, FigureKind, FigurePoint, FigureSeries,
    StatedValue,
};
pub use list::all;
pub use own_share::OwnShare;
pub use papers::{ClaimOrigin, Paper};
