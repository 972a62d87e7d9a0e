"""What every adapter has to do, as tests with the real framework and a scripted model.

A test of an adapter inherits `Behaviours`, and implements `play` and `delegate`.
"""

from dataclasses import dataclass, field
from pathlib import Path

import midrail
from support import REFUNDS, SECRET, FolderCase


DESTRUCTIVE = {"command": "find ./* -delete"}
"""Deletes what is in the folder of the test, and nothing else, should it ever run. Claude Code itself refuses `rm -rf ./*`."""

REFUND = ["refund", "mcp__shop__refund"]
"""The names of the tool: its own, and that of an MCP server in the process."""


@dataclass
class Outcome:
    """What happened in a run."""

    seen: list[str] = field(default_factory=list)
    """The requests to the model, each as one text."""
    final: str = ""

    @property
    def all_seen(self):
        return "\n".join(self.seen)


class Tools:
    """The tools of the agents in the tests. They have real effects, in the folder of the test."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.ran = []

    def Bash(self, command: str) -> str:
        """Run a command."""
        import subprocess

        self.ran.append("Bash")
        return subprocess.run(command, shell=True, cwd=self.folder, capture_output=True, text=True).stdout

    def Read(self, file_path: str) -> str:
        """Read a file."""
        self.ran.append("Read")
        return Path(file_path).read_text()

    def Write(self, file_path: str, content: str) -> str:
        """Write a file."""
        self.ran.append("Write")
        Path(file_path).write_text(content)
        return "written"

    def refund(self, order: int) -> str:
        """Refund an order."""
        self.ran.append("refund")
        return "refunded"

    def fail(self, reason: str) -> str:
        """Fail."""
        self.ran.append("fail")
        raise ValueError(reason)

    def functions(self):
        return [self.Bash, self.Read, self.Write, self.refund]


class Behaviours:
    """The behaviours. Mixed into a `FolderCase`."""

    ways = ("sync", "async")

    def play(self, way, guard, calls, *, tools, prompt="work", thread=None):
        """Runs an agent whose model makes these calls, one after the other, and then answers `done`."""
        raise NotImplementedError

    def delegate(self, way, guard, calls, *, tools):
        """The same, by an agent that the first agent starts or hands over to."""
        raise NotImplementedError

    def converse(self, way, guard, prompts, thread):
        """Runs an agent once for each prompt, each time with all that was said before: the requests to the model."""
        raise NotImplementedError

    def overwrite(self, path):
        """The call that overwrites a file with `new`."""
        return "Write", {"file_path": str(path), "content": "new"}

    def each_way(self):
        for way in self.ways:
            self.tools = Tools(self.folder)
            yield way

    def guard(self, *packs):
        return midrail.Guard(packs=list(packs) or ["midrail:default"], store=self.store)

    def important(self):
        """A folder that must survive."""
        folder = self.folder / "important"
        folder.mkdir(exist_ok=True)
        (folder / "data.txt").write_text("data")
        return folder

    def test_a_harmless_call_runs(self):
        for way in self.each_way():
            outcome = self.play(way, self.guard(), [("Bash", {"command": "echo hel''lo"})], tools=self.tools)
            self.assertEqual(self.tools.ran, ["Bash"])
            self.assertIn("hello", outcome.seen[-1])
            self.assertEqual(outcome.final, "done")

    def test_a_destructive_call_is_stopped_and_the_folder_survives(self):
        for way in self.each_way():
            folder = self.important()
            outcome = self.play(way, self.guard(), [("Bash", DESTRUCTIVE)], tools=self.tools)
            self.assertEqual((self.tools.ran, folder.exists()), ([], True))
            self.assertIn("Deletes everything that it finds", outcome.seen[-1])
            self.assertEqual(outcome.final, "done")

    def test_a_secret_does_not_reach_the_model(self):
        for way in self.each_way():
            (self.folder / "settings.txt").write_text(f"KEY={SECRET}")
            outcome = self.play(way, self.guard(), [("Bash", {"command": "cat settings.txt"})], tools=self.tools)
            self.assertEqual(self.tools.ran, ["Bash"])
            self.assertIn("[redacted:aws-access-key", outcome.seen[-1])
            self.assertNotIn(SECRET, outcome.all_seen)

    def test_a_prompt_is_replaced_or_stopped(self):
        for way in self.each_way():
            guard = self.guard()
            change = midrail.verdict("redact", "names are replaced", replacement="work for (name)")
            guard.guardrail("names", on=["before_model"])(lambda call: change)
            outcome = self.play(way, guard, [], tools=self.tools, prompt="work for ann")
            self.assertIn("work for (name)", outcome.all_seen)
            self.assertNotIn("ann", outcome.all_seen)
            guard.guardrail("names", on=["before_model"])(lambda call: "no names")
            outcome = self.play(way, guard, [], tools=self.tools, prompt="work for ann")
            self.assertEqual(outcome.seen, [])
            self.assertIn("no names", outcome.final)

    def test_a_prompt_without_a_reason_is_stopped(self):
        for way in self.each_way():
            guard = self.guard()
            guard.guardrail("mine", on=["before_model"])(lambda call: midrail.verdict("block", ""))
            self.assertEqual(self.play(way, guard, [], tools=self.tools).seen, [])

    def test_old_prompts_are_replaced_again_and_decided_once(self):
        for way in self.each_way():
            guard = self.guard()
            change = midrail.verdict("redact", "names are replaced", replacement="work for (name)")
            guard.guardrail("names", on=["before_model"])(lambda call: change if "ann" in call.event["text"] else None)
            warning = midrail.verdict("warn", "mind the tone")
            guard.guardrail("tone", on=["before_model"])(lambda call: warning if "now" in call.event["text"] else None)
            prompts = ["work for ann", "again", "again", "do it now", "go on"]
            seen = self.converse(way, guard, prompts, f"whole-{way}")
            self.assertEqual(len(seen), len(prompts))
            self.assertNotIn("ann", "".join(seen))
            for request in seen:
                self.assertEqual(request.count("work for (name)"), 1, request)
            self.assertEqual([request.count("mind the tone") for request in seen], [0, 0, 0, 1, 1], seen)
            records = [each for each in self.records() if each["session"] == f"whole-{way}"]
            texts = [each["event"]["text"] for each in records if each["event"]["kind"] == "before_model"]
            self.assertEqual(texts, prompts)

    def test_an_unread_file_is_not_overwritten(self):
        for way in self.each_way():
            path = self.folder / "notes.txt"
            path.write_text("notes")
            write = self.overwrite(path)
            outcome = self.play(way, self.guard(), [write], tools=self.tools)
            self.assertEqual((self.tools.ran, path.read_text()), ([], "notes"))
            self.assertIn("read", outcome.seen[-1].lower())
            self.play(way, self.guard(), [("Read", {"file_path": str(path)}), write], tools=self.tools)
            self.assertEqual((self.tools.ran, path.read_text()), (["Read", write[0]], "new"))

    def test_an_approval_lets_exactly_one_call_pass(self):
        answer = self.reviewer("--store", self.store)
        for way in self.each_way():
            guard = self.guard(self.write_pack(REFUNDS))
            refund = [("refund", {"order": 7})]
            play = lambda calls: self.play(way, guard, calls, tools=self.tools, thread=f"chat-{way}")
            play(refund)
            self.assertEqual(self.tools.ran, [])
            pending = [each for each in self.pending("--store", self.store) if each["session"] == f"chat-{way}"]
            answer(midrail.Approval(pending[0], None))
            play([("refund", {"order": 8})])
            self.assertEqual(self.tools.ran, [])
            play(refund)
            self.assertEqual(self.tools.ran, ["refund"])
            play(refund)
            self.assertEqual(self.tools.ran, ["refund"])

    def test_a_throwing_guardrail_stops_the_call(self):
        for way in self.each_way():
            guard = self.guard()
            guard.guardrail("mine", tools=REFUND)(lambda call: 1 / 0)
            outcome = self.play(way, guard, [("refund", {"order": 7})], tools=self.tools)
            self.assertEqual(self.tools.ran, [])
            self.assertIn("mine", outcome.seen[-1])

    def test_another_agent_is_held_to_the_same(self):
        for way in self.each_way():
            folder = self.important()
            self.delegate(way, self.guard(), [("Bash", DESTRUCTIVE)], tools=self.tools)
            self.assertEqual((self.tools.ran, folder.exists()), ([], True))
            blocked = self.midrail("audit", "list", "--store", self.store, "--effect", "block", "--json")
            self.assertIn("bash", blocked.lower())

    def verdict(self, effect):
        guard = self.guard()
        reason = "there is a limit for refunds"
        verdict = midrail.verdict(effect, reason, advice="ask ann first")
        guard.guardrail("mine", tools=REFUND, on=["before_tool"])(lambda call: verdict)
        return guard, reason

    def test_every_effect_lands(self):
        for way in self.each_way():
            for effect, runs in {"warn": True, "contain": False, "retry": False, "escalate": False, "block": False}.items():
                self.tools.ran.clear()
                guard, reason = self.verdict(effect)
                outcome = self.play(way, guard, [("refund", {"order": 7})], tools=self.tools)
                self.assertEqual(self.tools.ran, ["refund"] if runs else [], effect)
                self.assertIn(reason, outcome.seen[-1], effect)
                self.assertEqual("refunded" in outcome.seen[-1], runs, effect)
                self.assertEqual(outcome.final, "done", effect)

    def test_a_halt_ends_the_run(self):
        for way in self.each_way():
            guard, reason = self.verdict("halt")
            outcome = self.play(way, guard, [("refund", {"order": 7}), ("Bash", {"command": "ls"})], tools=self.tools)
            self.assertEqual(self.tools.ran, [])
            self.assertEqual(len(outcome.seen), 1)
            self.assertIn(reason, outcome.final)

    def test_a_withheld_result_does_not_reach_the_model(self):
        for way in self.each_way():
            guard = self.guard()
            # Some frameworks change the names of tools to lower case.
            guard.guardrail("mine", tools=["Bash", "bash"], on=["after_tool"])(lambda call: "not for the model")
            outcome = self.play(way, guard, [("Bash", {"command": "echo zeb''ra"})], tools=self.tools)
            self.assertEqual(self.tools.ran, ["Bash"])
            self.assertIn("not for the model", outcome.seen[-1])
            self.assertNotIn("zebra", outcome.all_seen)
