"""CAN buses in bit time, exact frame durations, bounds and signals.

* :func:`timing`, :func:`durations`, :func:`bus_load`: frames on the wire.
* :func:`bounds`: worst-case response times of a message set.
* :class:`Database`: the signals of frames.
* :func:`read`: results files.
* ``can.Bus(interface="cangate", ...)``: buses for python-can, see :class:`cangate.can.CangateBus`.

The guide is ``docs/python.md`` in cangate's repository.
"""

from cangate._bounds import bounds
from cangate._core import FrameTiming, __version__
from cangate._database import Database
from cangate._results import read
from cangate._timing import bus_load, durations, timing

__all__ = [
    "Database",
    "FrameTiming",
    "__version__",
    "bounds",
    "bus_load",
    "durations",
    "read",
    "timing",
]
