"""Frames on the wire."""

import pytest

import cangate


def crc15(bits):
    """The checksum of classic frames, written from ISO 11898-1 for this test."""
    crc = 0
    for bit in bits:
        high = crc >> 14 & 1
        crc = crc << 1 & 0x7FFF
        if high ^ bit:
            crc ^= 0x4599
    return crc


def classic_bits(number, data):
    """The bits of a standard data frame from its start to the last data bit."""
    bits = [0] + [number >> n & 1 for n in range(10, -1, -1)] + [0, 0, 0]
    bits += [len(data) >> n & 1 for n in range(3, -1, -1)]
    return bits + [byte >> n & 1 for byte in data for n in range(7, -1, -1)]


def stuffed(bits):
    """The number of stuff bits."""
    count, run, last = 0, 0, None
    for bit in bits:
        run = run + 1 if bit == last else 1
        last = bit
        if run == 5:
            count, run, last = count + 1, 1, 1 - bit
    return count


@pytest.mark.parametrize("number", [0, 0x123, 0x555, 0x7FF])
@pytest.mark.parametrize("data", [b"", b"\x11\x22", bytes(8), b"\xff" * 8, b"\xaa" * 5])
def test_a_classic_frame_has_the_bits_of_the_standard(number, data):
    head = classic_bits(number, data)
    crc = crc15(head)
    stuff = stuffed(head + [crc >> n & 1 for n in range(14, -1, -1)])
    found = cangate.timing(f"{number:03X}#{data.hex()}")
    assert (found.crc, found.crc_bits, found.stuff_bits) == (crc, 15, stuff)
    assert found.bits == 47 + 8 * len(data) + stuff
    assert found.duration_ns == (found.bits - 3) * 2_000
    assert found.occupied_ns == found.bits * 2_000


def test_the_data_phase_of_an_fd_frame_has_its_own_rate():
    found = cangate.timing("123##1" + "55" * 64, bitrate=500_000, data_bitrate=2_000_000)
    slow = cangate.timing("123##0" + "55" * 64, bitrate=500_000, data_bitrate=2_000_000)
    assert found.crc_bits == 21 and slow.data_phase_bits == 0
    nominal = found.bits - 3 - found.data_phase_bits
    assert found.duration_ns == nominal * 2_000 + found.data_phase_bits * 500
    assert "500k/2M" in repr(found) and "123##1" in repr(found)


def test_a_message_has_the_timing_of_its_text():
    can = pytest.importorskip("can")
    message = can.Message(arbitration_id=0x1ABCDEF0, data=b"\x01\x02", is_extended_id=True)
    assert cangate.timing(message) == cangate.timing("1ABCDEF0#0102")
    remote = can.Message(arbitration_id=5, is_remote_frame=True, dlc=4, is_extended_id=False)
    assert cangate.timing(remote) == cangate.timing("005#R4")


@pytest.mark.parametrize(
    ("text", "place", "cure"),
    [
        ("12#11", "column 3", "fill up with zeros"),
        ("123#1", "column 6", "write two digits for each byte"),
        ("123#112233445566778899", "column 21", "write '##'"),
        ("900#", "column 1", "write 8 digits"),
        ("123##", "column 6", "1 for BRS"),
    ],
)
def test_an_error_names_the_place_and_the_cure(text, place, cure):
    with pytest.raises(ValueError) as error:
        cangate.timing(text)
    assert place in str(error.value) and cure in str(error.value)


def test_bit_rates_out_of_range_are_refused():
    with pytest.raises(ValueError, match="bitrate=5: bit rates from 1000"):
        cangate.timing("123#", bitrate=5)
    with pytest.raises(ValueError, match="bitrate=-1: bit rates from 1000"):
        cangate.timing("123#", bitrate=-1)
    with pytest.raises(ValueError, match="below the nominal one"):
        cangate.timing("123#", bitrate=500_000, data_bitrate=250_000)
    with pytest.raises(TypeError, match="candump's text"):
        cangate.timing(17)


def test_durations_of_columns_are_those_of_frames():
    texts = [f"{n:03X}#{bytes([n & 255] * (n % 9)).hex()}" for n in range(0, 0x800, 7)]
    one_by_one = [cangate.timing(text).duration_ns for text in texts]
    assert list(cangate.durations(texts)) == one_by_one
    ids = list(range(0, 0x800, 7))
    data = [bytes([n & 255] * (n % 9)) for n in ids]
    assert list(cangate.durations(ids, data=data)) == one_by_one
    assert list(cangate.durations([])) == []


def test_arrays_give_arrays():
    numpy = pytest.importorskip("numpy")
    ids = numpy.arange(0x100, 0x110, dtype=numpy.uint32)
    data = numpy.full((16, 64), 0x5A, dtype=numpy.uint8)
    lengths = numpy.array([0, 8, 12, 64] * 4)
    found = cangate.durations(
        ids, data=data, lengths=lengths, is_fd=True, bitrate_switch=True, data_bitrate=2_000_000
    )
    assert found.dtype == numpy.int64
    for number, length, time in zip(ids, lengths, found):
        frame = f"{number:03X}##1" + "5A" * int(length)
        assert cangate.timing(frame, data_bitrate=2_000_000).duration_ns == time
    remote = cangate.durations(ids, lengths=4, is_remote_frame=numpy.ones(16, dtype=bool))
    assert remote[0] == cangate.timing("100#R4").duration_ns


def test_wrong_arrays_are_refused():
    numpy = pytest.importorskip("numpy")
    ids = numpy.array([1, 2])
    for columns, words in [
        ({"lengths": 4}, "frame 0: a length of 4 and 0 bytes"),
        ({"data": numpy.zeros((1, 8), dtype=numpy.uint8)}, "with 2 rows"),
        ({"data": numpy.zeros((2, 65), dtype=numpy.uint8)}, "at most 64 columns"),
        ({"data": numpy.zeros((2, 8))}, "float64"),
        ({"is_fd": numpy.ones(3, dtype=bool)}, "give one for each"),
        ({"data": numpy.zeros((2, 9), dtype=numpy.uint8)}, "frame 0: ID 0x1: 9 bytes"),
    ]:
        with pytest.raises(ValueError, match=words):
            cangate.durations(ids, **columns)
    for wrong in (numpy.array([-1]), numpy.array([2**29]), numpy.array([0.5]), ids.reshape(2, 1)):
        with pytest.raises(ValueError, match="IDs"):
            cangate.durations(wrong)
    assert len(cangate.durations(numpy.array([], dtype=numpy.uint32))) == 0


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"lengths": 4}, "stuff bits depend on the payload"),
        ({"data": [b""]}, "2 IDs and 1 payloads"),
        ({"data": [bytes(9)] * 2}, "frame 0: ID 0x1: 9 bytes"),
        ({"is_fd": [True]}, "2 IDs and 1 values"),
        ({"lengths": 65, "data": [bytes(65)] * 2}, "0 to 64"),
    ],
)
def test_wrong_columns_are_refused(columns, words):
    with pytest.raises(ValueError) as error:
        cangate.durations([1, 2], **columns)
    assert words in str(error.value)


def test_frames_that_no_bus_carries_are_refused_by_their_index():
    with pytest.raises(ValueError, match="frame 1: .*column 1"):
        cangate.durations(["123#", "#"])
    with pytest.raises(ValueError, match="frame 1: ID 0x800 is above 0x7FF"):
        cangate.durations([1, 0x800])


def test_the_load_of_a_bus_counts_intermissions():
    frames = ["123#1122334455667788"] * 100
    one = cangate.timing(frames[0]).occupied_ns
    assert cangate.bus_load(frames, 0.1) == 100 * one / 1e8
    with pytest.raises(ValueError, match="above 0 s"):
        cangate.bus_load(frames, 0)
