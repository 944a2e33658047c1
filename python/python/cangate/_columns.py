"""Payloads and flags of many frames as bytes for the extension module."""

from __future__ import annotations

from array import array
from typing import Any, Dict, List, Sequence, Tuple, Union

from cangate._frames import LARGEST_ID, LONGEST, REMOTE

#: The codes of ``array`` for whole numbers of 32 and 64 bits, whose sizes the system decides.
UINT32 = next(code for code in "IL" if array(code).itemsize == 4)
UINT64 = next(code for code in "LQ" if array(code).itemsize == 8)

FlagValues = Union[bool, Sequence[bool]]

#: IDs (``uint32``), flags, lengths, data, and the number of bytes of data of each frame.
FrameColumns = Tuple[bytes, bytes, bytes, bytes, int]


def is_array(value: Any) -> bool:
    """Return whether a value is an array of NumPy, without importing it."""
    return hasattr(value, "tobytes") and hasattr(value, "dtype")


def id_columns(ids: Any, data: Any, lengths: Any, flags: Dict[int, FlagValues]) -> FrameColumns:
    """Return the columns of frames that are given as IDs, payloads and flags."""
    if is_array(ids) and (data is None or is_array(data)):
        return _from_arrays(ids, data, lengths, flags)
    return _from_lists(list(ids), data, lengths, flags)


def payload_columns(data: Any, lengths: Any) -> Tuple[bytes, bytes, int]:
    """Return data, lengths and the bytes of each frame of payloads."""
    if is_array(data):
        import numpy

        _check_rows(data, len(data))
        width = data.shape[1]
        given = width if lengths is None else lengths
        limits = numpy.minimum(_spread_array(given, len(data), "lengths"), width)
        if (limits < 0).any():
            raise ValueError("lengths: give lengths of 0 or more")
        return data.tobytes(), limits.astype(numpy.uint8).tobytes(), width
    rows = [bytes(row) for row in data]
    limits_of_rows = [len(row) for row in rows] if lengths is None else [int(n) for n in lengths]
    if len(limits_of_rows) != len(rows) or any(n < 0 for n in limits_of_rows):
        raise ValueError(
            f"{len(rows)} payloads and {len(limits_of_rows)} lengths: give each payload one of 0 "
            "or more"
        )
    width = max(map(len, rows), default=0)
    joined = b"".join(row.ljust(width, b"\0") for row in rows)
    short = bytes(min(length, len(row)) for length, row in zip(limits_of_rows, rows))
    return joined, short, width


def _check_rows(data: Any, count: int) -> None:
    if data.ndim != 2 or data.dtype.itemsize != 1 or len(data) != count or data.shape[1] > LONGEST:
        raise ValueError(
            f"data: an array of {data.dtype} with the shape {data.shape}: give uint8 with {count} "
            f"rows of at most {LONGEST} columns"
        )


def _spread_array(given: Any, count: int, name: str) -> Any:
    """Return an array with one value for each frame."""
    import numpy

    values = numpy.asarray(given)
    if values.ndim > 0 and values.shape != (count,):
        raise ValueError(f"{count} frames and {name} of shape {values.shape}: give one for each")
    return numpy.broadcast_to(values, (count,))


def _from_arrays(ids: Any, data: Any, lengths: Any, flags: Dict[int, FlagValues]) -> FrameColumns:
    import numpy

    count = len(ids)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise ValueError(f"IDs: an array of {ids.dtype}: give one row of integers")
    if count and not (0 <= int(ids.min()) and int(ids.max()) <= LARGEST_ID):
        raise ValueError(f"IDs from {ids.min()} to {ids.max()}: give 0 to {LARGEST_ID:#x}")
    bits = numpy.zeros(count, dtype=numpy.uint8)
    for bit, given in flags.items():
        is_set = _spread_array(given, count, "flags").astype(bool)
        bits |= numpy.where(is_set, bit, 0).astype(numpy.uint8)
    width = 0
    if data is not None:
        _check_rows(data, count)
        width = data.shape[1]
    sizes = _spread_array(width if lengths is None else lengths, count, "lengths")
    wrong = (sizes < 0) | (sizes > LONGEST) | ((sizes > width) & (bits & REMOTE == 0))
    if wrong.any():
        number = int(wrong.argmax())
        raise ValueError(_bad_length(number, int(sizes[number]), width))
    return (
        ids.astype(numpy.uint32).tobytes(),
        bits.tobytes(),
        sizes.astype(numpy.uint8).tobytes(),
        b"" if data is None else data.tobytes(),
        width,
    )


def _from_lists(
    ids: List[int], data: Any, lengths: Any, flags: Dict[int, FlagValues]
) -> FrameColumns:
    count = len(ids)
    try:
        numbers = array(UINT32, ids).tobytes()
    except (OverflowError, TypeError) as error:
        raise ValueError(f"IDs: {error}: give integers from 0 to {LARGEST_ID:#x}") from error
    bits = bytearray(count)
    for bit, given in flags.items():
        for number, is_set in enumerate(_spread(given, count, "a flag")):
            bits[number] |= bit if is_set else 0
    rows = [b""] * count if data is None else [bytes(row) for row in data]
    if len(rows) != count:
        raise ValueError(f"{count} IDs and {len(rows)} payloads: give each ID one")
    if lengths is None:
        lengths = [len(row) for row in rows]
    sizes = _spread(lengths, count, "a length")
    for number, (size, row) in enumerate(zip(sizes, rows)):
        if not 0 <= size <= LONGEST or (size > len(row) and not bits[number] & REMOTE):
            raise ValueError(_bad_length(number, size, len(row)))
    width = max(map(len, rows), default=0)
    joined = b"".join(row.ljust(width, b"\0") for row in rows)
    return numbers, bytes(bits), bytes(sizes), joined, width


def _bad_length(number: int, size: int, given: int) -> str:
    if 0 <= size <= LONGEST:
        return (
            f"frame {number}: a length of {size} and {given} bytes of data: stuff bits depend on "
            "the payload, so give all of it"
        )
    return f"frame {number}: a length of {size}: give 0 to {LONGEST} bytes"


def _spread(given: Any, count: int, what: str) -> List[Any]:
    """Return one value for each frame."""
    if hasattr(given, "tolist"):
        given = given.tolist()
    if isinstance(given, (bool, int)):
        return [given] * count
    values = list(given)
    if len(values) != count:
        raise ValueError(f"{count} IDs and {len(values)} values of {what}: give one for each ID")
    return values
