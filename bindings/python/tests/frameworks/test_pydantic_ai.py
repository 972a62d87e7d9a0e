"""pydantic-ai with a scripted model."""

import asyncio
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

from behaviours import Behaviours, Outcome
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from support import SECRET, FolderCase

import midrail.pydantic_ai


def script(calls, seen, answer="done"):
    """A model that makes the calls of a script, and then answers."""
    left = list(calls)

    def respond(messages, info):
        parts = [part for message in messages for part in message.parts]
        seen.append("\n".join(str(getattr(part, "content", "")) for part in parts))
        if not left:
            return ModelResponse([TextPart(answer)])
        return ModelResponse([ToolCallPart(*left.pop(0))])

    return FunctionModel(respond)


class PydanticAi(Behaviours, FolderCase):
    def start(self, way, agent, prompt):
        return (agent.run_sync(prompt) if way == "sync" else asyncio.run(agent.run(prompt))).output

    def play(self, way, guard, calls, *, tools, prompt="work", thread=None):
        seen = []
        own = midrail.pydantic_ai.Guard(guard, session=thread)
        agent = Agent(script(calls, seen), tools=tools.functions(), capabilities=[own])
        return Outcome(seen, self.start(way, agent, prompt))

    def converse(self, way, guard, prompts, thread):
        seen, history = [], []
        for prompt in prompts:
            agent = Agent(script([], seen), capabilities=[midrail.pydantic_ai.Guard(guard, session=thread)])
            given = {"message_history": history}
            result = agent.run_sync(prompt, **given) if way == "sync" else asyncio.run(agent.run(prompt, **given))
            history = result.all_messages()
        return seen

    def delegate(self, way, guard, calls, *, tools):
        inner = Agent(
            script(calls, []), name="inner", tools=tools.functions(), capabilities=[midrail.pydantic_ai.Guard(guard)]
        )

        async def delegate(task: str) -> str:
            """Let another agent do a task."""
            return (await inner.run(task)).output

        own = midrail.pydantic_ai.Guard(guard, session="delegated")
        outer = Agent(script([("delegate", {"task": "x"})], []), name="outer", tools=[delegate], capabilities=[own])
        self.assertEqual(self.start(way, outer, "work"), "done")

    def test_a_sub_agent_names_its_parent(self):
        for way in self.each_way():
            self.delegate(way, self.guard(), [("Bash", {"command": "ls"})], tools=self.tools)
            self.assertEqual(self.tools.ran, ["Bash"])
            events = [record["event"] for record in self.records() if record["session"] == "delegated"]
            calls = [event for event in events if event["kind"] == "before_tool"]
            names = [(event["tool"]["name"], event["agent"]["id"], event.get("parent")) for event in calls]
            self.assertEqual(names[-2:], [("delegate", "outer", None), ("Bash", "inner", "outer")])

    def test_the_answer_of_the_model_is_checked(self):
        for way in self.each_way():
            own = midrail.pydantic_ai.Guard(self.guard())
            agent = Agent(script([], [], f"the key is {SECRET}"), capabilities=[own])
            self.assertIn("the key is [redacted", self.start(way, agent, "work"))

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


if __name__ == "__main__":
    unittest.main()
