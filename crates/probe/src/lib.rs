//! Traffic, frame matching, latency profiles.
