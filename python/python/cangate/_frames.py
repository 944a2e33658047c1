"""Frames between Python and the extension module: number, flags, bytes and length."""

from __future__ import annotations

from typing import Any, Protocol, Tuple, Union

from cangate import _core

# The same as in `src/frames.rs`.
EXTENDED = 1
REMOTE = 2
FD = 4
BRS = 8
ESI = 16
ERROR = 32
OWN = 64

#: The greatest ID of 29 bits, and the length of the longest payload, bytes.
LARGEST_ID = 0x1FFFFFFF
LONGEST = 64

FrameParts = Tuple[int, int, bytes, int]


class FrameMessage(Protocol):
    """A frame as an object with the attributes of ``can.Message``."""

    arbitration_id: int
    is_extended_id: bool
    is_remote_frame: bool
    is_error_frame: bool
    is_fd: bool
    bitrate_switch: bool
    error_state_indicator: bool
    dlc: int
    data: Any


FrameLike = Union[str, FrameMessage]


def to_parts(frame: FrameLike) -> FrameParts:
    """Return the parts of a frame, a candump text or an object like ``can.Message``.

    :raises ValueError: if the text is not a frame; it names the column.
    :raises TypeError: if it is neither.
    """
    if isinstance(frame, str):
        return _core.parse_frame(frame)
    try:
        flags = (
            (EXTENDED if frame.is_extended_id else 0)
            | (REMOTE if frame.is_remote_frame else 0)
            | (FD if frame.is_fd else 0)
            | (BRS if frame.bitrate_switch else 0)
            | (ESI if frame.error_state_indicator else 0)
            | (ERROR if frame.is_error_frame else 0)
        )
        number, length = frame.arbitration_id, frame.dlc
        if not (0 <= number <= LARGEST_ID and 0 <= length <= LONGEST):
            raise ValueError(
                f"ID {number:#x}, dlc={length}: give an ID of 0 to {LARGEST_ID:#x} and a length of "
                f"0 to {LONGEST}"
            )
        return (number, flags, bytes(frame.data), length)
    except AttributeError as error:
        raise TypeError(
            f"{frame!r} is not a frame: give candump's text such as '123#1122', or a can.Message"
        ) from error
