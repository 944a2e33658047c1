"""Worst-case response times."""

from __future__ import annotations

from typing import Any, Dict

from cangate import _core
from cangate._sources import read_text


def bounds(source: Any) -> Dict[str, Any]:
    """Return the worst-case response times of a message set.

    The keys of the result mean the same as in ``cangate bound --json``, which has more of them
    (about gateways and random errors, for example); times are in ns. The result has ``buses``, each
    with ``load``, ``nodes`` and ``messages``. A message has ``bound`` with ``response_ns`` and its
    parts (``None`` without a bound, and ``no_bound`` is the reason), and ``can_miss``, whether its
    deadline can be missed. ``timeouts`` are those of receivers on the bus of the message.

    :param source: the path of a message set (``docs/bound.md`` has its keys), or its text.
    :raises ValueError: with the text of ``cangate bound`` about all mistakes, each with its line.
    """
    name, text, _ = read_text(source)
    return _core.bounds_of_text(name, text)
