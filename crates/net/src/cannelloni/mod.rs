//! cannelloni's protocol, version 2: datagrams (UDP) and byte streams (TCP).
//!
//! The layout is that of cannelloni 2.1.2 (`cannelloni.h`, `parser.cpp`, `tcpthread.cpp`). All
//! numbers are big-endian.
//!
//! * A datagram begins with version 2, operation 0 (data), a sequence number of 8 bits, and the
//!   number of frames in 16 bits.
//! * A frame is SocketCAN's 32-bit identifier, a length whose bit 7 marks FD, for FD the byte of
//!   SocketCAN's flags, and the payload. A remote frame has no payload.
//! * A stream begins with the 12 bytes `CANNELLONIv1` from each side; frames follow without a
//!   separator. cannelloni sends the length of a remote frame, and reads back 0.
//!
//! The protocol has neither time stamps nor raw DLCs above 8, and cannelloni sends no error frames.

mod datagram;
mod entry;
mod stream;

pub use crate::bus_frame::is_bus_frame as carries;
pub use datagram::{CannelloniReader, CannelloniWriter, HEADER, MAX_DATAGRAM};
pub use entry::frame_size;
pub use stream::{CannelloniSession, GREETING};
