//! Ports and a routing table at run time: counting, reloading, supervising.
