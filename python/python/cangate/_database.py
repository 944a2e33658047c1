"""The signals of frames."""

from __future__ import annotations

import os
from array import array
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple, Union

from cangate import _core
from cangate._columns import payload_columns
from cangate._frames import FrameLike, to_parts


@dataclass(frozen=True)
class MessageInfo:
    """A message of a database."""

    #: Its name.
    name: str
    #: Its ID.
    arbitration_id: int
    #: Whether the ID has 29 bits.
    is_extended_id: bool
    #: The length of its payload, bytes.
    length: int
    #: The names of its signals with their units.
    signals: Dict[str, str]


class Database:
    """A database of messages: DBC, KCD, ARXML (AUTOSAR) or SYM (PEAK), known by its contents."""

    def __init__(self, path: Any) -> None:
        """Read a database.

        :param path: the file.
        :raises ValueError: names the line and the mistake.
        """
        name = os.fspath(path)
        with open(name, "rb") as file:
            self._core = _core.SignalDatabase(str(name), file.read())

    @classmethod
    def from_text(cls, text: str) -> Database:
        """Read a database from its text.

        :raises ValueError: names the line and the mistake.
        """
        database = cls.__new__(cls)
        database._core = _core.SignalDatabase("<text>", text.encode())
        return database

    @property
    def messages(self) -> List[MessageInfo]:
        """The messages, in the order of the file."""
        return [
            MessageInfo(name, number, is_extended, length, dict(signals))
            for name, number, is_extended, length, signals in self._core.messages()
        ]

    @property
    def warnings(self) -> List[Tuple[int, str]]:
        """Doubtful statements of the file: the line, and how the statement was taken."""
        return self._core.warnings()

    def decode(self, frame: FrameLike, names: bool = True) -> Optional[Dict[str, Any]]:
        """Return the values of the signals that a frame contains, in their units.

        The value is an ``int`` if factor and offset of the signal are whole numbers, else the
        nearest ``float`` to the exact value.

        :param frame: candump's text, or a ``can.Message``.
        :param names: whether a value that has a name is that name.
        :return: ``None`` if the database has no message with the frame's ID.
        """
        return self._core.decode(to_parts(frame), names)

    def message_of(self, frame: FrameLike) -> Optional[str]:
        """Return the name of the message of a frame; ``None`` if its ID is unknown."""
        return self._core.message_of(to_parts(frame))

    def columns(
        self, message: Union[str, MessageInfo], data: Any, lengths: Any = None
    ) -> Dict[str, Any]:
        """Return the values of many frames of one message, a column for each signal.

        :param message: the name of the message, or one of :attr:`messages`.
        :param data: the payloads: an array of bytes with a row for each frame, or a sequence of
            ``bytes``.
        :param lengths: the lengths of the payloads, if they are less than the columns of ``data``.
        :return: arrays of ``float64`` with NaN where a frame does not contain the signal; without
            NumPy, lists with ``None``.
        :raises KeyError: if there is no message of this name, or several with different IDs.
        :raises ValueError: if there are not as many lengths as payloads.
        """
        if isinstance(message, MessageInfo):
            name, number = message.name, (message.arbitration_id, message.is_extended_id)
        else:
            name, number = message, None
        found = self._core.columns(name, number, *payload_columns(data, lengths))
        try:
            import numpy
        except ImportError:
            return {
                name: [
                    value if is_there else None
                    for value, is_there in zip(array("d", values), present)
                ]
                for name, values, present in found
            }
        return {
            name: numpy.frombuffer(values, dtype=numpy.float64).copy() for name, values, _ in found
        }
