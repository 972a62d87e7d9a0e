"""What several tests share: folders, the program `midrail`, and people who answer requests."""

import json
import os
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import midrail

PROGRAM = os.environ.get("MIDRAIL_PROGRAM", "midrail")
SECRET = "AKIAQ4ZT" + "X7RK2MPLWN3J"

REFUNDS = """
pack: shop
guardrails:
  - id: refunds
    tools: [refund, mcp__shop__refund]
    effect: escalate
    approver: reviewer
"""


def memory(**options):
    """A guard with the default pack and a store in memory."""
    return midrail.Guard(packs=["midrail:default"], store=":memory:", **options)


class FolderCase(unittest.TestCase):
    """A test with a folder of its own as `HOME` and working folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name).resolve()
        self.store = self.folder / "midrail.db"
        before = dict(os.environ), os.getcwd()
        self.addCleanup(self.restore, *before)
        os.environ["HOME"] = str(self.folder)
        for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
            os.environ.pop(name, None)
        os.chdir(self.folder)

    def restore(self, environment, folder):
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)

    def write_pack(self, text):
        path = self.folder / ".midrail/pack.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def midrail(self, *arguments, key=None):
        """Runs the program and returns what it prints."""
        command = [PROGRAM, *map(str, arguments)]
        given = {}
        if key is not None:
            path = self.folder / "person.key"
            path.write_text(key)
            descriptor = os.open(path, os.O_RDONLY)
            self.addCleanup(os.close, descriptor)
            command += ["--key-fd", str(descriptor)]
            given["pass_fds"] = [descriptor]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, **given)
        if done.returncode != 0:
            raise AssertionError(f"{command[1:]} failed: {done.stderr}{done.stdout}")
        return done.stdout

    def records(self):
        """The records of the audit log, in their order."""
        entries = [json.loads(line) for line in self.midrail("audit", "export", "--store", self.store).splitlines()]
        return [entry["body"] for entry in entries if "body" in entry]

    def pending(self, *store):
        """The requests for approvals that are pending."""
        lines = self.midrail("approvals", "list", "--json", *store).splitlines()
        return [json.loads(line) for line in lines]

    def reviewer(self, *store):
        """Registers ann, who reviews; returns a function that approves or denies a request."""
        key = self.midrail("approver", "add", "ann", "--role", "reviewer", *store).splitlines()[0]

        def answer(approval, verb="approve"):
            self.midrail("approvals", verb, approval.id, "--as", "ann", *store, key=key)

        return answer

    def serve(self, *arguments):
        """Starts the service and returns its address."""
        command = [PROGRAM, "serve", "--listen", "127.0.0.1:0", *map(str, arguments)]
        service = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

        def stop():
            service.terminate()
            service.wait(10)
            service.stdout.close()

        self.addCleanup(stop)
        end = time.monotonic() + 30
        lines = []
        while time.monotonic() < end:
            line = service.stdout.readline()
            lines.append(line)
            if "is ready at" in line:
                return line.split()[-1]
            if not line:
                break
        raise AssertionError("the service did not start: " + "".join(lines))
