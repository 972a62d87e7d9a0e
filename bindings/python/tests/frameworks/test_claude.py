"""The Claude Agent SDK: the real Claude Code with a scripted model."""

import asyncio
import os
import sys
import threading
import time
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

from anthropic_model import Script
from behaviours import DESTRUCTIVE, Behaviours, Outcome, Tools
from claude_agent_sdk import (
    AgentDefinition,
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    ResultMessage,
    TextBlock,
    UserMessage,
    create_sdk_mcp_server,
    query,
    tool,
)
from support import REFUNDS, SECRET, FolderCase

import midrail.claude
from midrail import Session

SERVER = "mcp__shop__"
INNER = "the-inner-agent"
ORDER_8 = """
pack: shop
guardrails:
  - id: order-8
    tools: mcp__shop__refund
    when: tool.args.order != 8
    modify: {args.order: 8}
"""


class Claude(Behaviours, FolderCase):
    ways = ("query", "client")
    # Claude Code keeps its conversations itself, and a prompt that would be changed is blocked.
    test_old_prompts_are_replaced_again_and_decided_once = None

    def options(self, hooks, tools, url):
        @tool("refund", "Refund an order.", {"order": int})
        async def refund(args):
            return {"content": [{"type": "text", "text": tools.refund(**args)}]}

        async def ran(input, tool_use_id, context):
            # A tool of the server records its own calls, and a sub-agent is no tool of the test.
            if not input["tool_name"].startswith(SERVER) and input["tool_name"] != "Agent":
                tools.ran.append(input["tool_name"])
            return {}

        for event in ("PostToolUse", "PostToolUseFailure"):
            hooks.setdefault(event, []).append(HookMatcher(hooks=[ran]))
        environment = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none"}
        environment |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
        return ClaudeAgentOptions(
            cwd=self.folder,
            model="claude-sonnet-4-5",
            setting_sources=[],
            allowed_tools=["Bash", "Read", "Write", "Agent", f"{SERVER}refund"],
            agents={"inner": AgentDefinition(description="works", prompt=INNER, tools=["Bash"])},
            mcp_servers={"shop": create_sdk_mcp_server("shop", tools=[refund])},
            hooks=hooks,
            env=environment,
        )

    def start(self, way, options, prompt):
        """The texts that the program sees in a run."""

        async def run():
            if way == "query":
                return [message async for message in query(prompt=prompt, options=options)]
            async with ClaudeSDKClient(options) as client:
                await client.query(prompt)
                return [message async for message in client.receive_response()]

        texts = []
        for message in asyncio.run(asyncio.wait_for(run(), 90)):
            if isinstance(message, AssistantMessage):
                texts += [block.text for block in message.content if isinstance(block, TextBlock)]
            elif isinstance(message, UserMessage):
                texts += [str(getattr(block, "content", "")) for block in message.content]
            elif isinstance(message, ResultMessage):
                texts += [message.result or "", *(message.errors or [])]
            else:
                texts.append(str(getattr(message, "data", "")))
        return texts

    def run_script(self, way, hooks, scripts, *, tools, prompt="work"):
        with Script(scripts) as model:
            texts = self.start(way, self.options(hooks, tools, model.url), prompt)
        return Outcome(model.seen, "done" if "done" in texts else "\n".join(texts))

    def play(self, way, guard, calls, *, tools, prompt="work", thread=None):
        named = [(f"{SERVER}{name}" if name == "refund" else name, args) for name, args in calls]
        hooks = midrail.claude.hooks(guard, session=thread)
        return self.run_script(way, hooks, {"": named}, tools=tools, prompt=prompt)

    def delegate(self, way, guard, calls, *, tools):
        order = ("Agent", {"subagent_type": "inner", "description": "x", "prompt": "x", "run_in_background": False})
        hooks = midrail.claude.hooks(guard, session="delegated", agent={"id": "outer"})
        return self.run_script(way, hooks, {INNER: calls, "": [order]}, tools=tools)

    def overwrite(self, path):
        # Claude Code itself does not overwrite a file with `Write` that it has not read.
        return "Bash", {"command": f"printf new > {path}"}

    def test_a_prompt_is_replaced_or_stopped(self):
        # Claude Code cannot replace a prompt, so a change stops it.
        change = midrail.verdict("redact", "no names", replacement="work for (name)")
        for way in self.each_way():
            for answer in ("no names", change):
                guard = self.guard()
                guard.guardrail("names", on=["before_model"])(lambda call, answer=answer: answer)
                outcome = self.play(way, guard, [], tools=self.tools, prompt="work for ann")
                self.assertEqual(outcome.seen, [])
                self.assertIn("no names", outcome.final)

    def test_a_file_in_a_prompt_is_decided_as_a_read(self):
        for way in self.each_way():
            (self.folder / "plans.txt").write_text("zebra")
            guard = self.guard()
            guard.guardrail("plans", tools=["Read"])(lambda call: "no plans" if "plans" in call.args["file_path"] else None)
            outcome = self.play(way, guard, [], tools=self.tools, prompt="work with @plans.txt")
            self.assertEqual(outcome.seen, [])
            self.assertIn("no plans", outcome.final)
            outcome = self.play(way, self.guard(), [], tools=self.tools, prompt="work with @plans.txt")
            self.assertIn("zebra", outcome.all_seen)

    def test_a_call_waits_for_its_approval(self):
        answer = self.reviewer("--store", self.store)

        def approve(session):
            end = time.monotonic() + 30
            while time.monotonic() < end:
                for each in self.pending("--store", self.store):
                    if each["session"] == session:
                        return answer(midrail.Approval(each, None))
                time.sleep(0.1)

        for way in self.each_way():
            hooks = midrail.claude.hooks(self.guard(self.write_pack(REFUNDS)), session=f"chat-{way}", wait=40)
            approver = threading.Thread(target=approve, args=[f"chat-{way}"])
            approver.start()
            outcome = self.run_script(way, hooks, {"": [(f"{SERVER}refund", {"order": 7})]}, tools=self.tools)
            approver.join()
            self.assertEqual((self.tools.ran, len(outcome.seen)), (["refund"], 2))

    def test_changed_arguments_are_those_that_run(self):
        pack = self.write_pack(ORDER_8)
        for way in self.each_way():
            guard = self.guard(pack)
            orders = []
            self.tools.refund = lambda order: orders.append(order) or "refunded"
            self.play(way, guard, [("refund", {"order": 7})], tools=self.tools)
            self.assertEqual(orders, [8])

    def test_a_secret_in_any_result_does_not_reach_the_model(self):
        for way in self.each_way():
            path = self.folder / "settings.txt"
            path.write_text(f"mode=x\nKEY={SECRET}\n")
            self.tools.refund = lambda order: f"KEY={SECRET}"
            read = ("Read", {"file_path": str(path)})
            for call in (read, ("refund", {"order": 7})):
                outcome = self.play(way, self.guard(), [call], tools=self.tools)
                self.assertIn("[redacted:aws-access-key", outcome.seen[-1], call)
                self.assertNotIn(SECRET, outcome.all_seen, call)
                guard = self.guard()
                guard.guardrail("mine", on=["after_tool"])(lambda call: "not for the model")
                outcome = self.play(way, guard, [call], tools=self.tools)
                self.assertIn("not for the model", outcome.seen[-1], call)
                self.assertNotIn("KEY=", outcome.all_seen, call)

    def test_a_secret_in_an_error_ends_the_run(self):
        for way in self.each_way():
            (self.folder / "settings.txt").write_text(f"KEY={SECRET}")
            calls = [("Bash", {"command": "cat settings.txt; exit 3"}), ("Bash", {"command": "ls"})]
            outcome = self.play(way, self.guard(), calls, tools=self.tools)
            self.assertEqual((self.tools.ran, len(outcome.seen)), (["Bash"], 1))
            outcome = self.play(way, self.guard(), [("Bash", {"command": "echo hel''lo; exit 3"})], tools=self.tools)
            self.assertIn("hello", outcome.seen[-1])
            self.assertEqual(outcome.final, "done")

    def test_a_halted_conversation_does_not_continue(self):
        async def talk(options):
            async with ClaudeSDKClient(options) as client:
                for prompt in ("work", "continue"):
                    await client.query(prompt)
                    messages = [message async for message in client.receive_response()]
            return str(messages)

        guard, reason = self.verdict("halt")
        self.tools = Tools(self.folder)
        with Script({"": [(f"{SERVER}refund", {"order": 7})]}) as model:
            texts = asyncio.run(talk(self.options(midrail.claude.hooks(guard), self.tools, model.url)))
        self.assertEqual((self.tools.ran, len(model.seen)), ([], 1))
        self.assertIn(reason, texts)

    def test_a_sub_agent_names_its_parent(self):
        for way in self.each_way():
            self.delegate(way, self.guard(), [("Bash", {"command": "ls"})], tools=self.tools)
            self.assertEqual(self.tools.ran, ["Bash"])
            events = [record["event"] for record in self.records() if record["session"] == "delegated"]
            calls = [event for event in events if event["kind"] == "before_tool"]
            names = [(event["tool"]["name"], event["agent"].get("role"), event.get("parent")) for event in calls]
            self.assertEqual(names[-2:], [("Agent", None, None), ("Bash", "inner", "outer")])

    def test_a_secret_in_a_result_of_a_sub_agent_does_not_reach_the_model(self):
        for way in self.each_way():
            (self.folder / "settings.txt").write_text(f"KEY={SECRET}")
            for command in ("cat settings.txt", "cat settings.txt; exit 3"):
                outcome = self.delegate(way, self.guard(), [("Bash", {"command": command})], tools=self.tools)
                self.assertEqual(self.tools.ran.pop(), "Bash")
                self.assertNotIn(SECRET, outcome.all_seen)

    def test_a_start_of_a_sub_agent_can_be_stopped(self):
        for way in self.each_way():
            guard = self.guard()
            guard.guardrail("no-agents", tools=["Agent"])(lambda call: "no agents")
            outcome = self.delegate(way, guard, [("Bash", {"command": "ls"})], tools=self.tools)
            self.assertEqual(self.tools.ran, [])
            self.assertIn("no agents", outcome.seen[-1])

    def test_the_model_has_another_turn_if_it_may_not_stop_yet(self):
        for way in self.each_way():
            guard = self.guard()
            turns = []

            @guard.guardrail("report-first", on=["before_stop"])
            def check(call):
                turns.append(1)
                return midrail.verdict("retry", "write the report first") if len(turns) == 1 else None

            outcome = self.play(way, guard, [], tools=self.tools)
            self.assertEqual(len(outcome.seen), 2)
            self.assertIn("write the report first", outcome.seen[-1])

    def test_settings_of_the_project_do_not_disable_the_hooks(self):
        settings = self.folder / ".claude/settings.json"
        settings.parent.mkdir()
        settings.write_text('{"disableAllHooks": true}')
        for way in self.each_way():
            folder = self.important()
            with Script({"": [("Bash", DESTRUCTIVE)]}) as model:
                options = self.options(midrail.claude.hooks(self.guard()), self.tools, model.url)
                options.setting_sources = ["project"]
                self.start(way, options, "work")
            self.assertEqual((len(model.seen), folder.exists()), (2, True))
            self.assertIn("Deletes everything that it finds", model.seen[-1])

    def test_a_failure_of_the_adapter_stops_what_it_decides(self):
        def broken(*arguments, **fields):
            raise RuntimeError("the adapter is broken")

        call = ("Bash", {"command": "echo zeb''ra"})
        failing = ("Bash", {"command": "echo zeb''ra; exit 3"})
        for way in self.each_way():
            with mock.patch.object(Session, "abefore_model", broken):
                outcome = self.play(way, self.guard(), [call], tools=self.tools)
                self.assertEqual((self.tools.ran, outcome.seen), ([], []))
            with mock.patch.object(Session, "abefore_tool", broken):
                outcome = self.play(way, self.guard(), [call], tools=self.tools)
                self.assertEqual(self.tools.ran, [])
                self.assertIn("the adapter is broken", outcome.seen[-1])
            with mock.patch.object(Session, "aafter_tool", broken):
                outcome = self.play(way, self.guard(), [call], tools=self.tools)
                self.assertNotIn("zebra", outcome.all_seen)
                outcome = self.play(way, self.guard(), [failing], tools=self.tools)
                self.assertEqual((self.tools.ran, len(outcome.seen)), (["Bash", "Bash"], 1))

    def test_a_failure_of_the_connection_to_the_adapter_stops_calls(self):
        async def broken(input, tool_use_id, context):
            raise RuntimeError("the connection is broken")

        for way in self.each_way():
            hooks = midrail.claude.hooks(self.guard())
            hooks["PreToolUse"][0].hooks = [broken]
            self.run_script(way, hooks, {"": [("Bash", {"command": "ls"})]}, tools=self.tools)
            self.assertEqual(self.tools.ran, [])


if __name__ == "__main__":
    unittest.main()
