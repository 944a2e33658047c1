"""Describes databases as cantools reads them, a line for each thing, for the test `cantools`.

The names of the files are on standard input. Fields are separated by tabs.
"""

import os
import random
import re
import sys

import cantools


def text(value):
    """Returns a text on one line."""
    value = str(value if value is not None else "")
    return value.replace("\\", "\\\\").replace("\t", "\\t").replace("\r", "\\r").replace("\n", "\\n")


def number(value):
    return "" if value is None else repr(value)


def identifier(value):
    """Returns a name of a KCD or SYM file with only letters, digits and `_`, as cangate has it."""
    return re.sub("[^A-Za-z0-9_]", "_", value) if plain_names else value


def whole(value):
    """cantools has the values of names in ARXML files as floating-point numbers."""
    return int(value) if value == int(value) else value


plain_names = False
is_arxml = False


def say(*fields):
    print("\t".join(text(field) for field in fields))


def read(name):
    """Reads a file as its bytes are encoded; cantools itself assumes cp1252."""
    data = open(name, "rb").read()
    encoding = None
    if name.lower().endswith((".dbc", ".sym")):
        try:
            data.decode("utf-8")
            encoding = "utf-8-sig"
        except UnicodeDecodeError:
            encoding = "cp1252"
    return cantools.database.load_file(
        name, encoding=encoding, strict=False, prune_choices=False)


def kind(signal):
    if signal.is_float:
        return f"float{signal.length}"
    return "signed" if signal.is_signed else "unsigned"


def ranges(ids):
    """Returns values as ranges: 1-3,7-7."""
    out = []
    for value in sorted(set(ids or [])):
        if out and out[-1][1] + 1 == value:
            out[-1][1] = value
        else:
            out.append([value, value])
    return ",".join(f"{a}-{b}" for a, b in out)


def comment(signal):
    """Returns the comment of the file, without those that cantools makes for SecOC."""
    own = (signal.comment or "").strip()
    return "" if is_arxml and own.startswith("Truncated ") else own


def describe_signal(signal):
    choices = signal.choices or {}
    has_range = (signal.minimum or 0, signal.maximum or 0) != (0, 0)
    names = "\x1f".join(f"{whole(raw)}={name}" for raw, name in sorted(choices.items()))
    say("signal", identifier(signal.name), signal.start, signal.length,
        "intel" if signal.byte_order == "little_endian" else "motorola", kind(signal),
        number(signal.scale), number(signal.offset),
        number(signal.minimum if has_range else None),
        number(signal.maximum if has_range else None), signal.unit or "",
        ",".join(sorted(map(identifier, filter(None, signal.receivers)))),
        identifier(signal.multiplexer_signal or ""), ranges(signal.multiplexer_ids),
        number(signal.raw_initial), number(signal.raw_invalid), comment(signal), names)


def put(data, signal, value):
    """Writes a value bit by bit."""
    bit = signal.start
    for index in range(signal.length):
        shift = index if signal.byte_order == "little_endian" else signal.length - 1 - index
        if bit // 8 < len(data):
            data[bit // 8] &= ~(1 << bit % 8) & 0xFF
            data[bit // 8] |= (value >> shift & 1) << bit % 8
        if signal.byte_order == "little_endian":
            bit += 1
        else:
            bit = bit + 15 if bit % 8 == 0 else bit - 1


def choose_switches(message, data, codec, source):
    """Gives each multiplexer switch a value that the database has, with the switches below it."""
    for name, of_values in codec["multiplexers"].items():
        value = source.choice(sorted(of_values))
        put(data, message.get_signal_by_name(name), value)
        choose_switches(message, data, of_values[value], source)


def describe_payloads(message, source, count):
    for _ in range(count):
        data = bytearray(source.randbytes(message.length))
        choose_switches(message, data, message._codecs, source)
        data = bytes(data)
        try:
            raw = message.decode(data, decode_choices=False, scaling=False)
            scaled = message.decode(data, decode_choices=False)
        except Exception:
            continue
        if message.is_container:
            continue
        try:
            encoded = message.encode(raw, scaling=False, strict=False).hex()
        except Exception:
            encoded = "-"
        values = [f"{identifier(name)}\x1e{number(raw[name])}\x1e{number(scaled[name])}" for name in sorted(raw)]
        say("payload", data.hex(), encoded, *values)


def describe(name, count):
    global is_arxml, plain_names
    say("file", name)
    is_arxml = name.lower().endswith(".arxml")
    plain_names = name.lower().endswith((".kcd", ".sym"))
    try:
        database = read(name)
    except Exception as error:
        say("refused", f"{type(error).__name__}: {error}"[:200])
        return
    if not isinstance(database, cantools.database.can.Database):
        say("refused", "not a database of CAN")
        return
    source = random.Random(os.path.basename(name))
    for message in database.messages:
        say("message", message.frame_id, "e" if message.is_extended_frame else "s", identifier(message.name),
            message.length, "fd" if message.is_fd else "", ",".join(sorted(map(identifier, filter(None, message.senders)))),
            number(message.cycle_time), (message.comment or "").strip())
        for signal in sorted(message.signals, key=lambda signal: signal.name):
            describe_signal(signal)
        describe_payloads(message, source, count)


for line in sys.stdin:
    describe(line.rstrip("\n"), int(sys.argv[1]))
