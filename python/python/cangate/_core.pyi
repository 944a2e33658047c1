"""The extension module: internal, but for the classes that `cangate` names."""

from typing import Optional

from cangate._frames import FrameParts

__version__: str

class FrameTiming:
    """The exact length of a frame on the wire."""

    @property
    def bits(self) -> int:
        """All bits from the start of frame to the end of the intermission, with stuff bits."""
    @property
    def stuff_bits(self) -> int:
        """The number of dynamic stuff bits."""
    @property
    def data_phase_bits(self) -> int:
        """The number of bits at the data bit rate; 0 for all frames but FD frames with BRS."""
    @property
    def crc(self) -> int:
        """The checksum."""
    @property
    def crc_bits(self) -> int:
        """The number of bits of the checksum: 15, or for FD 17 or 21."""
    @property
    def duration_ns(self) -> int:
        """The time from the start to the end of the frame, ns, without the intermission."""
    @property
    def occupied_ns(self) -> int:
        """The time from the start of the frame to that of the next at the earliest, ns."""

def timing_of_text(text: str, bitrate: int, data_bitrate: Optional[int]) -> FrameTiming: ...
def timing_of_parts(
    parts: FrameParts, bitrate: int, data_bitrate: Optional[int]
) -> FrameTiming: ...
def parse_frame(text: str) -> FrameParts: ...
def durations_of_columns(
    ids: bytes,
    flags: bytes,
    lengths: bytes,
    data: bytes,
    width: int,
    bitrate: int,
    data_bitrate: Optional[int],
    occupied: bool,
) -> bytes: ...
