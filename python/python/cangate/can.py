"""Buses in bit time for python-can: ``can.Bus(interface="cangate", ...)``."""

from __future__ import annotations

import logging
import threading
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import can
from can import BitTiming, BitTimingFd, BusABC, BusState, CanProtocol, Message
from can.exceptions import CanOperationError

from cangate import _core
from cangate._cyclic import ScheduledSendTask
from cangate._frames import BRS, ERROR, ESI, EXTENDED, FD, OWN, REMOTE, to_parts
from cangate._time import to_ns
from cangate._worlds import OpenWorld, list_channels, open_world

LOG = logging.getLogger("can.cangate")

__all__ = ["CangateBus", "ScheduledSendTask"]

#: Frames that a bus object keeps until they are received.
DEFAULT_RECEIVE_QUEUE = 262_144


class CangateBus(BusABC):
    """A node of a CAN bus that is simulated in bit time.

    Bus objects of one process with the same channel are nodes of the same bus. A bus arbitrates by
    ID and takes the exact time of each frame; received messages have the time of their end of
    frame. Without other nodes, a frame is acknowledged by a node that does nothing else.

    With ``clock="test"``, time passes only in :meth:`recv`, :meth:`advance` and a :meth:`send` that
    waits: in the thread that made the bus object, ``recv`` moves the time to the next frame, or by
    the timeout. In other threads, such as that of a ``can.Notifier``, ``recv`` moves no time: it
    waits in real time for frames that others bring. ``time.sleep`` moves no time either.
    """

    def __init__(
        self,
        channel: Any = None,
        can_filters: Optional[can.typechecking.CanFilters] = None,
        *,
        bitrate: Optional[int] = None,
        data_bitrate: Optional[int] = None,
        fd: Optional[bool] = None,
        timing: Optional[Union[BitTiming, BitTimingFd]] = None,
        clock: str = "real",
        gateway: Optional[Any] = None,
        group: Optional[str] = None,
        receive_own_messages: bool = False,
        error_frames: bool = True,
        acknowledge: Optional[bool] = None,
        listen_only: bool = False,
        mailboxes: int = 3,
        queue: int = 1_000,
        receive_queue: int = DEFAULT_RECEIVE_QUEUE,
        single_handle: bool = True,
    ) -> None:
        """Attach a node to the bus of a channel; the first one makes the bus.

        :param channel: the name of the bus; with a gateway, the name of one of its ports.
        :param can_filters: as for :meth:`set_filters`. Error frames pass all filters.
        :param bitrate: nominal bit rate, bit/s; 500000 if neither it nor a gateway file gives one.
        :param data_bitrate: bit rate of the data phase, bit/s; makes an FD bus.
        :param fd: an FD bus; without ``data_bitrate``, its data phase has 2000000 bit/s.
        :param timing: bit rates as python-can's bit timing; its sample points have no effect.
        :param clock: ``"real"``, or ``"test"`` for a time that starts at 0 and that calls move.
        :param gateway: the path of a gateway file, or its text: the gateway stands between the
            channels that are the ports of the file.
        :param group: bus objects with the same group have the same time, whatever their channels.
        :param receive_own_messages: receive the messages that this object has sent, too.
        :param error_frames: receive error frames: errors on the bus, and changes of the node's
            error state, with the classes and bytes of SocketCAN.
        :param acknowledge: whether a node acknowledges that does nothing else; by default, it does.
            Without it, the only node of a bus repeats its frame, as on a real bus.
        :param listen_only: receive without acknowledging; send nothing.
        :param mailboxes: transmit buffers of the node that take part in arbitration, 1 to 255.
        :param queue: messages that wait for a transmit buffer, in the order of arrival.
        :param receive_queue: messages that wait for :meth:`recv`. Further ones are lost and counted
            (``statistics()["overruns"]``).
        :param single_handle: has no effect; python-can's own programs pass it.
        :raises ValueError: for options out of range or against those of the channel; of mistakes in
            a gateway file, it has cangate's text with the lines.
        """
        # Without this, BusABC.__del__ takes down an object whose constructor has failed.
        self._is_shutdown = True
        if isinstance(timing, BitTimingFd):
            bitrate, data_bitrate = timing.nom_bitrate, timing.data_bitrate
        elif isinstance(timing, BitTiming):
            bitrate = timing.bitrate
        if not 1 <= mailboxes <= 255:
            raise ValueError(f"mailboxes={mailboxes}: give 1 to 255")
        if queue < 0 or receive_queue < 1:
            raise ValueError(
                f"queue={queue}, receive_queue={receive_queue}: give at least 0 and at least 1"
            )
        if fd and data_bitrate is None:
            data_bitrate = 2_000_000
        if fd is False and data_bitrate is not None:
            raise ValueError(f"fd=False and data_bitrate={data_bitrate}: leave out one of them")
        name = "" if channel is None else str(channel)
        self._world: OpenWorld = open_world(
            name, clock, group, gateway, bitrate, data_bitrate, acknowledge
        )
        try:
            self._station = self._world.core.attach(
                name,
                mailboxes,
                queue,
                listen_only,
                receive_own_messages,
                error_frames,
                receive_queue,
            )
        except BaseException:
            self._world.release()
            raise
        try:
            rates = self._world.core.rates(name)
            self.channel = name
            self.bitrate, self.data_bitrate = (rates[0], rates[1]) if rates else (0, None)
            self._thread = threading.get_ident()
            self._can_protocol = CanProtocol.CAN_FD if self.data_bitrate else CanProtocol.CAN_20
            self.channel_info = f"cangate bus {name} at {self.bitrate} bit/s, {clock} time"
            super().__init__(channel=channel, can_filters=can_filters)
        except BaseException:
            self._station.close()
            self._world.release()
            raise
        self._is_shutdown = False

    # Time

    def now(self) -> float:
        """Return the time of the bus, s; with ``clock="test"``, 0 is its start."""
        return self._world.epoch + self._station.now() / 1e9

    def now_ns(self) -> int:
        """Return the time since the start of the bus, ns, exactly."""
        return self._station.now()

    def advance(self, seconds: float) -> None:
        """Let this time pass, s: at once with ``clock="test"``, else as ``time.sleep``.

        :raises ValueError: if the time is negative or not a number.
        :raises OverflowError: if the bus would have a time of more than 146 years.
        """
        self._check_open()
        self._station.advance(to_ns(seconds, "seconds"))

    def _drives(self) -> bool:
        return threading.get_ident() == self._thread

    # Messages

    def send(self, msg: Message, timeout: Optional[float] = None) -> None:
        """Hand a message to the node; it takes part in the next arbitration.

        :param timeout: the longest time to wait for a place in the queue, s. Without it, a full
            queue is an error at once.
        :raises ~can.exceptions.CanOperationError: if the node does not take it.
        :raises ValueError: if no bus carries such a message.
        """
        self._check_open()
        wait = None if timeout is None else to_ns(max(timeout, 0), "timeout")
        try:
            self._station.send(to_parts(msg), wait, self._drives())
        except _core.StationError as error:
            raise CanOperationError(str(error)) from None

    def recv(self, timeout: Optional[float] = None) -> Optional[Message]:
        """Return the next message that passes the filters, or ``None`` after the timeout, s.

        With ``clock="test"``, the bus's time moves to the end of that message, or by the timeout.

        :raises OverflowError: if the bus would have a time of more than 146 years.
        """
        # BusABC.recv measures the rest of a timeout by the time of the machine.
        message, _ = self._recv_internal(timeout)
        if message:
            LOG.log(self.RECV_LOGGING_LEVEL, "Received: %s", message)
        return message

    def _recv_internal(self, timeout: Optional[float]) -> Tuple[Optional[Message], bool]:
        self._check_open()
        wait = None if timeout is None else to_ns(max(timeout, 0), "timeout")
        heard = self._station.receive(wait, self._drives())
        if heard is None:
            if timeout is None:
                raise CanOperationError(f"channel {self.channel!r} was closed during recv")
            return None, True
        at, number, flags, length, data = heard
        message = Message(
            timestamp=self._world.epoch + at / 1e9,
            arbitration_id=number,
            is_extended_id=bool(flags & EXTENDED),
            is_remote_frame=bool(flags & REMOTE),
            is_error_frame=bool(flags & ERROR),
            channel=self.channel,
            dlc=length,
            data=data,
            is_fd=bool(flags & FD),
            is_rx=not flags & OWN,
            bitrate_switch=bool(flags & BRS),
            error_state_indicator=bool(flags & ESI),
        )
        return message, True

    def _apply_filters(self, filters: Optional[can.typechecking.CanFilters]) -> None:
        if not filters:
            self._station.set_filters(None)
            return
        chosen: List[Tuple[int, int, Optional[bool]]] = [
            (rule["can_id"], rule["can_mask"], rule.get("extended")) for rule in filters
        ]
        self._station.set_filters(chosen)

    def _send_periodic_internal(
        self,
        msgs: Union[Sequence[Message], Message],
        period: float,
        duration: Optional[float] = None,
        autostart: bool = True,
        modifier_callback: Optional[Callable[[Message], None]] = None,
    ) -> can.broadcastmanager.CyclicSendTaskABC:
        if modifier_callback is not None and self._world.clock == "real":
            # In real time, it has a thread of its own, as with other interfaces.
            return super()._send_periodic_internal(
                msgs, period, duration, autostart, modifier_callback
            )
        return ScheduledSendTask(
            self._station, msgs, period, duration, autostart, modifier_callback
        )

    def flush_tx_buffer(self) -> None:
        """Take back all messages that are not on the wire."""
        self._check_open()
        self._station.cancel()

    # The node and its bus

    @property
    def state(self) -> BusState:
        """The error state of the node: bus-off is ``ERROR``."""
        number, _, _ = self._station.state() or (0, 0, 0)
        return {2: BusState.PASSIVE, 3: BusState.ERROR}.get(number, BusState.ACTIVE)

    @state.setter
    def state(self, new_state: BusState) -> None:
        raise NotImplementedError(
            "the error state follows from the error counters; for a node that only listens, open "
            "the bus with listen_only=True"
        )

    def error_counters(self) -> Tuple[int, int]:
        """Return the transmit and the receive error counter of the node."""
        _, transmit, receive = self._station.state() or (0, 0, 0)
        return transmit, receive

    def statistics(self) -> Dict[str, int]:
        """Return counts of this node, and of the bus since its start.

        ``sent``, ``received``, ``dropped`` (at bus-off), ``overruns`` (no place in
        ``receive_queue``); ``bus_frames``, ``bus_errors``, ``bus_time_ns``, ``bus_busy_ns`` and
        ``bus_skipped_ns`` (real time that the bus has left out after a pause of the process).
        """
        return self._station.statistics()

    def load(self) -> float:
        """Return the load of the bus since its start: 1 is all of the time."""
        found = self.statistics()
        return found["bus_busy_ns"] / found["bus_time_ns"] if found["bus_time_ns"] else 0.0

    def disturb_next(self, kind: str = "bit", bit: Optional[int] = None) -> None:
        """Disturb the next frame that starts on the bus; its sender repeats it.

        :param kind: the error that it makes nodes detect: bit, stuff, form, crc or ack.
        :param bit: the bit of the frame, from 0 with stuff bits; by default, any.
        """
        self._check_open()
        self._station.inject(kind, bit)

    def gateway_fates(self) -> Optional[Dict[str, int]]:
        """Return how many frames the gateway has received, and the fates of all of them.

        The sum of all other values is ``received``. ``None`` without a gateway.
        """
        return self._world.core.gateway_fates()

    def shutdown(self) -> None:
        """Take the node off. When the last node of all its channels is off, the bus is gone."""
        if self._is_shutdown:
            return
        super().shutdown()
        self._station.close()
        self._world.release()

    def _check_open(self) -> None:
        if self._is_shutdown:
            raise CanOperationError(f"channel {self.channel!r} is closed: open a new bus object")

    @staticmethod
    def _detect_available_configs() -> List[can.typechecking.AutoDetectedConfig]:
        return [{"interface": "cangate", "channel": channel} for channel in list_channels()]
