"""The real gateway between buses in the time of a test."""

import json
import logging
import random
import re
from pathlib import Path

import pytest

import cangate
from reference import scheduled

can = pytest.importorskip("can")

ROOT = Path(__file__).resolve().parents[2]

GATEWAY = """
[ports.powertrain]
kind = "socketcan"
interface = "can0"
bitrate = "500k"

[ports.body]
kind = "socketcan"
bitrate = "125k"
queue = 64

[[routes]]
name = "speed"
from = "powertrain"
to = "body"
id = "100-1FF"

[[routes]]
name = "windows"
from = "body"
to = "powertrain"
id = "300"
do = [{ set = { id = "310" } }]
"""


def message(number, data=b"", **more):
    more.setdefault("is_extended_id", False)
    return can.Message(arbitration_id=number, data=data, **more)


@pytest.fixture
def open_bus():
    buses = []

    def make(channel, gateway=GATEWAY, **more):
        bus = can.Bus(interface="cangate", channel=channel, gateway=gateway, clock="test", **more)
        buses.append(bus)
        return bus

    yield make
    for bus in buses:
        bus.shutdown()


def test_a_message_passes_with_the_time_of_both_buses(open_bus):
    powertrain, body = open_bus("powertrain"), open_bus("body")
    assert (powertrain.bitrate, body.bitrate) == (500_000, 125_000)
    sent = message(0x123, b"\x01\x02")
    powertrain.send(sent)
    heard = body.recv(timeout=0.01)
    assert heard.arbitration_id == 0x123 and heard.data == b"\x01\x02"
    fast, slow = (cangate.timing(sent, bitrate=rate).duration_ns for rate in (500_000, 125_000))
    assert body.now_ns() == fast + slow
    assert powertrain.now_ns() == body.now_ns()


def test_a_message_that_no_route_takes_does_not_pass(open_bus):
    powertrain, body = open_bus("powertrain"), open_bus("body")
    powertrain.send(message(0x050))
    assert body.recv(timeout=0.1) is None
    assert body.now() == 0.1
    fates = body.gateway_fates()
    assert fates["received"] == fates["no_route"] == 1 and fates["routed"] == 0
    assert sum(fates.values()) == 2 * fates["received"]


def test_a_route_changes_messages(open_bus):
    powertrain, body = open_bus("powertrain"), open_bus("body")
    body.send(message(0x300, b"\x07"))
    assert powertrain.recv(0.01).arbitration_id == 0x310


def test_the_gateway_takes_part_in_arbitration(open_bus):
    powertrain, body = open_bus("powertrain"), open_bus("body")
    other = open_bus("body")
    other.send(message(0x7F0, bytes(8)))
    body.advance(0.000_1)
    # While that frame is on the wire, two messages come to wait for the bus.
    powertrain.send(message(0x150))
    other.send(message(0x600))
    heard = [body.recv(0.1).arbitration_id for _ in range(3)]
    assert heard == [0x7F0, 0x150, 0x600]


def test_a_full_queue_of_the_gateway_loses_frames_that_it_counts(open_bus):
    gateway = GATEWAY.replace("queue = 64", "queue = 2")
    powertrain, body = open_bus("powertrain", gateway), open_bus("body", gateway)
    for count in range(20):
        powertrain.send(message(0x100, bytes([count] * 8)))
    body.advance(1)
    fates = body.gateway_fates()
    assert fates["refused"] > 0 and fates["routed"] + fates["refused"] == 20
    assert body.statistics()["received"] == fates["routed"]


def test_a_queue_by_priority_lets_urgent_messages_overtake(open_bus):
    gateway = GATEWAY.replace("queue = 64", 'queue = 64\norder = "priority"')
    powertrain, body = open_bus("powertrain", gateway), open_bus("body", gateway)
    for number in (0x1F0, 0x1E0, 0x1D0, 0x1C0, 0x1B0, 0x1A0):
        powertrain.send(message(number, bytes(8)))
    heard = [body.recv(0.1).arbitration_id for _ in range(6)]
    # The first one of the sender's three mailboxes is on the slow bus before the others arrive.
    assert heard == [0x1D0, 0x1A0, 0x1B0, 0x1C0, 0x1E0, 0x1F0]


def test_a_minute_through_the_gateway_is_repeatable():
    def play():
        with (
            can.Bus(
                interface="cangate", channel="powertrain", gateway=GATEWAY, clock="test"
            ) as powertrain,
            can.Bus(interface="cangate", channel="body", gateway=GATEWAY, clock="test") as body,
        ):
            powertrain.send_periodic(message(0x100, bytes(8)), 0.01)
            powertrain.send_periodic(message(0x101, bytes(4)), 0.007)
            body.send_periodic(message(0x300, b"\x01"), 0.02)
            body.advance(60)
            heard = []
            while (received := body.recv(0)) is not None:
                heard.append((received.timestamp, received.arbitration_id))
            return heard, body.gateway_fates()

    first, second = play(), play()
    assert first == second
    assert first[1]["routed"] == 6000 + 8572 + 3000


def test_the_bitrate_is_that_of_ports_without_one(open_bus):
    gateway = GATEWAY.replace('bitrate = "500k"\n', "")
    powertrain = open_bus("powertrain", gateway, bitrate=250_000)
    assert powertrain.bitrate == 250_000 and open_bus("body", gateway).bitrate == 125_000
    with pytest.raises(ValueError, match="has bitrate=125000 already, not 250000"):
        open_bus("body", gateway, bitrate=250_000)


def test_a_file_has_its_databases_and_its_name(tmp_path, open_bus):
    (tmp_path / "body.dbc").write_text(
        'BU_: A\nBO_ 291 Speed: 8 A\n SG_ Kmh : 0|16@1+ (1,0) [0|0] "" A\n'
    )
    path = tmp_path / "gateway.toml"
    path.write_text(
        GATEWAY.replace('id = "100-1FF"', 'message = "Speed"').replace(
            'interface = "can0"', 'database = "body"'
        )
        + '[databases.body]\nfile = "body.dbc"\n'
    )
    powertrain, body = open_bus("powertrain", path), open_bus("body", path)
    powertrain.send(message(0x123, bytes(8)))
    powertrain.send(message(0x124, bytes(8)))
    assert body.recv(0.1).arbitration_id == 0x123 and body.recv(0.1) is None
    # Another bus object of a port joins the gateway without naming it.
    other = can.Bus(interface="cangate", channel="body", clock="test")
    assert other.now() == body.now()
    other.shutdown()


def test_ports_of_one_bus_share_it(open_bus):
    gateway = """
[ports.left]
kind = "bus"
bus = "cable"
[ports.right]
kind = "bus"
bus = "cable"
[ports.far]
kind = "bus"
data_bitrate = "2M"
[[routes]]
from = "left"
to = "far"
"""
    left, right = open_bus("left", gateway), open_bus("right", gateway)
    cable, far = open_bus("cable", gateway), open_bus("far", gateway)
    right.send(message(1))
    assert left.recv(0.01).arbitration_id == 1
    assert cable.recv(0.01) and far.recv(0.01) and far.data_bitrate == 2_000_000


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("queue = 64", "queue = 0"), ["<text>:10:9", "queue"]),
        (("queue = 64", "queu = 64"), ["<text>:10:1", "did you mean `queue`?"]),
        (('to = "body"', 'to = "bodi"'), ["did you mean `body`?"]),
        (("queue = 64", "mailboxes = 3"), ["mailboxes"]),
        (("queue = 64", "faults.drop = 0.1"), ["not available in Python", "disturb_next()"]),
        (('kind = "socketcan"\nb', 'kind = "messages"\nb'), ["send_periodic()"]),
        (('kind = "socketcan"\nb', 'kind = "split"\nb'), ["not available in Python"]),
        (('kind = "socketcan"\nb', 'kind = "sockettcan"\nb'), ["did you mean `socketcan`?"]),
        (('bitrate = "125k"', 'bitrate = "125 kbit"'), ["bitrate"]),
        (('bitrate = "125k"', "bitrate = 5"), ["bit rates from 1000"]),
        (("queue = 64", "max_age = 0"), ["max_age"]),
        (('do = [{ set = { id = "310" } }]', 'do = [{ set = { id = "910" } }]'), ["910"]),
        (("[[routes]]", "[controllers.x]\n[[routes]]"), ["not available in Python"]),
        (("queue = 64", 'database = "x"'), ["there is no database `x`"]),
        (("[[routes]]", '[databases.x]\nfile = "no.dbc"\n[[routes]]'), ["no.dbc: cannot be read"]),
        (("[[routes]]", "[[routes"), ["error"]),
    ],
    ids=lambda value: value[1] if isinstance(value, tuple) else None,
)
def test_mistakes_of_a_file_are_shown_at_their_place(open_bus, change, words):
    assert change[0] in GATEWAY
    with pytest.raises(ValueError) as error:
        open_bus("body", GATEWAY.replace(*change, 1))
    for word in words:
        assert word in str(error.value), str(error.value)


def test_channels_that_are_no_port_are_refused(open_bus):
    with pytest.raises(ValueError, match="no port 'door': its ports are powertrain, body"):
        open_bus("door")
    with pytest.raises(FileNotFoundError):
        open_bus("body", "no-such-file.toml")
    alone = can.Bus(interface="cangate", channel="body", clock="test")
    with pytest.raises(ValueError, match="open without"):
        open_bus("powertrain")
    with pytest.raises(ValueError, match="open without"):
        open_bus("body")
    alone.shutdown()
    open_bus("body")


def test_warnings_about_a_file_are_logged(open_bus, caplog):
    doubled = GATEWAY + '[[routes]]\nfrom = "powertrain"\nto = "body"\nid = "120"\n'
    with caplog.at_level(logging.WARNING, "cangate"):
        open_bus("body", doubled)
    assert "120" in caplog.text


def test_the_keys_are_those_of_the_gateway():
    schema = ROOT / "docs" / "gateway.schema.json"
    source = ROOT / "python" / "src" / "gateway" / "kinds.rs"
    ports = json.loads(schema.read_text())["properties"]["ports"]
    text = source.read_text()
    for port in ports["additionalProperties"]["anyOf"]:
        kind = port["properties"]["kind"]["enum"][0]
        if kind in ("messages", "split"):
            continue
        entry = text.split(f'kind: "{kind}"', 1)[1].split("},\n    PortKeys", 1)[0]
        keys = {word for word in entry.split('"')[1::2]}
        assert keys == set(port["properties"]) - {"kind"}, kind
    process = json.loads(schema.read_text())["properties"]["gateway"]["properties"]
    text = (source.parent / "mod.rs").read_text()
    assert all(f'"{key}"' in text for key in process)


def test_the_gateway_works_in_real_time_too():
    options = {"interface": "cangate", "gateway": GATEWAY, "clock": "real"}
    with can.Bus(channel="powertrain", **options) as powertrain:
        with can.Bus(channel="body", **options) as body:
            powertrain.send(message(0x123))
            first = body.recv(5)
            powertrain.send(message(0x124))
            assert first.timestamp < body.recv(5).timestamp


def test_fd_frames_and_error_frames_stay_where_they_belong(open_bus):
    gateway = GATEWAY.replace('id = "100-1FF"', "").replace(
        'bitrate = "500k"', 'bitrate = "500k"\ndata_bitrate = "2M"'
    )
    powertrain, body = open_bus("powertrain", gateway), open_bus("body", gateway)
    powertrain.send(message(0x123, bytes(12), is_fd=True))
    powertrain.disturb_next("bit")
    powertrain.send(message(0x124))
    heard = []
    while (received := body.recv(0.1)) is not None:
        heard.append((received.arbitration_id, received.is_error_frame))
    assert heard == [(0x124, False)]
    assert body.gateway_fates()["undeliverable"] == 1


def test_a_port_that_only_listens_sends_nothing(open_bus):
    gateway = """
[ports.left]
kind = "bus"
[ports.right]
kind = "direct"
listen_only = true
queue = 4
[[routes]]
from = "left"
to = "right"
[[routes]]
from = "right"
to = "left"
"""
    left, right = open_bus("left", gateway), open_bus("right", gateway)
    for number in range(5):
        left.send(message(number))
    assert right.recv(0.1) is None
    right.send(message(0x100))
    assert left.recv(0.1).arbitration_id == 0x100
    fates = left.gateway_fates()
    assert (fates["received"], fates["routed"], fates["undeliverable"]) == (6, 1, 5)


@pytest.mark.parametrize("seed", range(5))
def test_random_traffic_through_the_gateway_is_as_in_the_reference(open_bus, seed):
    draw = random.Random(seed)
    gateway = """
[ports.left]
kind = "bus"
[ports.right]
kind = "bus"
mailboxes = 32
[[routes]]
from = "left"
to = "right"
id = "000-3FF"
"""
    left, right = open_bus("left", gateway, mailboxes=64), open_bus("right", gateway)
    other = open_bus("right", gateway, mailboxes=64)
    ids = draw.sample(range(0x800), 150)
    times = sorted(draw.randrange(0, 30_000_000, 1_000) for _ in ids)
    sent = {"left": [], "right": []}
    for at, number in zip(times, ids):
        each = message(number, draw.randbytes(draw.randrange(9)))
        left.advance((at - left.now_ns()) / 1e9)
        side = draw.choice(["left", "right"])
        (left if side == "left" else other).send(each)
        sent[side].append((at, each))
    left.advance(1)
    heard = []
    while (received := right.recv(0)) is not None:
        heard.append((round(received.timestamp * 1e9), received.arbitration_id))
    copies = {each.arbitration_id: each for _, each in sent["left"]}
    ends = scheduled(sent["left"])
    passed = [(at, copies[number]) for at, number in ends if number < 0x400]
    assert heard == scheduled(sent["right"] + passed)


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in sorted((ROOT / "examples").rglob("*.toml"))
        if "[ports." in path.read_text(encoding="utf-8")
    ],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_the_examples_of_cangate_are_read_or_refused_for_one_reason(path, open_bus):
    port = re.search(r"^\[ports\.([\w-]+)\]", path.read_text(encoding="utf-8"), re.M)[1]
    try:
        bus = open_bus(port, path)
    except ValueError as error:
        problems = re.findall(r"^error: .*$", str(error), re.M)
        assert problems and all("not available in Python" in line for line in problems), problems
    else:
        bus.advance(1)
        assert bus.now() == 1
