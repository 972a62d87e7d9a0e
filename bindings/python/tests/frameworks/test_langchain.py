"""LangChain with a scripted model."""

import asyncio
import os
import sys
import unittest
from typing import Any

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

from behaviours import Behaviours, Outcome
from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from support import SECRET, FolderCase

import midrail.langchain


class Script(BaseChatModel):
    """A model that makes the calls of a script, and then answers `done`."""

    calls: Any
    seen: Any
    answer: str = "done"

    @property
    def _llm_type(self):
        return "script"

    def bind_tools(self, tools, **options):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **options):
        self.seen.append("\n".join(str(message.content) for message in messages))
        if not self.calls:
            return ChatResult(generations=[ChatGeneration(message=AIMessage(self.answer))])
        name, args = self.calls.pop(0)
        call = {"name": name, "args": args, "id": f"call-{len(self.seen)}"}
        return ChatResult(generations=[ChatGeneration(message=AIMessage("", tool_calls=[call]))])


class LangChain(Behaviours, FolderCase):
    def setUp(self):
        super().setUp()
        self.saver = InMemorySaver()

    def start(self, way, agent, prompt, thread):
        given = {"messages": [{"role": "user", "content": prompt}]}
        config = {"configurable": {"thread_id": thread or f"t-{os.urandom(4).hex()}"}}
        return agent.invoke(given, config) if way == "sync" else asyncio.run(agent.ainvoke(given, config))

    def agent(self, guard, calls, tools, seen, **options):
        model = Script(calls=list(calls), seen=seen)
        middleware = [midrail.langchain.Guard(guard, agent=options.pop("agent", None))]
        return create_agent(model, tools, middleware=middleware, **options)

    def play(self, way, guard, calls, *, tools, prompt="work", thread=None):
        seen = []
        agent = self.agent(guard, calls, [tool(each) for each in tools.functions()], seen, checkpointer=self.saver)
        messages = self.start(way, agent, prompt, thread)["messages"]
        return Outcome(seen, messages[-1].text)

    def converse(self, way, guard, prompts, thread):
        seen, messages = [], []
        agent = self.agent(guard, [], [], seen)
        config = {"configurable": {"thread_id": thread}}
        for prompt in prompts:
            messages = [*messages, ("user", prompt)]
            given = {"messages": messages}
            agent.invoke(given, config) if way == "sync" else asyncio.run(agent.ainvoke(given, config))
            messages.append(("assistant", "done"))
        return seen

    def delegate(self, way, guard, calls, *, tools):
        inner = self.agent(guard, calls, [tool(each) for each in tools.functions()], [], agent={"id": "inner"})

        @tool
        def delegate(task: str) -> str:
            """Let another agent do a task."""
            return inner.invoke({"messages": [{"role": "user", "content": task}]})["messages"][-1].text

        outer = self.agent(guard, [("delegate", {"task": "x"})], [delegate], [], agent={"id": "outer"})
        self.start(way, outer, "work", "delegated")

    def test_prompts_are_replaced_without_a_thread(self):
        for way in self.each_way():
            seen = []
            guard = self.guard()
            change = midrail.verdict("redact", "names are replaced", replacement="for (name)")
            guard.guardrail("names", on=["before_model"])(lambda call: change if "ann" in call.event["text"] else None)
            agent = self.agent(guard, [], [], seen)
            known = ["None", "0"]
            given = {"messages": [("user", "for ann"), ("assistant", "done"), ("user", "go on")], "midrail_prompts": known}
            agent.invoke(given) if way == "sync" else asyncio.run(agent.ainvoke(given))
            self.assertIn("for (name)", seen[-1])
            self.assertNotIn("ann", seen[-1])

    def test_a_kept_conversation_shows_no_prompt_that_was_stopped(self):
        for way in self.each_way():
            guard = self.guard()
            guard.guardrail("names", on=["before_model"])(lambda call: "no names" if "ann" in call.event["text"] else None)
            play = lambda prompt: self.play(way, guard, [], tools=self.tools, prompt=prompt, thread=f"kept-{way}")
            self.assertEqual(play("work for ann").seen, [])
            for prompt in ("work", "work"):
                outcome = play(prompt)
                self.assertEqual(outcome.final, "done")
                self.assertIn("Midrail withheld this prompt.", outcome.seen[-1])
                self.assertNotIn("ann", outcome.seen[-1])
            records = [each for each in self.records() if each["session"] == f"kept-{way}"]
            texts = [each["event"]["text"] for each in records if each["event"]["kind"] == "before_model"]
            self.assertEqual(texts, ["work for ann", "work", "work"])

    def test_a_kept_conversation_is_decided_once_as_it_was_changed(self):
        for way in self.each_way():
            guard = self.guard()
            change = midrail.verdict("redact", "names are replaced", replacement="for (name)")
            guard.guardrail("names", on=["before_model"])(lambda call: change if "ann" in call.event["text"] else None)
            warning = midrail.verdict("warn", "mind the tone")
            guard.guardrail("tone", on=["before_model"])(lambda call: warning if "now" in call.event["text"] else None)
            for prompt in ("for ann", "do it now", "go on"):
                outcome = self.play(way, guard, [("Bash", {"command": "ls"})], tools=self.tools, prompt=prompt, thread=f"kept-{way}")
            self.assertEqual(outcome.seen[-1].count("for (name)"), 1)
            self.assertEqual(outcome.seen[-1].count("mind the tone"), 1)
            self.assertNotIn("ann", outcome.seen[-1])
            records = [each for each in self.records() if each["session"] == f"kept-{way}"]
            texts = [each["event"]["text"] for each in records if each["event"]["kind"] == "before_model"]
            self.assertEqual(texts, ["for ann", "do it now", "go on"])

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
            model = Script(calls=[], seen=[], answer=f"the key is {SECRET}")
            agent = create_agent(model, [], middleware=[midrail.langchain.Guard(self.guard())])
            self.assertNotIn(SECRET, self.start(way, agent, "work", None)["messages"][-1].text)

    def test_an_exception_of_a_tool_is_reported_and_goes_on(self):
        for way in self.each_way():
            agent = self.agent(self.guard(), [("fail", {"reason": "no such order"})], [tool(self.tools.fail)], [])
            with self.assertRaisesRegex(ValueError, "no such order"):
                self.start(way, agent, "work", None)
            self.assertIn("fail", self.midrail("audit", "list", "--store", self.store, "--kind", "after_tool", "--json"))

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

    def test_a_secret_in_a_command_of_langgraph_is_withheld(self):
        for way in self.each_way():
            seen = []

            @tool
            def update(order: int) -> Command:
                """Update the state."""
                return Command(update={"messages": [ToolMessage(f"key {SECRET}", tool_call_id="call-1")]})

            agent = self.agent(self.guard(), [("update", {"order": 7})], [update], seen)
            self.start(way, agent, "work", None)
            self.assertEqual(len(seen), 2)
            self.assertNotIn(SECRET, "".join(seen))


if __name__ == "__main__":
    unittest.main()
