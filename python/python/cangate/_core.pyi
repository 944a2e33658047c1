"""The extension module: internal, but for the classes that `cangate` names."""

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

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

class StationError(RuntimeError):
    """A station cannot do what it is asked for; the text has the reason and the cure."""

class BusWorld:
    """Buses that share one time."""

    def __new__(cls, real: bool) -> BusWorld: ...
    @staticmethod
    def from_gateway(
        name: str,
        text: str,
        folder: str,
        bitrate: int,
        data_bitrate: Optional[int],
        real: bool,
    ) -> Tuple[BusWorld, str]: ...
    def ports(self) -> List[str]: ...
    def add_bus(
        self, name: str, bitrate: int, data_bitrate: Optional[int], acknowledges: bool
    ) -> None: ...
    def channels(self) -> List[str]: ...
    def rates(self, channel: str) -> Optional[Tuple[int, Optional[int], bool]]: ...
    def attach(
        self,
        channel: str,
        mailboxes: int,
        queue: int,
        listen_only: bool,
        own: bool,
        errors: bool,
        depth: int,
    ) -> BusStation: ...
    def sizes(self) -> Tuple[int, int, int]: ...
    def gateway_fates(self) -> Optional[Dict[str, int]]: ...

class BusStation:
    """A node of a bus. Times are ns."""

    def check(self, parts: FrameParts) -> None: ...
    def send(self, parts: FrameParts, timeout: Optional[int], drives: bool) -> None: ...
    def receive(
        self, timeout: Optional[int], drives: bool
    ) -> Optional[Tuple[int, int, int, int, bytes]]: ...
    def set_filters(self, filters: Optional[Sequence[Tuple[int, int, Optional[bool]]]]) -> None: ...
    def add_cyclic(
        self,
        parts: Sequence[FrameParts],
        period: int,
        duration: Optional[int],
        callback: Optional[Callable[[int], Optional[FrameParts]]],
    ) -> int: ...
    def start_cyclic(self, task: int) -> None: ...
    def stop_cyclic(self, task: int) -> None: ...
    def forget_cyclic(self, task: int) -> None: ...
    def modify_cyclic(self, task: int, parts: Sequence[FrameParts]) -> None: ...
    def cyclic_state(self, task: int) -> Optional[Tuple[bool, int, int]]: ...
    def now(self) -> int: ...
    def advance(self, time: int) -> None: ...
    def state(self) -> Optional[Tuple[int, int, int]]: ...
    def statistics(self) -> Dict[str, int]: ...
    def cancel(self) -> int: ...
    def inject(self, kind: str, bit: Optional[int]) -> None: ...
    def close(self) -> None: ...

class SignalDatabase:
    """The messages of a bus with their signals."""

    def __new__(cls, name: str, bytes: bytes) -> SignalDatabase: ...
    def messages(self) -> List[Tuple[str, int, bool, int, List[Tuple[str, str]]]]: ...
    def message_of(self, parts: FrameParts) -> Optional[str]: ...
    def warnings(self) -> List[Tuple[int, str]]: ...
    def decode(self, parts: FrameParts, names: bool) -> Optional[Dict[str, Any]]: ...
    def columns(
        self, message: str, id: Optional[Tuple[int, bool]], data: bytes, lengths: bytes, width: int
    ) -> List[Tuple[str, bytes, bytes]]: ...

def timing_of_text(text: str, bitrate: int, data_bitrate: Optional[int]) -> FrameTiming: ...
def timing_of_parts(
    parts: FrameParts, bitrate: int, data_bitrate: Optional[int]
) -> FrameTiming: ...
def parse_frame(text: str) -> FrameParts: ...
def bounds_of_text(name: str, text: str) -> Dict[str, Any]: ...
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
