#!/usr/bin/env python3
"""Measures what an ordinary allowed call costs from Rust, Python and Node, in one run.

The cost is processor time of the whole process, user and system: that of many calls less that of few, so that the start does not count.
Each round measures all languages one after the other, and the ratio to Rust is the median of the ratios of the rounds. With `--limit`,
the ratios of blocking calls from Python and of calls from Node must not be above it.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACK = "midrail:default"
FEW = 500


def processor_seconds(command, folder):
    """The processor time of a program and its threads."""
    process = subprocess.Popen([str(word) for word in command], cwd=folder)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command[0]} failed")
    return usage.ru_utime + usage.ru_stime


def microseconds(command, store, many, number):
    """The cost of one call."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        seconds = []
        for count in (FEW, FEW + many):
            path = ":memory:" if store == "memory" else Path(folder) / f"{number}-{count}.db"
            program, *rest = command
            seconds.append(processor_seconds([*program, PACK, path, count, *rest], folder))
    return (seconds[1] - seconds[0]) / many * 1e6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--node", required=True, type=Path, help="the prefix with the Node package")
    parser.add_argument("--target", required=True, type=Path, help="the folder with the Rust example")
    parser.add_argument("--calls", type=int, default=3_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--limit", type=float, help="the highest ratio to Rust")
    options = parser.parse_args()
    node, target = options.node.resolve(), options.target.resolve()
    os.environ.pop("XDG_STATE_HOME", None)
    shutil.copy(HERE / "calls.mjs", node / "calls.mjs")
    python = [sys.executable, HERE / "calls.py"]
    ways = {
        "Rust": [[target / "examples/decide_calls"]],
        "Python": [python],
        "Python, asyncio": [python, "async"],
        "Node": [["node", node / "calls.mjs"]],
    }
    failed = False
    for store in ("memory", "SQLite"):
        costs = {way: [] for way in ways}
        for number in range(options.rounds):
            for way, command in ways.items():
                costs[way].append(microseconds(command, store, options.calls, number))
        for way, found in costs.items():
            ratio = statistics.median(cost / rust for cost, rust in zip(found, costs["Rust"]))
            print(f"{store:7} {way:16} {statistics.median(found):7.1f} µs  {ratio:.2f} times Rust")
            failed |= options.limit is not None and way != "Python, asyncio" and ratio > options.limit
    if failed:
        sys.exit(f"error: a call costs more than {options.limit} times what it costs in Rust")


main()
