"""Periodic sending in the time of the bus."""

from __future__ import annotations

import logging
from typing import Callable, Optional, Sequence, Tuple, Union

from can import Message
from can.broadcastmanager import (
    LimitedDurationCyclicSendTaskABC,
    ModifiableCyclicTaskABC,
    RestartableCyclicTaskABC,
)

from cangate import _core
from cangate._frames import FrameParts, to_parts
from cangate._time import to_ns

LOG = logging.getLogger("can.cangate")

#: The shortest period, ns. No bus has frames as short as this.
SHORTEST_NS = 1_000


class FrameChanges:
    """The messages of a task, and the function that changes them before they are sent.

    The extension module keeps this object. It has no reference to the task, so that a task ends
    when the program has dropped it.
    """

    def __init__(
        self,
        station: _core.BusStation,
        messages: Sequence[Message],
        modifier: Optional[Callable[[Message], None]],
    ) -> None:
        self.messages = messages
        self.modifier = modifier
        self.on_error: Optional[Callable[[Exception], bool]] = None
        self.task = 0
        self._station = station

    def __call__(self, index: int) -> Optional[FrameParts]:
        """Return the changed message with this index; ``None`` leaves it out.

        An error goes to the log and to ``on_error``, as in python-can. Without ``on_error``, it is
        raised, and the task stops.
        """
        message = self.messages[index]
        try:
            if self.modifier is not None:
                self.modifier(message)
            parts = to_parts(message)
            self._station.check(parts)
            return parts
        except Exception as error:
            LOG.exception("modifier_callback of the periodic message 0x%X", message.arbitration_id)
            if self.on_error is None:
                raise
            if not self.on_error(error):
                self._station.stop_cyclic(self.task)
            return None


class ScheduledSendTask(
    LimitedDurationCyclicSendTaskABC, ModifiableCyclicTaskABC, RestartableCyclicTaskABC
):
    """A task whose messages the bus itself sends, each at its time.

    It needs no thread: the messages are sent while the time of the bus passes. The first one is
    sent when the task starts, the n-th one n - 1 periods later, however long each took.
    """

    def __init__(
        self,
        station: _core.BusStation,
        messages: Union[Sequence[Message], Message],
        period: float,
        duration: Optional[float] = None,
        autostart: bool = True,
        modifier_callback: Optional[Callable[[Message], None]] = None,
    ) -> None:
        """Make a task of a bus object; :meth:`can.BusABC.send_periodic` does.

        :param period: the time from one message to the next, s.
        :param duration: the time after the start from which on no message is sent, s.
        :param modifier_callback: changes the data of each message before it is sent. It is called
            in the thread that lets the time pass, and must not let time pass itself. Its errors go
            to :attr:`on_error`.
        :raises ValueError: if a time or a message is out of range.
        """
        super().__init__(messages, period, duration)
        if to_ns(period, "period") < SHORTEST_NS:
            raise ValueError(f"period={period}: give at least {SHORTEST_NS / 1e9:g} s")
        self._station = station
        self._changes = FrameChanges(station, self.messages, modifier_callback)
        self._task = self._changes.task = station.add_cyclic(
            [to_parts(message) for message in self.messages],
            to_ns(period, "period"),
            None if duration is None else to_ns(duration, "duration"),
            None if modifier_callback is None else self._changes,
        )
        if autostart:
            self.start()

    @property
    def on_error(self) -> Optional[Callable[[Exception], bool]]:
        """What is called with an error of ``modifier_callback``.

        It returns whether the task goes on, without this message; else it stops. By default, there
        is none: the task stops, and the call that lets the time pass raises the error. The log
        ``can.cangate`` has the error in each case.
        """
        return self._changes.on_error

    @on_error.setter
    def on_error(self, handler: Optional[Callable[[Exception], bool]]) -> None:
        self._changes.on_error = handler

    def start(self) -> None:
        """Start the task now, also again."""
        self._station.start_cyclic(self._task)

    def stop(self) -> None:
        """Stop the task. Messages that the node has taken already are sent."""
        self._station.stop_cyclic(self._task)

    def modify_data(self, messages: Union[Sequence[Message], Message]) -> None:
        """Replace the data of the messages from the next one on; the times stay as they are."""
        super().modify_data(messages)
        self._changes.messages = self.messages
        self._station.modify_cyclic(self._task, [to_parts(message) for message in self.messages])

    @property
    def is_running(self) -> bool:
        """Whether the task will send more messages."""
        return (self._station.cyclic_state(self._task) or (False, 0, 0))[0]

    def counts(self) -> Tuple[int, int]:
        """Return how many messages the node took, and how many found its queue full."""
        _, taken, missed = self._station.cyclic_state(self._task) or (False, 0, 0)
        return taken, missed

    def __del__(self) -> None:
        # Python drops a task that runs, too: it goes on until its duration or its bus object ends.
        task = getattr(self, "_task", None)
        if task is not None:
            self._station.forget_cyclic(task)
