//! The halves over a pair of Unix datagram sockets instead of a raw CAN socket: the same system
//! calls and buffers, and a fake interface that the test controls.

mod bench;
mod fates;
mod frames;
mod states;
mod uring;
