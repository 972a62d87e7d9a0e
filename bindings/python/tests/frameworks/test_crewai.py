"""CrewAI with a scripted model."""

import asyncio
import json
import os
import sys
import unittest

os.environ["CREWAI_DISABLE_TELEMETRY"] = "true"
os.environ["OTEL_SDK_DISABLED"] = "true"
os.environ["CREWAI_TRACING_ENABLED"] = "false"
sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

from behaviours import Behaviours, Outcome
from crewai import Agent, Crew, Task
from crewai.hooks import HookAborted
from crewai.llms.base_llm import BaseLLM
from crewai.tools import tool
from support import SECRET, FolderCase

import midrail.crewai


class Script(BaseLLM):
    """A model that makes the calls of a script, and then answers."""

    def __init__(self, calls, seen, answer="done"):
        super().__init__(model="script")
        self.__dict__["script"] = (list(calls), seen, answer)

    def call(self, messages, *rest, from_agent=None, **named):
        calls, seen, answer = self.__dict__["script"]
        messages = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        seen.append("\n".join(str(message.get("content")) for message in messages))
        if not calls:
            return f"Thought: I now know the final answer\nFinal Answer: {answer}"
        name, args = calls.pop(0)
        return f"Thought: work\nAction: {name}\nAction Input: {json.dumps(args)}"


class CrewAi(Behaviours, FolderCase):
    # A crew has no conversation with people.
    test_old_prompts_are_replaced_again_and_decided_once = None

    def start(self, way, crew, guard, thread=None):
        uninstall = midrail.crewai.install(guard, session=thread)
        try:
            return str(crew.kickoff() if way == "sync" else asyncio.run(crew.kickoff_async()))
        except HookAborted as stopped:
            return str(stopped)
        finally:
            uninstall()

    def agent(self, role, calls, seen, tools, **options):
        model = Script(calls, seen, options.pop("answer", "done"))
        return Agent(role=role, goal="work", backstory="works", llm=model, tools=tools, max_iter=10, **options)

    def task(self, agent, prompt):
        return Task(description=prompt, expected_output="an answer", agent=agent)

    def play(self, way, guard, calls, *, tools, prompt="work", thread=None):
        seen = []
        agent = self.agent("worker", calls, seen, [tool(each.__name__)(plain(each)) for each in tools.functions()])
        crew = Crew(agents=[agent], tasks=[self.task(agent, prompt)], verbose=False, cache=False)
        return Outcome(seen, self.start(way, crew, guard, thread))

    def delegate(self, way, guard, calls, *, tools):
        inner = self.agent("inner", calls, [], [tool(each.__name__)(plain(each)) for each in tools.functions()])
        order = {"task": "x", "context": "y", "coworker": "inner"}
        outer = self.agent("outer", [("Delegate work to coworker", order)], [], [], allow_delegation=True)
        crew = Crew(agents=[outer, inner], tasks=[self.task(outer, "work")], verbose=False)
        self.assertEqual(self.start(way, crew, guard), "done")

    def test_a_prompt_is_decided_once_and_its_warning_is_shown_once(self):
        for way in self.each_way():
            guard = self.guard()
            warning = midrail.verdict("warn", "mind the tone")
            guard.guardrail("tone", on=["before_model"])(lambda call: warning if "quickly" in call.event["text"] else None)
            calls = [("bash", {"command": "ls"}), ("bash", {"command": "pwd"})]
            outcome = self.play(way, guard, calls, tools=self.tools, prompt="work quickly", thread=f"once-{way}")
            self.assertEqual(len(outcome.seen), 3)
            self.assertEqual([request.count("mind the tone") for request in outcome.seen], [1, 1, 1])
            records = [each for each in self.records() if each["session"] == f"once-{way}"]
            texts = [each["event"]["text"] for each in records if each["event"]["kind"] == "before_model"]
            self.assertEqual(len([text for text in texts if "quickly" in text]), 1, texts)

    def test_the_answer_of_the_model_is_checked(self):
        for way in self.each_way():
            agent = self.agent("worker", [], [], [], answer=f"the key is {SECRET}")
            crew = Crew(agents=[agent], tasks=[self.task(agent, "work")], verbose=False)
            self.assertIn("the key is [redacted", self.start(way, crew, self.guard()))


def plain(method):
    """A function in place of a bound method, whose signature the framework reads."""
    import functools
    import inspect

    @functools.wraps(method)
    def function(*args, **kwargs):
        return method(*args, **kwargs)

    function.__signature__ = inspect.signature(method)
    return function


if __name__ == "__main__":
    unittest.main()
