"""The open buses of this process: which bus objects share a bus, and which share a time."""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import Any, List, Optional

from cangate import _core
from cangate._sources import read_text

LOG = logging.getLogger("cangate")

DEFAULT_BITRATE = 500_000


class OpenWorld:
    """Buses with one time, as long as a bus object uses one of them."""

    def __init__(
        self, core: _core.BusWorld, clock: str, group: Optional[str], gateway: Optional[str]
    ) -> None:
        self.core = core
        self.clock = clock
        self.group = group
        self.gateway = gateway
        self.users = 0
        #: The time of the machine at the start of the buses, s; 0 for the time of a test.
        self.epoch = time.time() if clock == "real" else 0.0

    def release(self) -> None:
        """Give the world back; without users, it is gone."""
        with LOCK:
            self.users -= 1
            if self.users <= 0 and self in WORLDS:
                WORLDS.remove(self)


# Reentrant: the end of a forgotten bus object can come at any allocation.
LOCK = threading.RLock()
WORLDS: List[OpenWorld] = []


def list_channels() -> List[str]:
    """Return the names of all open channels."""
    with LOCK:
        return [name for world in list(WORLDS) for name in world.core.channels()]


def open_world(
    channel: str,
    clock: str,
    group: Optional[str],
    gateway: Optional[Any],
    bitrate: Optional[int],
    data_bitrate: Optional[int],
    acknowledge: Optional[bool],
) -> OpenWorld:
    """Return the world of a channel with one more user; make it, or its bus, if it is missing."""
    if clock not in ("real", "test"):
        raise ValueError(f"clock={clock!r}: write 'real' or 'test'")
    if not channel:
        raise ValueError("channel is missing: give the bus a name, such as channel='body'")
    with LOCK:
        source = None if gateway is None else _gateway_key(gateway)
        world = _find(channel, group, source)
        if world is None:
            world = _make(channel, clock, group, gateway, source, bitrate, data_bitrate)
        _check(world, channel, clock, group, source)
        _join(world, channel, bitrate, data_bitrate, acknowledge)
        if world not in WORLDS:
            WORLDS.append(world)
        world.users += 1
        return world


def _gateway_key(gateway: Any) -> str:
    """Return the key of a gateway: its text, or its path."""
    if isinstance(gateway, str) and "\n" in gateway:
        return gateway
    return str(os.path.realpath(os.fspath(gateway)))


def _find(channel: str, group: Optional[str], source: Optional[str]) -> Optional[OpenWorld]:
    for world in list(WORLDS):
        if group is not None and world.group == group:
            return world
        if source is not None and world.gateway == source:
            return world
        if channel in world.core.channels():
            return world
    return None


def _make(
    channel: str,
    clock: str,
    group: Optional[str],
    gateway: Optional[Any],
    source: Optional[str],
    bitrate: Optional[int],
    data_bitrate: Optional[int],
) -> OpenWorld:
    if source is None or gateway is None:
        return OpenWorld(_core.BusWorld(clock == "real"), clock, group, None)
    name, text, folder = read_text(gateway)
    core, warnings = _core.BusWorld.from_gateway(
        name,
        text,
        folder,
        DEFAULT_BITRATE if bitrate is None else bitrate,
        data_bitrate,
        clock == "real",
    )
    if channel not in core.channels():
        raise ValueError(
            f"the gateway has no port {channel!r}: its ports are " + ", ".join(core.ports())
        )
    taken = {known for world in list(WORLDS) for known in world.core.channels()}
    for known in core.channels():
        if known in taken:
            raise ValueError(
                f"channel {known!r}, a port of the gateway, is open without it: give `gateway` to "
                "the first bus object of any of its ports, or shut the others down"
            )
    if warnings:
        LOG.warning("%s", warnings.rstrip())
    return OpenWorld(core, clock, group, source)


def _check(
    world: OpenWorld,
    channel: str,
    clock: str,
    group: Optional[str],
    source: Optional[str],
) -> None:
    """Compare the options with those of the world."""
    if world.clock != clock:
        raise ValueError(
            f"channel {channel!r} has clock={world.clock!r} already, not {clock!r}: "
            "give all its bus objects the same clock, or shut the others down"
        )
    if group is not None and world.group != group:
        raise ValueError(
            f"channel {channel!r} is open in group {world.group!r}, not {group!r}: "
            "give its first bus object the group"
        )
    if source is not None and world.gateway != source:
        raise ValueError(
            f"channel {channel!r} is open without this gateway: give `gateway` to the first bus "
            "object, or shut the others down"
        )


def _join(
    world: OpenWorld,
    channel: str,
    bitrate: Optional[int],
    data_bitrate: Optional[int],
    acknowledge: Optional[bool],
) -> None:
    """Make the bus of a channel, or compare the options with those that it has."""
    rates = world.core.rates(channel)
    if rates is None:
        if world.gateway is not None:
            raise ValueError(
                f"the gateway has no port {channel!r}: its ports are "
                + ", ".join(world.core.channels())
            )
        world.core.add_bus(
            channel,
            DEFAULT_BITRATE if bitrate is None else bitrate,
            data_bitrate,
            acknowledge is not False,
        )
        return
    for name, known, given in [
        ("bitrate", rates[0], bitrate),
        ("data_bitrate", rates[1], data_bitrate),
        ("acknowledge", rates[2], acknowledge),
    ]:
        if given is not None and given != known:
            raise ValueError(
                f"channel {channel!r} has {name}={known} already, not {given}: give all its bus "
                f"objects the same {name}, or leave it out"
            )
