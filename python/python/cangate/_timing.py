"""Frames on the wire: bits, durations, bus load."""

from __future__ import annotations

from array import array
from typing import Any, Iterable, Optional

from cangate import _core
from cangate._columns import UINT32, UINT64, FlagValues, FrameColumns, id_columns, is_array
from cangate._core import FrameTiming
from cangate._frames import BRS, EXTENDED, FD, REMOTE, FrameLike, to_parts


def timing(
    frame: FrameLike, bitrate: int = 500_000, data_bitrate: Optional[int] = None
) -> FrameTiming:
    """Return the exact length and duration of a frame on the wire.

    :param frame: candump's text, such as ``"123#1122"``, ``"123##3AABB"`` (FD; the digit is 1 for
        BRS and 2 for ESI), ``"1ABCDEF0#R4"``; or a ``can.Message``.
    :param bitrate: nominal bit rate, bit/s.
    :param data_bitrate: bit rate of the data phase of an FD frame with BRS, bit/s. Without it, all
        bits have the nominal rate.
    :raises ValueError: if the text is not a frame (the error names the column), or a bit rate is
        out of range.
    """
    if isinstance(frame, str):
        return _core.timing_of_text(frame, bitrate, data_bitrate)
    return _core.timing_of_parts(to_parts(frame), bitrate, data_bitrate)


def durations(
    frames: Any,
    *,
    data: Any = None,
    lengths: Any = None,
    is_extended_id: FlagValues = False,
    is_remote_frame: FlagValues = False,
    is_fd: FlagValues = False,
    bitrate_switch: FlagValues = False,
    bitrate: int = 500_000,
    data_bitrate: Optional[int] = None,
    with_intermission: bool = False,
) -> Any:
    """Return the durations of many frames on the wire, ns.

    :param frames: frames as :func:`timing` takes them, or IDs: an array or a sequence of integers.
        All further arguments about frames are for IDs.
    :param data: the payloads: an array of bytes with a row for each ID, or a sequence of ``bytes``.
        Without it, frames have no payload.
    :param lengths: the lengths of the payloads, if they are less than the columns of ``data``; of
        remote frames the length that they request.
    :param is_extended_id: whether IDs have 29 bits; one value for all, or one for each.
    :param is_remote_frame: whether they are remote frames.
    :param is_fd: whether they are FD frames.
    :param bitrate_switch: whether FD frames have BRS.
    :param bitrate: nominal bit rate, bit/s.
    :param data_bitrate: bit rate of the data phase, bit/s.
    :param with_intermission: up to the start of the next frame at the earliest, three bits later.
    :return: an array of ``int64`` if NumPy is installed, else a list.
    :raises ValueError: names the frame by its index, and the mistake.
    """
    if not is_array(frames):
        frames = list(frames)
    if is_array(frames) or (frames and isinstance(frames[0], int)):
        flags = {
            EXTENDED: is_extended_id,
            REMOTE: is_remote_frame,
            FD: is_fd,
            BRS: bitrate_switch,
        }
        columns = id_columns(frames, data, lengths, flags)
    else:
        columns = _frame_columns(frames)
    times = _core.durations_of_columns(*columns, bitrate, data_bitrate, with_intermission)
    try:
        import numpy
    except ImportError:
        return array(UINT64, times).tolist()
    return numpy.frombuffer(times, dtype=numpy.uint64).astype(numpy.int64)


def bus_load(frames: Any, seconds: float, **columns: Any) -> float:
    """Return the load of a bus that carries these frames in a time: 1 is all of it.

    As bus monitors do, it counts the intermission after each frame.

    :param frames: as for :func:`durations`, and so are ``columns``, its named arguments.
    :param seconds: the time, s.
    :raises ValueError: if the time is not above 0, or as :func:`durations`.
    """
    if not seconds > 0:
        raise ValueError(f"seconds={seconds}: give a time above 0 s")
    return int(sum(durations(frames, with_intermission=True, **columns))) / (seconds * 1e9)


def _frame_columns(frames: Iterable[FrameLike]) -> FrameColumns:
    ids, flags, lengths, rows = array(UINT32), bytearray(), bytearray(), []
    for number, frame in enumerate(frames):
        try:
            number_of_id, bits, payload, length = to_parts(frame)
            ids.append(number_of_id)
            lengths.append(length)
        except (ValueError, OverflowError) as error:
            raise ValueError(f"frame {number}: {error}") from error
        flags.append(bits)
        rows.append(payload)
    width = max(map(len, rows), default=0)
    data = b"".join(row.ljust(width, b"\0") for row in rows)
    return ids.tobytes(), bytes(flags), bytes(lengths), data, width
