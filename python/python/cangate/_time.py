"""Times: seconds of Python as whole nanoseconds."""

from __future__ import annotations

import math

#: The longest time of a call: a hundred years.
LONGEST_S = 3.2e9


def to_ns(seconds: float, name: str) -> int:
    """Return a time in whole nanoseconds; ``name`` is that of the argument.

    :raises ValueError: if it is negative, not a number, or too long.
    """
    if math.isnan(seconds) or not 0 <= seconds <= LONGEST_S:
        raise ValueError(f"{name}={seconds}: give a time from 0 to {LONGEST_S:g} s")
    return round(seconds * 1e9)
