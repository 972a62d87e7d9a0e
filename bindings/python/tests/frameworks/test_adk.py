"""Google ADK with a scripted model."""

import asyncio
import os
import sys
import unittest
from typing import Any

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

from behaviours import Behaviours, Outcome
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.genai import types
from support import SECRET, FolderCase

import midrail.adk


class Script(BaseLlm):
    """A model that makes the calls of a script, and then answers."""

    calls: Any
    seen: Any
    answer: str = "done"

    async def generate_content_async(self, llm_request, stream=False):
        self.seen.append("\n".join(str(content) for content in llm_request.contents))
        if self.calls:
            calls = self.calls.pop(0)
            # Calls of one turn have the same id.
            calls, id = (calls, "call-1") if isinstance(calls, list) else ([calls], None)
            parts = [types.Part(function_call=types.FunctionCall(name=name, args=args, id=id)) for name, args in calls]
        else:
            parts = [types.Part(text=self.answer)]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def script(calls, seen=None, answer="done"):
    return Script(model="script", calls=list(calls), seen=[] if seen is None else seen, answer=answer)


class Adk(Behaviours, FolderCase):
    runners = None

    def start(self, way, agent, prompt, guard, thread=None):
        """The texts of all events of a run. The framework is asynchronous; its `run` has a thread of its own."""
        runner = InMemoryRunner(agent, app_name="test", plugins=[guard if isinstance(guard, midrail.adk.Guard) else midrail.adk.Guard(guard)])
        session = asyncio.run(runner.session_service.create_session(app_name="test", user_id="ann", session_id=thread))
        events = self.run_once(way, runner, session.id, prompt)
        texts = [part.text for event in events for part in (event.content.parts if event.content else []) if part.text]
        return texts[-1] if texts else ""

    def run_once(self, way, runner, session, prompt):
        message = types.Content(role="user", parts=[types.Part(text=prompt)])
        given = {"user_id": "ann", "session_id": session, "new_message": message}

        async def run():
            return [event async for event in runner.run_async(**given)]

        return list(runner.run(**given)) if way == "sync" else asyncio.run(run())

    def play(self, way, guard, calls, *, tools, prompt="work", thread=None):
        seen = []
        agent = LlmAgent(name="worker", model=script(calls, seen), tools=tools.functions())
        return Outcome(seen, self.start(way, agent, prompt, guard, thread))

    def converse(self, way, guard, prompts, thread):
        seen = []
        agent = LlmAgent(name="worker", model=script([], seen))
        runner = InMemoryRunner(agent, app_name="test", plugins=[midrail.adk.Guard(guard)])
        asyncio.run(runner.session_service.create_session(app_name="test", user_id="ann", session_id=thread))
        for prompt in prompts:
            self.run_once(way, runner, thread, prompt)
        return seen

    def delegate(self, way, guard, calls, *, tools):
        inner = LlmAgent(name="inner", model=script(calls), tools=tools.functions())
        outer = LlmAgent(name="outer", model=script([("transfer_to_agent", {"agent_name": "inner"})]), sub_agents=[inner])
        self.start(way, outer, "work", guard, thread="delegated")

    def test_a_sub_agent_names_its_parent(self):
        for number, way in enumerate(self.each_way()):
            self.delegate(way, self.guard(), [("Bash", {"command": "ls"})], tools=self.tools)
            self.assertEqual(self.tools.ran, ["Bash"])
            events = [record["event"] for record in self.records() if record["session"] == "delegated"]
            names = [(event["kind"], event["agent"]["id"], event.get("parent")) for event in events]
            self.assertIn(("before_handoff", "outer", None), names)
            self.assertIn(("before_tool", "inner", "outer"), names)

    def test_results_of_calls_with_one_id_are_all_checked(self):
        for way in self.each_way():
            for name in "ab":
                (self.folder / name).write_text(f"KEY={SECRET}")
            calls = [[("Bash", {"command": f"cat {name}"}) for name in "ab"]]
            outcome = self.play(way, self.guard(), calls, tools=self.tools)
            self.assertEqual(self.tools.ran, ["Bash", "Bash"])
            self.assertNotIn(SECRET, outcome.all_seen)
            self.assertEqual(outcome.seen[-1].count("[redacted:aws-access-key"), 2)

    def test_arguments_that_change_while_they_are_decided_do_not_run(self):
        for way in self.each_way():
            guard = self.guard()
            given = []
            guard.guardrail("slow", tools=["Bash"])(lambda call: given[0].update(command="echo other"))
            plugin = midrail.adk.Guard(guard)
            before = plugin.before_tool_callback

            async def spied(**call):
                given[:] = [call["tool_args"]]
                return await before(**call)

            plugin.before_tool_callback = spied
            seen = []
            agent = LlmAgent(name="worker", model=script([("Bash", {"command": "echo this"})], seen), tools=self.tools.functions())
            self.start(way, agent, "work", plugin)
            self.assertEqual(self.tools.ran, [])
            self.assertIn("changed while they were decided", seen[-1])

    def test_a_hand_off_can_be_stopped(self):
        for way in self.each_way():
            guard = self.guard()
            guard.guardrail("no-hand-offs", on=["before_handoff"])(lambda call: "no hand-offs")
            self.delegate(way, guard, [("Bash", {"command": "ls"})], tools=self.tools)
            self.assertEqual(self.tools.ran, [])

    def test_an_agent_as_a_tool_is_held_to_the_same(self):
        for way in self.each_way():
            inner = LlmAgent(name="inner", model=script([("Bash", {"command": "rm -rf ./*"})]), tools=self.tools.functions())
            outer = LlmAgent(name="outer", model=script([("inner", {"request": "x"})]), tools=[AgentTool(inner)])
            self.assertEqual(self.start(way, outer, "work", self.guard()), "done")
            self.assertEqual(self.tools.ran, [])

    def test_the_answer_of_the_model_is_checked(self):
        for way in self.each_way():
            agent = LlmAgent(name="worker", model=script([], answer=f"the key is {SECRET}"))
            self.assertIn("the key is [redacted", self.start(way, agent, "work", self.guard()))


if __name__ == "__main__":
    unittest.main()
