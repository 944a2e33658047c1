"""What a bus keeps, and how long: tasks, nodes, times, and locks."""

import gc
import logging
import threading
import time

import pytest

can = pytest.importorskip("can")


def message(number, data=b""):
    return can.Message(arbitration_id=number, data=data, is_extended_id=False)


@pytest.fixture
def open_bus():
    buses = []

    def make(channel="body", **more):
        more.setdefault("clock", "test")
        bus = can.Bus(interface="cangate", channel=channel, **more)
        buses.append(bus)
        return bus

    yield make
    for bus in buses:
        bus.shutdown()


def sizes(bus):
    gc.collect()
    return bus._world.core.sizes()


def test_a_task_is_gone_when_it_is_dropped(open_bus):
    sender = open_bus()
    for number in range(5):
        task = sender.send_periodic(message(number), 0.01)
        changed = sender.send_periodic(message(number), 0.01, modifier_callback=lambda _: None)
        sender.advance(0.02)
        for each in (task, changed):
            each.stop()
            assert each.counts() == (3, 0) and not each.is_running
        assert sizes(sender) == (1, 2, 1)
        del task, changed, each
    assert sizes(sender) == (1, 0, 0)


def test_a_dropped_task_that_runs_is_gone_at_its_end(open_bus):
    sender, receiver = open_bus(), open_bus()
    for callback in (None, lambda _: None):
        sender.send_periodic(
            message(1), 0.01, duration=0.1, store_task=False, modifier_callback=callback
        )
    receiver.advance(0.05)
    assert sizes(sender) == (2, 2, 1)
    receiver.advance(1)
    assert receiver.statistics()["received"] == 20
    sender.send_periodic(message(2), 0.01, store_task=False).stop()
    assert sizes(sender) == (2, 0, 0)
    sender.send_periodic(message(1), 0.01, store_task=False)
    sender.shutdown()
    assert sizes(receiver) == (1, 0, 0)


def test_a_closed_bus_object_leaves_its_last_counts(open_bus):
    stays = open_bus()
    for _ in range(20):
        with can.Bus(interface="cangate", channel="body", clock="test") as bus:
            bus.send(message(1))
            bus.advance(0.01)
        assert bus.statistics()["sent"] == 1 and bus.state is can.BusState.ACTIVE
        del bus
    assert sizes(stays) == (1, 0, 0)
    # The other node hears all frames, and those of the next one.
    assert stays.statistics()["received"] == 20


def test_many_tasks_take_the_time_of_their_frames(open_bus):
    def play(tasks):
        with can.Bus(interface="cangate", channel="many", clock="test", queue=0) as bus:
            for number in range(tasks):
                bus.send_periodic(message(1), 1 + number / tasks)
            before = time.perf_counter()
            bus.advance(8_000 / tasks)
            return time.perf_counter() - before

    # As many frames in each; a search of all tasks for each frame takes a hundred times as long.
    few, many = (min(play(tasks) for _ in range(3)) for tasks in (40, 4_000))
    assert many < few * 15


def test_the_time_of_a_bus_has_an_end(open_bus):
    bus = open_bus()
    bus.advance(3.2e9)
    bus.send_periodic(message(1), 1e9)
    for call in (lambda: bus.advance(3.2e9), lambda: bus.recv(3.2e9), lambda: bus.advance(2e9)):
        with pytest.raises(OverflowError, match="146 years after its start: let less time pass"):
            call()
    assert bus.now_ns() < 2**62 and bus.statistics()["sent"] == 2
    with pytest.raises(OverflowError, match='channel "body"'):
        bus.recv()
    bus.advance(1)
    bus.shutdown()
    assert open_bus().now() == 0


def test_other_threads_of_python_run_while_a_call_waits_for_a_bus(open_bus):
    # A slice of a bus with many nodes takes long, and has the bus's lock.
    buses = [open_bus(error_frames=False, receive_queue=1) for _ in range(1_500)]
    sender = buses[0]
    sender.send_periodic(message(1), 0.000_2)
    ends, ticks = threading.Event(), [0]

    def advance():
        while not ends.is_set():
            sender.advance(0.5)

    def tick():
        while not ends.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    threads = [threading.Thread(target=work) for work in (advance, tick)]
    for thread in threads:
        thread.start()
    waits = []
    try:
        until = time.perf_counter() + 1.5
        while time.perf_counter() < until:
            start, first = time.perf_counter(), ticks[0]
            sender._world.core.channels()
            waits.append((time.perf_counter() - start, ticks[0] - first))
            time.sleep(0.002)
    finally:
        ends.set()
        for thread in threads:
            thread.join()
    longest, ticked = max(waits)
    if longest < 0.03:
        pytest.skip("no call had to wait for the bus")
    assert ticked >= 5, f"{ticked} ticks in {longest} s"


def test_a_pause_that_cannot_be_caught_up_with_is_left_out_and_counted(open_bus, caplog):
    opened = time.perf_counter()
    bus = open_bus(clock="real", mailboxes=1, queue=0)
    start = time.perf_counter()
    for number in range(8):
        bus.send_periodic(message(number), 1e-6)
    time.sleep(0.3)
    with caplog.at_level(logging.WARNING, "cangate"):
        bus.now()
    skipped = bus.statistics()["bus_skipped_ns"]
    assert skipped > 0 and "the buses stood still for" in caplog.text
    bus.stop_all_periodic_tasks()
    # A pause with less traffic leaves nothing out.
    skipped = bus.statistics()["bus_skipped_ns"]
    time.sleep(0.1)
    earliest = time.perf_counter() - start
    passed = (bus.now_ns() + skipped) / 1e9
    assert earliest <= passed <= time.perf_counter() - opened
    assert bus.statistics()["bus_skipped_ns"] == skipped


def test_a_bus_object_that_cannot_be_made_leaves_nothing(open_bus, caplog):
    for _ in range(3):
        with pytest.raises(KeyError, match="can_mask"):
            can.Bus(
                interface="cangate", channel="failed", clock="test", can_filters=[{"can_id": 1}]
            )
    gc.collect()
    assert "failed" not in [c["channel"] for c in can.detect_available_configs("cangate")]
    first = open_bus()
    with pytest.raises(KeyError, match="can_mask"):
        open_bus(can_filters=[{"can_id": 1}])
    assert sizes(first) == (1, 0, 0)
    first.advance(1)
    assert open_bus().now() == 1 and "shut down" not in caplog.text


def test_errors_of_a_callback_go_to_on_error_and_to_the_log(open_bus, caplog):
    sender, receiver = open_bus(), open_bus()
    counts = iter(range(100))

    def change(changed):
        count = next(counts)
        if count % 3 == 1:
            raise KeyError(f"count {count}")
        changed.data = bytes(99 if count % 3 == 2 else 1)

    errors = []
    task = sender.send_periodic(message(1, b"\x00"), 0.01, modifier_callback=change)
    task.on_error = lambda error: errors.append(error) or len(errors) < 6
    receiver.advance(1)
    # Three calls each: a message, an error of the function, and a message that no bus carries.
    assert [type(error) for error in errors] == [KeyError, ValueError] * 3
    assert receiver.statistics()["received"] == 3 and not task.is_running
    assert caplog.text.count("modifier_callback of the periodic message 0x1") == 6
    with pytest.raises(KeyError, match="count"):
        task.on_error = None
        task.start()
        receiver.advance(1)
    assert caplog.text.count("modifier_callback") == 7
