//! The tester: sends frames into a gateway, receives what comes out, stamps both, and says which
//! frame is which and how long it took (gateway-2011 §2.1).
//!
//! It works with any gateway between any interfaces: three of a real PC (one sends, one listens
//! beside the gateway's input, one listens at its output), or the nodes of a bit-timed bus
//! (`kmod/bitcan`). Traffic and matching are `probe`'s; interfaces are `port`'s; this room joins
//! them and owns the loop.

#![forbid(unsafe_code)]
