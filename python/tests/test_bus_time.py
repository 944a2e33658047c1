"""Buses in bit time: arbitration, durations, the time of a test, errors."""

import asyncio
import gc
import random
import threading
import time

import pytest

import cangate
from reference import scheduled

can = pytest.importorskip("can")


def message(number, data=b"", **more):
    more.setdefault("is_extended_id", False)
    return can.Message(arbitration_id=number, data=data, **more)


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


def test_a_message_has_the_time_of_its_end(open_bus):
    sender, receiver = open_bus(), open_bus()
    assert receiver.now() == 0.0
    sent = message(0x123, b"\x11\x22")
    sender.send(sent)
    heard = receiver.recv()
    expected = cangate.timing(sent, bitrate=500_000).duration_ns
    assert round(heard.timestamp * 1e9) == receiver.now_ns() == expected


@pytest.mark.parametrize("length", [0, 1, 8, 12, 20, 64])
def test_an_fd_message_takes_its_time(open_bus, length):
    sender = open_bus(bitrate=500_000, data_bitrate=2_000_000)
    receiver = open_bus()
    sent = message(0x123, bytes(range(length)), is_fd=True, bitrate_switch=True)
    sender.send(sent)
    heard = receiver.recv(1)
    timing = cangate.timing(sent, bitrate=500_000, data_bitrate=2_000_000)
    assert round(heard.timestamp * 1e9) == timing.duration_ns
    assert receiver.protocol is can.CanProtocol.CAN_FD


def test_a_length_without_a_dlc_is_padded(open_bus):
    sender, receiver = open_bus(fd=True), open_bus()
    sender.send(message(0x123, b"\xff" * 9, is_fd=True))
    heard = receiver.recv(1)
    assert heard.dlc == 12 and heard.data == b"\xff" * 9 + bytes(3)


def test_a_bus_object_hears_the_frames_that_start_after_it_was_made(open_bus):
    sender = open_bus()
    sender.send(message(1))
    sender.advance(0.000_01)
    late = open_bus()
    sender.send(message(2))
    assert late.recv(1).arbitration_id == 2


def test_the_lower_id_is_first(open_bus):
    buses = [open_bus() for _ in range(4)]
    receiver = open_bus()
    for bus, number in zip(buses, [0x400, 0x100, 0x300, 0x200]):
        bus.send(message(number))
    heard = [receiver.recv(1) for _ in range(4)]
    assert [m.arbitration_id for m in heard] == [0x100, 0x200, 0x300, 0x400]
    at = 0
    for received in heard:
        timing = cangate.timing(received)
        assert round(received.timestamp * 1e9) == at + timing.duration_ns
        at += timing.occupied_ns


def test_a_standard_id_wins_against_an_extended_one_and_data_against_remote(open_bus):
    buses = [open_bus() for _ in range(3)]
    receiver = open_bus()
    sent = [
        message(0x123 << 18, is_extended_id=True),
        message(0x123, is_remote_frame=True),
        message(0x123, b"\x01"),
    ]
    for bus, each in zip(buses, sent):
        bus.send(each)
    heard = [receiver.recv(1) for _ in range(3)]
    assert [m.is_remote_frame for m in heard] == [False, True, False]
    assert [m.is_extended_id for m in heard] == [False, False, True]


def play(channel):
    heard = []
    with (
        can.Bus(interface="cangate", channel=channel, clock="test") as a,
        can.Bus(interface="cangate", channel=channel, clock="test") as b,
        can.Bus(interface="cangate", channel=channel, clock="test") as tester,
    ):
        a.send_periodic(message(0x100, b"\x01" * 8), 0.001)
        b.send_periodic(message(0x101, b"\x02" * 8), 0.0007, duration=0.5)
        while tester.now() < 1:
            received = tester.recv(0.1)
            heard.append((round(received.timestamp * 1e9), received.arbitration_id))
            if received.arbitration_id == 0x100 and len(heard) % 7 == 0:
                tester.send(message(0x050, b"\x03"))
                tester.advance(0.000_3)
    return heard


def test_the_same_calls_give_the_same_times():
    first, second = play("one"), play("two")
    assert len(first) > 1500 and first == second


def test_time_passes_only_by_calls(open_bus):
    bus = open_bus()
    time.sleep(0.01)
    assert bus.recv(-1) is None and bus.now() == 0
    assert bus.recv(timeout=3600) is None
    bus.advance(60)
    assert bus.now() == 3660
    with pytest.raises(ValueError, match="seconds=-1"):
        bus.advance(-1)
    with pytest.raises(ValueError, match="timeout=nan"):
        bus.recv(float("nan"))


def test_a_timeout_counts_the_time_of_messages_that_filters_leave_out(open_bus):
    sender = open_bus()
    receiver = open_bus(can_filters=[{"can_id": 1, "can_mask": 0x7FF}])
    sender.send_periodic(message(2), 0.001)
    assert receiver.recv(0.25) is None
    assert receiver.now() == 0.25


def test_periodic_messages_have_exact_times(open_bus):
    sender, receiver = open_bus(), open_bus()
    task = sender.send_periodic(message(0x55, b"\x01"), 0.01, duration=0.1)
    duration = cangate.timing(message(0x55, b"\x01")).duration_ns
    receiver.advance(1)
    heard = []
    while (received := receiver.recv(0)) is not None:
        heard.append(round(received.timestamp * 1e9))
    assert heard == [number * 10_000_000 + duration for number in range(10)]
    assert not task.is_running and task.counts() == (10, 0)
    task.start()
    assert receiver.recv(1).timestamp == 1 + duration / 1e9
    with pytest.raises(ValueError, match="cannot be changed"):
        task.modify_data(message(0x56))
    with pytest.raises(ValueError, match="period=0: give at least 1e-06 s"):
        sender.send_periodic(message(1), 0)


def test_a_periodic_message_is_changed_each_time(open_bus):
    sender, receiver = open_bus(), open_bus()

    def count(changed):
        changed.data[0] = (changed.data[0] + 1) % 16

    task = sender.send_periodic(message(0x55, b"\x00"), 0.01, modifier_callback=count)
    receiver.advance(0.195)
    heard = []
    while (received := receiver.recv(0)) is not None:
        heard.append((received.data[0], round(received.timestamp, 3)))
    assert heard[:3] == [(1, 0.0), (2, 0.01), (3, 0.02)] and len(heard) == 20
    task.stop()
    assert receiver.recv(0.1) is None


def test_a_callback_that_fails_stops_its_task(open_bus):
    sender, receiver = open_bus(), open_bus()

    def fail(_):
        raise KeyError("counter")

    failing = sender.send_periodic(message(1), 0.01, modifier_callback=fail)
    with pytest.raises(KeyError, match="counter"):
        receiver.recv(1)
    assert not failing.is_running
    waiting = sender.send_periodic(message(2), 0.01, modifier_callback=lambda _: receiver.recv(1))
    with pytest.raises(RuntimeError, match="lets time pass"):
        receiver.recv(1)
    assert not waiting.is_running and receiver.recv(0.1) is None


def test_two_threads_that_let_time_pass_change_each_message_once(open_bus):
    sender, receiver = open_bus(), open_bus()
    counts = iter(range(10_000))

    def count(changed):
        changed.data[:] = next(counts).to_bytes(2, "big")

    sender.send_periodic(message(0x55, bytes(2)), 0.001, modifier_callback=count)
    threads = [threading.Thread(target=bus.advance, args=(0.5,)) for bus in (sender, receiver)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    heard = []
    while (received := receiver.recv(0)) is not None:
        heard.append(int.from_bytes(received.data, "big"))
    assert heard == list(range(len(heard))) and len(heard) >= 500


def test_a_periodic_message_finds_a_full_queue(open_bus):
    sender = open_bus(mailboxes=1, queue=0)
    task = sender.send_periodic(message(1, bytes(8)), 0.000_1)
    sender.advance(0.01)
    taken, missed = task.counts()
    assert missed > 0 and taken + missed == 101


def test_a_full_queue_refuses_or_waits(open_bus):
    sender = open_bus(mailboxes=1, queue=1)
    sender.send(message(1, bytes(8)))
    sender.send(message(2))
    with pytest.raises(can.CanOperationError, match="queue is full: give `send` a timeout"):
        sender.send(message(3))
    with pytest.raises(can.CanOperationError, match="queue is full"):
        sender.send(message(3), timeout=0.000_05)
    sender.send(message(3), timeout=1)
    assert sender.now() == cangate.timing(message(1, bytes(8))).duration_ns / 1e9
    sender.flush_tx_buffer()
    sender.advance(1)
    assert sender.statistics()["sent"] < 3


def test_messages_that_no_bus_carries_are_refused(open_bus):
    bus = open_bus()
    for wrong, words in [
        (message(0x800), "is_extended_id=True"),
        (message(0x20000000, is_extended_id=True), "0 to 0x1fffffff"),
        (message(-1), "0 to 0x1fffffff"),
        (message(1, dlc=65, is_remote_frame=True), "a length of 0 to 64"),
        (message(1, dlc=9, is_remote_frame=True), "9 bytes do not fit"),
        (message(1, bytes(9)), "is_fd=True"),
        (message(1, bytes(65), is_fd=True), "64"),
        (message(1, is_fd=True, is_remote_frame=True), "cannot be remote"),
        (message(1, is_error_frame=True), "error frame"),
        (message(1, b"\x01", dlc=8), "leave out dlc"),
    ]:
        with pytest.raises(ValueError, match=words):
            bus.send(wrong)
    with pytest.raises(can.CanOperationError, match="fd=True and data_bitrate"):
        bus.send(message(1, is_fd=True))


def test_options_against_those_of_the_channel_are_refused(open_bus):
    open_bus(bitrate=250_000)
    assert open_bus().bitrate == 250_000
    for wrong, words in [
        ({"bitrate": 500_000}, "has bitrate=250000 already, not 500000"),
        ({"data_bitrate": 2_000_000}, "has data_bitrate=None already"),
        ({"clock": "real"}, "has clock='test' already"),
        ({"clock": "fast"}, "write 'real' or 'test'"),
        ({"mailboxes": 0}, "1 to 255"),
        ({"fd": False, "data_bitrate": 1_000_000}, "leave out one"),
        ({"group": "other"}, "first bus object the group"),
    ]:
        with pytest.raises(ValueError, match=words):
            open_bus(**wrong)
    with pytest.raises(ValueError, match="bitrate=1: bit rates"):
        open_bus("new", bitrate=1)
    with pytest.raises(ValueError, match="channel is missing"):
        open_bus(None)
    with pytest.raises(TypeError, match="bitrat"):
        open_bus(bitrat=1)


def test_bit_timing_of_python_can_gives_the_rates(open_bus):
    timing = can.BitTimingFd.from_sample_point(
        f_clock=80_000_000,
        nom_bitrate=1_000_000,
        nom_sample_point=80.0,
        data_bitrate=8_000_000,
        data_sample_point=80.0,
    )
    bus = open_bus(timing=timing)
    assert (bus.bitrate, bus.data_bitrate) == (1_000_000, 8_000_000)
    classic = can.BitTiming.from_sample_point(f_clock=8_000_000, bitrate=125_000, sample_point=80.0)
    other = open_bus("slow", timing=classic)
    other.send(message(0x123, b"\x11\x22"))
    other.advance(1)
    busy = other.statistics()["bus_busy_ns"]
    assert busy == cangate.timing("123#1122", bitrate=classic.bitrate).bits * 8_000


def test_the_last_bus_object_ends_the_time_of_a_channel(open_bus):
    first = open_bus()
    first.advance(5)
    assert open_bus().now() == 5
    assert {"interface": "cangate", "channel": "body"} in can.detect_available_configs("cangate")
    for _ in range(2):
        with can.Bus(interface="cangate", channel="alone", clock="test") as bus:
            assert bus.now() == 0
            bus.advance(1)
    assert "alone" not in [c["channel"] for c in can.detect_available_configs("cangate")]


def test_a_group_shares_a_time_between_channels(open_bus):
    left, right = open_bus("left", group="car"), open_bus("right", group="car")
    left.advance(2)
    assert right.now() == 2
    other = open_bus("left", group="car")
    left.send(message(1))
    assert right.recv(0.1) is None and other.recv(0).arbitration_id == 1


def test_in_another_thread_recv_moves_no_time(open_bus):
    sender, receiver = open_bus(), open_bus()
    heard = []
    thread = threading.Thread(target=lambda: heard.append(receiver.recv(0.05)))
    sender.send(message(1))
    thread.start()
    thread.join()
    assert heard == [None] and sender.now() == 0
    thread = threading.Thread(target=lambda: heard.append(receiver.recv()))
    thread.start()
    sender.advance(0.001)
    thread.join()
    assert heard[1].arbitration_id == 1


def test_a_lone_node_repeats_its_frame_and_reports_errors(open_bus):
    bus = open_bus(acknowledge=False)
    bus.send(message(0x123, b"\x01"))
    first = bus.recv(1)
    assert first.is_error_frame and first.arbitration_id == 0x08 | 0x20 | 0x80
    assert first.data[2] & 0x80 and first.data[3] == 0x19
    bus.advance(0.1)
    assert bus.state is can.BusState.PASSIVE and bus.error_counters() == (128, 0)
    changes = []
    while (received := bus.recv(0)) is not None:
        if received.arbitration_id == 0x04:
            changes.append(received.data[1])
    assert changes == [0x0C, 0x30]
    with pytest.raises(NotImplementedError, match="listen_only=True"):
        bus.state = can.BusState.PASSIVE
    # A second node acknowledges, and the frame is sent at last.
    other = open_bus()
    assert other.recv(1).arbitration_id == 0x123


def test_a_listening_node_does_not_acknowledge(open_bus):
    sender = open_bus(acknowledge=False, error_frames=False)
    listener = open_bus(listen_only=True, error_frames=False)
    sender.send(message(1))
    assert listener.recv(0.1) is None and sender.recv(0) is None
    with pytest.raises(can.CanOperationError, match="only listens"):
        listener.send(message(2))


@pytest.mark.parametrize(
    ("kind", "number", "place"),
    [
        ("bit", 0x88, (2, 0x01)),
        ("form", 0x88, (2, 0x02)),
        ("ack", 0xA8, (3, 0x19)),
    ],
)
def test_a_disturbed_frame_is_repeated(open_bus, kind, number, place):
    sender, receiver = open_bus(), open_bus()
    sender.disturb_next(kind)
    sender.send(message(0x123, b"\x01\x02"))
    error = receiver.recv(1)
    assert error.is_error_frame and error.arbitration_id == number
    assert error.data[place[0]] & 0x7F == place[1]
    received = receiver.recv(1)
    assert received.arbitration_id == 0x123
    assert received.timestamp > cangate.timing("123#0102").duration_ns / 1e9
    assert receiver.statistics()["bus_errors"] == 1
    assert sender.error_counters()[0] == 7
    with pytest.raises(ValueError, match="bit, stuff, form, crc, ack"):
        sender.disturb_next("smell")


def test_lost_messages_are_counted(open_bus):
    sender, receiver = open_bus(), open_bus(receive_queue=3)
    for number in range(5):
        sender.send(message(number))
    receiver.advance(1)
    assert [receiver.recv(0).arbitration_id for _ in range(3)] == [0, 1, 2]
    assert receiver.recv(0) is None and receiver.statistics()["overruns"] == 2


def test_the_load_is_that_of_the_frames(open_bus):
    bus = open_bus()
    bus.send_periodic(message(0x100, bytes(8)), 0.001)
    bus.advance(0.999_999)
    expected = cangate.bus_load([message(0x100, bytes(8))] * 1000, 1.0)
    assert bus.load() == pytest.approx(expected, rel=1e-5)


def test_real_time_is_the_time_of_the_machine(open_bus):
    sender, receiver = open_bus(clock="real"), open_bus(clock="real")
    before = time.time()
    sender.send_periodic(message(1), 0.02)
    stamps = [receiver.recv(1).timestamp for _ in range(5)]
    # The machine may be slow, but the bus is never ahead of it.
    assert before + 0.075 < stamps[-1] < time.time()
    assert [round((b - a) * 1e6) for a, b in zip(stamps, stamps[1:])] == [20_000] * 4
    receiver.advance(0.05)
    assert time.time() - before > 0.125


def test_a_minute_of_traffic_is_one_call(open_bus):
    buses = [open_bus() for _ in range(3)]
    for number, bus in enumerate(buses):
        bus.send_periodic(message(0x100 + number, bytes(8)), 0.01)
    before = time.perf_counter()
    buses[0].advance(60)
    print(f"60 s with 18000 frames: {(time.perf_counter() - before) * 1e3:.0f} ms")
    assert buses[0].statistics()["received"] == 12_000


def test_waiting_without_end_can_be_interrupted(open_bus):
    signal = pytest.importorskip("signal")
    if not hasattr(signal, "setitimer"):
        pytest.skip("this system has no timer signals")

    def interrupt(*_):
        raise KeyboardInterrupt

    bus, busy = open_bus(), open_bus("busy", can_filters=[{"can_id": 1, "can_mask": 0x7FF}])
    sender = open_bus("busy")
    sender.send_periodic(message(2), 0.001)
    bus.send(message(1))
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for waiting in (bus, busy):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(KeyboardInterrupt):
                waiting.recv()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    # The time has stopped at the end of the last frame, and its intermission.
    assert bus.now_ns() <= cangate.timing(message(1)).occupied_ns


def test_a_forgotten_bus_object_ends_its_channel():
    bus = can.Bus(interface="cangate", channel="forgotten", clock="test")
    bus.advance(1)
    del bus
    gc.collect()
    with can.Bus(interface="cangate", channel="forgotten", clock="test") as bus:
        assert bus.now() == 0


def test_a_notifier_of_an_event_loop_gets_messages(open_bus):
    sender, receiver = open_bus(), open_bus()

    async def listen():
        reader = can.AsyncBufferedReader()
        notifier = can.Notifier(receiver, [reader], timeout=0.05, loop=asyncio.get_running_loop())
        try:
            sender.send_periodic(message(0x55), 0.01)
            sender.advance(0.1)
            return [(await asyncio.wait_for(reader.get_message(), 5)).timestamp for _ in range(10)]
        finally:
            notifier.stop()

    stamps = asyncio.run(listen())
    assert [round((b - a) * 1e6) for a, b in zip(stamps, stamps[1:])] == [10_000] * 9


def test_a_closing_bus_object_ends_the_wait_of_another_thread(open_bus):
    bus = open_bus()
    errors = []

    def wait():
        try:
            bus.recv()
        except can.CanOperationError as error:
            errors.append(str(error))

    thread = threading.Thread(target=wait)
    thread.start()
    while thread.is_alive() and not errors:
        bus.shutdown()
        thread.join(0.01)
    assert "closed" in errors[0]


@pytest.mark.parametrize("seed", range(10))
def test_random_traffic_is_as_in_the_reference(open_bus, seed):
    draw = random.Random(seed)
    nodes = [open_bus(mailboxes=64) for _ in range(4)]
    receiver = open_bus()
    ids = draw.sample(range(0x800), 200)
    times = sorted(draw.randrange(0, 30_000_000, 1_000) for _ in ids)
    frames = [(at, message(n, draw.randbytes(draw.randrange(9)))) for at, n in zip(times, ids)]
    for at, each in frames:
        receiver.advance((at - receiver.now_ns()) / 1e9)
        assert receiver.now_ns() == at
        draw.choice(nodes).send(each)
    receiver.advance(1)
    heard = []
    while (received := receiver.recv(0)) is not None:
        heard.append((round(received.timestamp * 1e9), received.arbitration_id))
    assert heard == scheduled(frames)
