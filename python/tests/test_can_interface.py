"""The interface as python-can's users know it: the same checks with its own virtual bus."""

import argparse
import threading

import pytest

can = pytest.importorskip("can")


def message(number, data=b"", **more):
    more.setdefault("is_extended_id", False)
    return can.Message(arbitration_id=number, data=data, **more)


MESSAGES = [
    message(0x123, b"\x01\x02\x03"),
    message(0, b""),
    message(0x7FF, bytes(range(8))),
    message(0x1ABCDEF0, b"\xff", is_extended_id=True),
    message(0x123, b"\x05", is_extended_id=True),
    message(0x321, is_remote_frame=True, dlc=4),
    message(0x123, bytes(range(64)), is_fd=True, bitrate_switch=True),
    message(0x123, bytes(12), is_fd=True),
    message(0x124, b"\x01", is_fd=True, bitrate_switch=True, error_state_indicator=True),
]

KINDS = [
    pytest.param({"interface": "virtual", "protocol": can.CanProtocol.CAN_FD}, id="virtual"),
    pytest.param({"interface": "cangate", "fd": True, "clock": "test"}, id="test"),
    pytest.param({"interface": "cangate", "fd": True, "clock": "real"}, id="real"),
]


@pytest.fixture(params=KINDS)
def open_bus(request):
    buses = []

    def make(**more):
        bus = can.Bus(channel="shared", **request.param, **more)
        buses.append(bus)
        return bus

    yield make
    for bus in buses:
        bus.shutdown()


@pytest.mark.parametrize("sent", MESSAGES, ids=str)
def test_a_message_arrives_as_it_was_sent(open_bus, sent):
    sender, receiver = open_bus(), open_bus()
    sender.send(sent)
    heard = receiver.recv(1)
    assert heard.equals(sent, timestamp_delta=None, check_channel=False, check_direction=False)
    assert heard.is_rx and heard.channel == "shared"
    assert receiver.recv(0) is None and sender.recv(0) is None


def test_a_bus_object_hears_itself_only_if_it_wants_to(open_bus):
    deaf, hearing = open_bus(), open_bus(receive_own_messages=True)
    hearing.send(message(0x10, b"\x01"))
    own, other = hearing.recv(1), deaf.recv(1)
    assert own.arbitration_id == other.arbitration_id == 0x10
    assert not own.is_rx and other.is_rx
    deaf.send(message(0x11))
    assert hearing.recv(1).is_rx and deaf.recv(0) is None


def test_filters_choose_messages(open_bus):
    sender = open_bus()
    chosen = open_bus(can_filters=[{"can_id": 0x120, "can_mask": 0x7F0, "extended": False}])
    both = open_bus(can_filters=[{"can_id": 0x125, "can_mask": 0x1FFFFFFF}])
    for sent in (message(0x130), message(0x125, is_extended_id=True), message(0x125)):
        sender.send(sent)
    assert chosen.recv(1).is_extended_id is False
    assert chosen.recv(0.01) is None
    assert [both.recv(1).is_extended_id for _ in range(2)] == [True, False]
    chosen.set_filters(None)
    sender.send(message(0x130))
    assert chosen.recv(1).arbitration_id == 0x130


def test_a_timeout_of_0_does_not_wait(open_bus):
    bus = open_bus()
    assert bus.recv(0) is None
    assert getattr(bus, "clock", None) != "test" or bus.now() == 0


def test_a_loop_over_a_bus_gives_messages(open_bus):
    sender, receiver = open_bus(), open_bus()
    for number in range(5):
        sender.send(message(number))
    heard = []
    for received in receiver:
        heard.append(received.arbitration_id)
        if len(heard) == 5:
            break
    assert heard == [0, 1, 2, 3, 4]


def test_programs_of_python_can_open_a_bus():
    cli = pytest.importorskip("can.cli")
    if not hasattr(cli, "create_bus_from_namespace"):
        pytest.skip("this python-can makes buses of command lines in another way")
    options = argparse.Namespace(interface="cangate", channel="body", bitrate=250_000)
    with cli.create_bus_from_namespace(options) as bus:
        assert bus.channel_info == "cangate bus body at 250000 bit/s, real time"


def test_a_closed_bus_object_refuses_everything(open_bus):
    bus = open_bus()
    bus.shutdown()
    bus.shutdown()
    with pytest.raises(can.CanOperationError):
        bus.send(message(1))
    with pytest.raises(can.CanOperationError):
        bus.recv(0)


def test_with_closes_and_others_go_on(open_bus):
    receiver = open_bus()
    with open_bus() as sender:
        sender.send(message(7))
    assert receiver.recv(1).arbitration_id == 7
    other = open_bus()
    other.send(message(8))
    assert receiver.recv(1).arbitration_id == 8


def test_a_notifier_hands_over_messages(open_bus):
    sender, receiver = open_bus(), open_bus()
    heard = can.BufferedReader()
    notifier = can.Notifier(receiver, [heard], timeout=0.05)
    try:
        for number in range(20):
            sender.send(message(number))
        if hasattr(sender, "advance"):
            sender.advance(0.1)
        received = [heard.get_message(2) for _ in range(20)]
        assert sorted(m.arbitration_id for m in received) == list(range(20))
    finally:
        notifier.stop()


def test_periodic_messages_are_sent_until_they_are_stopped(open_bus):
    sender, receiver = open_bus(), open_bus()
    task = sender.send_periodic([message(0x55, b"\x01"), message(0x55, b"\x02")], 0.01)
    heard = [receiver.recv(1) for _ in range(6)]
    assert [m.data[0] for m in heard] == [1, 2, 1, 2, 1, 2]
    steps = [b.timestamp - a.timestamp for a, b in zip(heard, heard[1:])]
    assert all(step > 0 for step in steps)
    task.modify_data([message(0x55, b"\x03"), message(0x55, b"\x04")])
    later = [receiver.recv(1).data[0] for _ in range(4)]
    assert {3, 4} <= set(later)
    task.stop()
    while receiver.recv(0.05):
        pass
    assert receiver.recv(0.05) is None
    sender.stop_all_periodic_tasks()


def test_many_threads_send_and_receive(open_bus):
    receiver = open_bus()
    senders = [open_bus() for _ in range(4)]

    def send(number, bus):
        for count in range(50):
            bus.send(message(0x100 + number, bytes([count])), timeout=5)

    threads = [
        threading.Thread(target=send, args=(number, bus)) for number, bus in enumerate(senders)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    heard = {}
    for _ in range(200):
        received = receiver.recv(2)
        heard.setdefault(received.arbitration_id, []).append(received.data[0])
    assert heard == {0x100 + number: list(range(50)) for number in range(4)}
