#!/usr/bin/env python3
"""Decides the same events through Rust, Python, Node, HTTP and `midrail replay`, and compares the decisions.

Everything has to be equal except ids, hashes, times, and the fingerprints of secrets, which are different in every store.
"""

import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import midrail
from events import SECRET, events

HERE = Path(__file__).resolve().parent
PACK = "midrail:default"


def program_lines(command, lines, **options):
    """The lines that a program answers to lines."""
    done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=600, **options)
    if done.returncode not in (0, 2):
        sys.exit(f"{command[0]} failed: {done.stderr}")
    return done.stdout.splitlines()


def through_python(lines):
    guard = midrail.Guard(packs=[PACK], store=":memory:")
    return [json.dumps(guard.session().decide(json.loads(line)).to_dict()) for line in lines]


def through_http(program, folder, lines):
    command = [program, "serve", "--listen", "127.0.0.1:0", "--store", folder / "http.db", "--pack", PACK]
    service = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        address = next(line.split()[-1] for line in service.stdout if "is ready at" in line)
        guard = midrail.Guard(url=address)
        return [json.dumps(guard.session().decide(json.loads(line)).to_dict()) for line in lines]
    finally:
        service.terminate()
        service.wait(10)
        service.stdout.close()


def through_replay(program, folder, lines):
    path = folder / "events.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return program_lines([program, "replay", path, "--pack", PACK, "--json"], [])


def comparable(text):
    """A decision without ids, hashes, times and fingerprints, as text with a fixed order."""
    decision = json.loads(text)
    decision.pop("audit", None)
    if decision.get("approval"):
        decision["approval"].pop("id")
        decision["approval"].pop("expires", None)
    for verdict in decision.get("verdicts", []):
        verdict.pop("duration_us", None)
    text = re.sub(r"\[redacted:([a-z0-9-]+)#\w+\]", r"[redacted:\1]", json.dumps(decision, sort_keys=True))
    return re.sub(r'"[0-9a-f]{64}"', '"(fingerprint)"', text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True, help="the program midrail")
    parser.add_argument("--node", required=True, type=Path, help="the prefix with the Node package")
    parser.add_argument("--target", required=True, type=Path, help="the folder with the Rust example")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home).resolve()
        os.environ["HOME"] = str(folder)
        os.environ.pop("XDG_STATE_HOME", None)
        work = folder / "work"
        (work / "src").mkdir(parents=True)
        for name in ("notes.txt", "src/main.rs", ".env", "id_rsa"):
            (work / name).write_text("content\n")
        os.chdir(work)
        lines = [json.dumps(event) for event in events(work)]
        shutil.copy(HERE / "node.mjs", options.node / "same_answer.mjs")
        answers = {
            "Rust": program_lines([options.target / "examples/decide_events", PACK], lines),
            "Python": through_python(lines),
            "Node": program_lines(["node", options.node / "same_answer.mjs", PACK], lines),
            "HTTP": through_http(options.program, folder, lines),
            "midrail replay": through_replay(options.program, folder, lines),
        }
    failed = False
    expected = [comparable(answer) for answer in answers["Rust"]]
    for way, texts in answers.items():
        if len(texts) != len(lines):
            sys.exit(f"error: {way} has {len(texts)} decisions for {len(lines)} events")
        for line, want, got in zip(lines, expected, map(comparable, texts)):
            if want != got:
                failed = True
                print(f"error: {way} differs\n  event  {line[:300]}\n  Rust   {want}\n  {way}  {got}", file=sys.stderr)
        if any(SECRET in text for text in texts):
            sys.exit(f"error: {way} shows a secret")
    effects = collections.Counter(json.loads(text)["effect"] for text in expected)
    if len(effects) < 4:
        sys.exit(f"error: the events lead to too few effects: {effects}")
    if failed:
        sys.exit(1)
    print(f"{len(lines)} events, {len(answers)} ways ({', '.join(answers)}), the same decisions: {dict(effects)}")


main()
