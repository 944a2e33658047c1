#!/usr/bin/env python3
"""Compares `cangate decode` with `cantools decode`: processor time for the same frames.

Needs cantools, for example `target/python-can/bin/python3 benches/decoding.py DATABASE.dbc`
(`cargo xtask setup` installs it), and `cargo build --release -p cangate`. The database of
docs/performance.md is tests/files/dbc/vehicle.dbc of cantools' source package.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import cantools


def processor_time(command, stdin):
    """Returns the processor time of a process, user and system, in seconds."""
    with open(stdin, "rb") as frames, tempfile.TemporaryFile() as remarks:
        process = subprocess.Popen(
            command, stdin=frames, stdout=subprocess.DEVNULL, stderr=remarks
        )
        _, status, usage = os.wait4(process.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        # Status 3 of cangate: a value was left out, and reported.
        if code not in (0, 3):
            remarks.seek(0)
            why = remarks.read().decode(errors="replace")
            sys.exit(f"{' '.join(command)} ended with status {code}: {why}")
    return usage.ru_utime + usage.ru_stime


def write_log(path, database, count):
    """Writes frames of the database's messages of 8 bytes; returns the number of their signals."""
    messages = [m for m in database.messages if m.length == 8]
    if not messages:
        sys.exit("the database has no message of 8 bytes")
    draw = random.Random(1)
    signals = 0
    with open(path, "w") as log:
        for number in range(count):
            message = draw.choice(messages)
            signals += len(message.signals)
            width = 8 if message.is_extended_frame else 3
            name = f"{message.frame_id:0{width}X}"
            payload = draw.randbytes(8).hex().upper()
            stamp = 1_700_000_000_000_000 + number * 250
            log.write(f"({stamp // 10**6}.{stamp % 10**6:06}) can0 {name}#{payload}\n")
    return len(messages), signals


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("database", type=Path)
    parser.add_argument("--cangate", default="target/release/cangate")
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    database = cantools.database.load_file(options.database, strict=False)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "frames.log")
        messages, signals = write_log(log, database, options.frames)
        print(f"{options.frames} frames of {messages} messages, {signals} signals")
        name = str(options.database)
        own = [options.cangate, "decode", str(log), "--database", name]
        ways = {
            "cantools decode --single-line":
                [sys.executable, "-m", "cantools", "decode", "--single-line", name],
            "cangate decode": own,
            "cangate decode --format csv": [*own, "--format", "csv"],
            "cangate decode --format parquet":
                [*own, "--format", "parquet", "--out", str(Path(folder, "dataset"))],
        }
        total = dict.fromkeys(ways, 0.0)
        # In turn, so that the load of the machine is the same for all.
        for run in range(options.runs):
            for way, command in ways.items():
                if "parquet" in command:
                    command = [*command[:-1], f"{command[-1]}-{run}"]
                total[way] += processor_time(command, log)
        slowest = total["cantools decode --single-line"]
        print("\n| command | s | ratio |\n|---|---|---|")
        for way, seconds in total.items():
            print(f"| `{way}` | {seconds / options.runs:.2f} | {slowest / seconds:.1f} |")


if __name__ == "__main__":
    main()
