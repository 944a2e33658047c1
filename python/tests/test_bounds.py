"""Worst-case response times."""

import re
from pathlib import Path

import pytest

import cangate

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "bound"

SET = """
[buses.body]
bitrate = "500k"

[[messages]]
id = "100"
node = "engine"
len = 8
period = "10ms"
deadline = "5ms"

[[messages]]
id = "200"
node = "door"
len = 8
period = "20ms"

[nodes.engine]
[nodes.door]
"""


def test_a_message_waits_for_one_frame_of_lower_priority():
    found = cangate.bounds(SET)
    (bus,) = found["buses"]
    first, second = bus["messages"]
    assert (bus["name"], bus["bitrate"], first["id"]) == ("body", 500_000, "100")
    assert first["bound"]["blocking_ns"] >= second["frame_ns"]
    assert first["bound"]["response_ns"] < 5_000_000 and first["can_miss"] is False
    assert second["bound"]["interference_ns"] >= first["frame_ns"]


def test_the_greatest_length_is_that_of_a_frame_with_that_many_bits():
    frame = cangate.bounds(SET)["buses"][0]["messages"][0]
    assert frame["bits"] * 2_000 == frame["frame_ns"]
    worst = max(cangate.timing(f"100#{bytes([a] * 8).hex()}").bits - 3 for a in range(256))
    assert frame["bits"] >= worst


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.name)
def test_the_examples_have_bounds(path):
    text = path.read_text()
    if "[[messages]]" not in text:
        with pytest.raises(ValueError, match="this is a gateway file|gateway"):
            cangate.bounds(path)
        return
    found = cangate.bounds(path)
    assert all(message["bound"] for bus in found["buses"] for message in bus["messages"])
    assert cangate.bounds(text) == found


def test_an_overloaded_bus_has_no_bound():
    found = cangate.bounds(SET.replace('"10ms"', '"200us"').replace('"5ms"', '"200us"'))
    message = found["buses"][0]["messages"][1]
    assert message["bound"] is None and message["can_miss"] and message["no_bound"]


def test_mistakes_are_shown_at_their_lines(tmp_path):
    path = tmp_path / "set.toml"
    path.write_text(SET.replace('period = "20ms"', 'perod = "20ms"'))
    with pytest.raises(ValueError) as error:
        cangate.bounds(path)
    assert "set.toml:" in str(error.value) and "did you mean `period`?" in str(error.value)
    with pytest.raises(FileNotFoundError):
        cangate.bounds(tmp_path / "none.toml")


def test_the_keys_are_some_of_those_of_the_command():
    source = Path(__file__).resolve().parents[2] / "crates/cangate/src/commands/bound/json.rs"
    text = source.read_text(encoding="utf-8")
    structs = re.findall(r"struct (\w+) \{(.*?)^\}", text, re.M | re.S)
    keys = {name: set(re.findall(r"^    (\w+):", body, re.M)) for name, body in structs}
    timeouts = 'id = "100"\ntimeouts = [{ node = "door", time = "30ms" }]'
    found = cangate.bounds(SET.replace('id = "100"', timeouts))
    (bus,), (timeout,) = found["buses"], found["timeouts"]
    for part, struct in [
        (found, "BoundReport"),
        (bus, "BusReport"),
        (bus["nodes"][0], "NodeReport"),
        (bus["messages"][0], "MessageReport"),
        (bus["messages"][0]["bound"], "PartsReport"),
        (timeout, "TimeoutReport"),
    ]:
        assert set(part) <= keys[struct], struct


def test_reasons_are_those_of_the_command():
    timeouts = 'id = "100"\ntimeouts = [{ node = "door", time = "30ms" }]\nlongest_period = "none"'
    (timeout,) = cangate.bounds(SET.replace('id = "100"', timeouts))["timeouts"]
    assert timeout["no_bound"] == "it is not periodic: its events have no longest distance"
    overload = SET.replace('id = "100"', timeouts.rsplit("\n", 1)[0]).replace('"10ms"', '"200us"')
    found = cangate.bounds(overload.replace('"5ms"', '"200us"'))
    words = r"with all higher-priority frames the bus load is .* %"
    assert re.fullmatch(words, found["buses"][0]["messages"][0]["no_bound"])
    assert re.fullmatch(f"the message has no bound: {words}", found["timeouts"][0]["no_bound"])
