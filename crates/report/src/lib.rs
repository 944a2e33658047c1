//! Plots and pages from results.
