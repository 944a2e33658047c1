"""How long a gateway's queue lets an urgent message wait on a busy bus.

Run it as a program, or cell by cell in an editor that knows ``# %%``. It needs python-can.
"""

# %% A gateway between a fast and a slow bus, with two kinds of queue
import can

import cangate

GATEWAY = """
[ports.powertrain]
kind = "bus"
bitrate = "500k"

[ports.body]
kind = "bus"
bitrate = "125k"
mailboxes = 1
queue = 64
order = "{order}"

[[routes]]
from = "powertrain"
to = "body"
"""


def message(number, data=b""):
    return can.Message(arbitration_id=number, data=data, is_extended_id=False)


# %% A burst of messages, with an urgent one at its end
def measure(order):
    """Return the time of the urgent message from its first end of frame to its second one, ms."""
    options = {
        "interface": "cangate",
        "gateway": GATEWAY.format(order=order),
        "clock": "test",
    }
    with (
        can.Bus(channel="powertrain", **options) as engine,
        can.Bus(channel="powertrain", **options) as monitor,
        can.Bus(channel="body", **options) as body,
    ):
        for count in range(20):
            engine.send(message(0x400 + count, bytes(8)))
        engine.send(message(0x010, b"\x01"))
        times = {}
        for bus in (monitor, body):
            while (heard := bus.recv(timeout=1)) is not None:
                if heard.arbitration_id == 0x010:
                    times[bus] = heard.timestamp
                    break
        fates = body.gateway_fates()
        assert fates["received"] == 21
        return (times[body] - times[monitor]) * 1e3


# %% The results
alone = cangate.timing("010#01", bitrate=125_000).duration_ns / 1e6
print(f"alone on the slow bus:     {alone:6.3f} ms")
for order in ("fifo", "priority"):
    print(f"queue by {order + ':':<17} {measure(order):6.3f} ms")

# %% A minute of periodic traffic
with can.Bus(interface="cangate", channel="minute", clock="test") as bus:
    for number in range(10):
        bus.send_periodic(message(0x100 + number, bytes(8)), period=0.010)
    bus.advance(60)
    print(
        f"a minute of traffic:       {bus.statistics()['bus_frames']} frames, load {bus.load():.1%}"
    )
