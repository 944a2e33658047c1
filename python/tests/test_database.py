"""Signals of frames."""

from pathlib import Path

import pytest

import cangate

ROOT = Path(__file__).resolve().parents[2]

DBC = """VERSION ""
BU_: Engine Dash
BO_ 256 EngineData: 8 Engine
 SG_ Speed : 0|16@1+ (0.1,-40) [0|0] "km/h" Dash
 SG_ Gear : 16|4@1+ (1,0) [0|15] "" Dash
 SG_ Torque : 31|12@0- (2,0) [0|0] "Nm" Dash
 SG_ Count : 48|16@1+ (1,0) [0|0] "" Dash
BO_ 2147483904 Far: 2 Engine
 SG_ Value : 0|16@1- (1,0) [0|0] "" Dash
VAL_ 256 Gear 0 "Neutral" 3 "Drive" ;
"""


@pytest.fixture
def database():
    return cangate.Database.from_text(DBC)


def test_a_frame_has_its_values(database):
    found = database.decode("100#D204031234000500")
    assert found == {"Speed": 83.4, "Gear": "Drive", "Torque": 582, "Count": 5}
    assert isinstance(found["Torque"], int)
    assert database.decode("100#D204031234000500", names=False)["Gear"] == 3
    assert database.decode("00000100#FFFF") == {"Value": -1}
    assert database.message_of("00000100#FFFF") == "Far"
    assert database.decode("101#") is None and database.message_of("101#") is None


def test_a_short_frame_has_only_the_signals_in_it(database):
    assert database.decode("100#D204") == {"Speed": 83.4}


def test_a_message_of_python_can_is_a_frame_too(database):
    can = pytest.importorskip("can")
    message = can.Message(arbitration_id=0x100, is_extended_id=False, data=b"\xd2\x04")
    assert database.decode(message) == {"Speed": 83.4}
    assert database.decode(can.Message(is_error_frame=True, arbitration_id=0x100)) is None


def test_messages_have_their_signals(database):
    first, second = database.messages
    assert (first.name, first.arbitration_id, first.is_extended_id) == ("EngineData", 0x100, False)
    assert first.length == 8 and first.signals["Speed"] == "km/h"
    assert second.is_extended_id and second.arbitration_id == 0x100


def test_columns_are_the_values_of_frames(database):
    numpy = pytest.importorskip("numpy")
    rows = [bytes([n, n >> 4, n % 16, n, n, 0, n, 0]) for n in range(200)]
    data = numpy.array([list(row) for row in rows], dtype=numpy.uint8)
    columns = database.columns("EngineData", data)
    for number, row in enumerate(rows):
        one = database.decode(f"100#{row.hex()}", names=False)
        assert {name: column[number] for name, column in columns.items()} == one
    short = database.columns("EngineData", data, [2] * 200)
    assert numpy.isnan(short["Count"]).all() and not numpy.isnan(short["Speed"]).any()


@pytest.mark.parametrize(
    "path", sorted((ROOT / "crates/signals/tests/databases").iterdir()), ids=lambda path: path.name
)
def test_each_format_is_read(path):
    database = cangate.Database(path)
    assert database.messages and all(m.signals is not None for m in database.messages)


def test_mistakes_name_their_place(database, tmp_path):
    with pytest.raises(ValueError, match="<text>: line 2, column"):
        cangate.Database.from_text(DBC.replace("BU_:", "BU_;"))
    with pytest.raises(ValueError, match="no message in it"):
        cangate.Database.from_text('VERSION ""\n')
    with pytest.raises(KeyError, match="did you mean `EngineData`"):
        database.columns("EnginData", [])
    with pytest.raises(ValueError, match="1 payloads and 2 lengths"):
        database.columns("EngineData", [b""], [1, 2])
    with pytest.raises(FileNotFoundError):
        cangate.Database(tmp_path / "none.dbc")


def test_messages_of_one_name_are_two_messages():
    database = cangate.Database.from_text(
        """BU_: A
BO_ 256 Door: 2 A
 SG_ Open : 0|8@1+ (1,0) [0|0] "" A
BO_ 512 Door: 2 A
 SG_ Angle : 0|8@1+ (2,0) [0|0] "deg" A
"""
    )
    first, second = database.messages
    assert (first.arbitration_id, first.signals) == (0x100, {"Open": ""})
    assert (second.arbitration_id, second.signals) == (0x200, {"Angle": "deg"})
    assert list(database.columns(first, [b"\x03"])["Open"]) == [3]
    assert list(database.columns(second, [b"\x03"])["Angle"]) == [6]
    with pytest.raises(KeyError, match="messages 100 and 200: give one of `messages`"):
        database.columns("Door", [b"\x03"])
    assert database.message_of("200#") == "Door"


def test_a_value_of_many_digits_is_exact():
    database = cangate.Database.from_text(DBC.replace("(1,0) [0|15]", "(1E31,1E32) [0|0]"))
    found = database.decode("100#D204031234000500", names=False)
    assert found["Gear"] == 3 * 10**31 + 10**32 and isinstance(found["Gear"], int)
