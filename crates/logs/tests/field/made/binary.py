"""Writes the files of this folder by python-can and asammdf."""
import datetime

import asammdf
import can
import numpy
from can.util import len2dlc

START = 1712567411.35


def messages():
    fields = [
        dict(arbitration_id=0x123, data=bytes([1, 2])),
        dict(arbitration_id=0x18FEF100, is_extended_id=True, data=bytes([0xAA, 0xBB, 0xCC]), is_rx=False, channel=1),
        dict(arbitration_id=0x321, is_fd=True, bitrate_switch=True, data=bytes([0x11, 0x22, 0x33])),
        dict(arbitration_id=0x7FF, is_remote_frame=True, dlc=4, channel=2),
        dict(arbitration_id=0x123, is_extended_id=True, is_fd=True, error_state_indicator=True, data=bytes(range(12)), channel=1),
        dict(is_error_frame=True, is_extended_id=False),
        dict(arbitration_id=0x55, data=bytes(range(8))),
        dict(arbitration_id=0x1FFFFFFF, is_extended_id=True, is_fd=True, data=bytes(range(64)), is_rx=False),
    ]
    for number, one in enumerate(fields):
        one = {"is_extended_id": False, "channel": 0, **one}
        yield can.Message(timestamp=START + 0.1 * number, **one)


for name, options in (("python-can.blf", {}), ("python-can-0.blf", dict(compression_level=0, max_container_size=250))):
    with can.Logger(name, **options) as log:
        for message in messages():
            log.on_message_received(message)
        log.log_event("a marker")

for name, level in (("python-can.mf4", 0), ("python-can-2.mf4", 2)):
    with can.Logger(name, compression_level=level) as log:
        log._mdf.header.start_time = datetime.datetime.fromtimestamp(START, datetime.timezone.utc)
        log._start_time, log.last_timestamp = START, 0
        for message in messages():
            log.on_message_received(message)

# The column-oriented form of MDF 4.20, which asammdf writes only if it is told to in this way.
for attribute in ("axes", "conversions", "units", "comments"):
    setattr(asammdf.Signal, attribute, None)
MEMBERS = [("BusChannel", "u1"), ("ID", "<u4"), ("IDE", "u1"), ("DLC", "u1"), ("DataLength", "u1"),
           ("DataBytes", "(64,)u1"), ("Dir", "u1"), ("EDL", "u1"), ("BRS", "u1"), ("ESI", "u1")]
data = [m for m in messages() if not m.is_remote_frame and not m.is_error_frame] * 3
table = numpy.zeros(len(data), dtype=[(f"CAN_DataFrame.{name}", kind) for name, kind in MEMBERS])
for row, m in zip(table, data):
    values = (m.channel + 1, m.arbitration_id, m.is_extended_id, len2dlc(m.dlc), m.dlc,
              list(m.data.ljust(64, b"\0")), not m.is_rx, m.is_fd, m.bitrate_switch, m.error_state_indicator)
    for (name, _), value in zip(MEMBERS, values):
        row[f"CAN_DataFrame.{name}"] = value
source = asammdf.Source(source_type=2, bus_type=2, name="CAN", path="CAN", comment="")
for name, columns in (("asammdf-columns.mf4", True), ("asammdf-list.mf4", False)):
    mdf = asammdf.MDF(version="4.20")
    mdf._mdf._column_storage = mdf._mdf._use_ld_blocks = columns
    mdf.configure(write_fragment_size=500)
    mdf.header.start_time = datetime.datetime.fromtimestamp(START, datetime.timezone.utc)
    stamps = numpy.arange(len(data)) * 0.001
    mdf.append([asammdf.Signal(table, timestamps=stamps, name="CAN_DataFrame", source=source)])
    mdf.append([asammdf.Signal(numpy.arange(3.0), timestamps=numpy.arange(3.0), name="speed")])
    mdf.save(name, compression=0 if columns else 2, overwrite=True)
