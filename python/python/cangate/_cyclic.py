"""Periodic sending in the time of the bus."""

from __future__ import annotations

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

#: The shortest period, ns. No bus has frames as short as this.
SHORTEST_NS = 1_000


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
            in the thread that lets the time pass, and must not let time pass itself.
        :raises ValueError: if a time or a message is out of range.
        """
        super().__init__(messages, period, duration)
        if to_ns(period, "period") < SHORTEST_NS:
            raise ValueError(f"period={period}: give at least {SHORTEST_NS / 1e9:g} s")
        self._station = station
        self._modifier = modifier_callback
        self._task = station.add_cyclic(
            [to_parts(message) for message in self.messages],
            to_ns(period, "period"),
            None if duration is None else to_ns(duration, "duration"),
            None if modifier_callback is None else self._modify,
        )
        if autostart:
            self.start()

    def _modify(self, index: int) -> FrameParts:
        message = self.messages[index]
        if self._modifier is not None:
            self._modifier(message)
        return to_parts(message)

    def start(self) -> None:
        """Start the task now, also again."""
        self._station.start_cyclic(self._task)

    def stop(self) -> None:
        """Stop the task. Messages that the node has taken already are sent."""
        self._station.stop_cyclic(self._task)

    def modify_data(self, messages: Union[Sequence[Message], Message]) -> None:
        """Replace the data of the messages from the next one on; the times stay as they are."""
        super().modify_data(messages)
        self._station.modify_cyclic(self._task, [to_parts(message) for message in self.messages])

    @property
    def is_running(self) -> bool:
        """Whether the task will send more messages."""
        return (self._station.cyclic_state(self._task) or (False, 0, 0))[0]

    def counts(self) -> Tuple[int, int]:
        """Return how many messages the node took, and how many found its queue full."""
        _, taken, missed = self._station.cyclic_state(self._task) or (False, 0, 0)
        return taken, missed
