//! The table as a BPF program.
