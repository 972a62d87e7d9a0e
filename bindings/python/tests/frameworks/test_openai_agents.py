"""OpenAI Agents with a scripted model."""

import asyncio
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

from agents import Agent, Model, ModelResponse, Runner, Usage, WebSearchTool, function_tool, set_tracing_disabled
from agents.exceptions import AgentsException
from agents.tool import ShellTool
from behaviours import DESTRUCTIVE, Behaviours, Outcome
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
)
from support import SECRET, FolderCase

import midrail.openai_agents

set_tracing_disabled(True)


class Script(Model):
    """A model that makes the calls of a script, and then answers `done`."""

    def __init__(self, calls, answer="done"):
        self.calls = list(calls)
        self.answer = answer
        self.seen = []

    def next(self, input):
        self.seen.append(input if isinstance(input, str) else "\n".join(json.dumps(item, ensure_ascii=False) for item in input))
        if not self.calls:
            part = ResponseOutputText(type="output_text", text=self.answer, annotations=[])
            return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[part])
        name, args = self.calls.pop(0)
        number = f"call-{os.urandom(4).hex()}"
        return ResponseFunctionToolCall(type="function_call", name=name, arguments=json.dumps(args), call_id=number, id=number)

    async def get_response(self, system_instructions, input, *rest, **named):
        return ModelResponse([self.next(input)], usage=Usage(), response_id=None)

    async def stream_response(self, system_instructions, input, *rest, **named):
        item = self.next(input)
        if isinstance(item, ResponseOutputMessage):
            yield ResponseTextDeltaEvent(
                type="response.output_text.delta", content_index=0, delta=self.answer, item_id="m", logprobs=[], output_index=0,
                sequence_number=0,
            )
        response = Response(
            id="r", created_at=0, model="script", object="response", output=[item], parallel_tool_calls=False, tool_choice="auto",
            tools=[],
        )
        yield ResponseCompletedEvent(type="response.completed", response=response, sequence_number=1)


class OpenAiAgents(Behaviours, FolderCase):
    ways = ("sync", "async", "streamed")

    def start(self, way, agent, prompt):
        """The final output of a run."""

        async def stream():
            result = Runner.run_streamed(agent, prompt)
            async for _ in result.stream_events():
                pass
            return result

        try:
            if way == "streamed":
                return asyncio.run(stream()).final_output
            return (Runner.run_sync(agent, prompt) if way == "sync" else asyncio.run(Runner.run(agent, prompt))).final_output
        except AgentsException as stopped:
            return str(stopped)

    def play(self, way, guard, calls, *, tools, prompt="work", thread=None):
        model = Script(calls)
        agent = Agent(name="worker", model=model, tools=[function_tool(each) for each in tools.functions()])
        guarded = midrail.openai_agents.guard(agent, guard, session=thread)
        return Outcome(model.seen, self.start(way, guarded, prompt))

    def converse(self, way, guard, prompts, thread):
        seen, items = [], []
        for number, prompt in enumerate(prompts):
            model = Script([])
            agent = midrail.openai_agents.guard(Agent(name="worker", model=model), guard, session=thread)
            # A prompt is a text, or a list of parts.
            content = prompt if number % 2 else [{"type": "input_text", "text": prompt}]
            items = [*items, {"role": "user", "content": content}]
            self.start(way, agent, items)
            items.append({"role": "assistant", "content": "done"})
            seen += model.seen
        return seen

    def delegate(self, way, guard, calls, *, tools):
        inner = Agent(name="inner", model=Script(calls), tools=[function_tool(each) for each in tools.functions()])
        outer = Agent(name="outer", model=Script([("transfer_to_inner", {})]), handoffs=[inner])
        self.assertEqual(self.start(way, midrail.openai_agents.guard(outer, guard), "work"), "done")

    def test_an_agent_as_a_tool_is_held_to_the_same(self):
        for way in self.each_way():
            guard = self.guard()
            inner = Agent(name="inner", model=Script([("Bash", DESTRUCTIVE)]), tools=[function_tool(self.tools.Bash)])
            script = lambda: Script([("ask", {"input": "work"})])
            outer = Agent(name="outer", model=script(), tools=[inner.as_tool("ask", "Ask.")])
            with self.assertRaisesRegex(midrail.MidrailError, "is not guarded"):
                midrail.openai_agents.guard(outer, guard)
            inner = midrail.openai_agents.guard(inner, guard)
            outer = Agent(name="outer", model=script(), tools=[inner.as_tool("ask", "Ask.")])
            self.assertEqual(self.start(way, midrail.openai_agents.guard(outer, guard), "work"), "done")
            self.assertEqual(self.tools.ran, [])
            events = [record["event"] for record in self.records() if record["event"]["kind"] == "before_tool"]
            names = [(event["tool"]["name"], event["agent"]["id"], event.get("parent")) for event in events]
            self.assertEqual(names[-2:], [("ask", "outer", None), ("Bash", "inner", "outer")])

    def test_a_hand_off_can_be_stopped(self):
        for way in self.each_way():
            guard = self.guard()
            guard.guardrail("no-hand-offs", on=["before_handoff"])(lambda call: "no hand-offs")
            inner = Script([])
            agent = Agent(name="outer", model=Script([("transfer_to_inner", {})]), handoffs=[Agent(name="inner", model=inner)])
            self.assertIn("no hand-offs", self.start(way, midrail.openai_agents.guard(agent, guard), "work"))
            self.assertEqual(inner.seen, [])

    def test_the_answer_of_the_model_is_checked(self):
        for way in self.each_way():
            agent = Agent(name="worker", model=Script([], f"the key is {SECRET}"))
            answer = self.start(way, midrail.openai_agents.guard(agent, self.guard()), "work")
            self.assertIn("the key is [redacted", answer)

    def test_a_streamed_secret_is_not_shown(self):
        async def events():
            agent = midrail.openai_agents.guard(Agent(name="worker", model=Script([], f"key {SECRET}")), self.guard())
            return [str(event) async for event in Runner.run_streamed(agent, "work").stream_events()]

        self.assertNotIn(SECRET, "".join(asyncio.run(events())))

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

    def test_tools_that_cannot_be_guarded_are_refused(self):
        guard = self.guard()
        shell = ShellTool(executor=lambda request: "ran")
        with self.assertRaisesRegex(midrail.MidrailError, "cannot be guarded"):
            midrail.openai_agents.guard(Agent(name="worker", tools=[shell]), guard)
        midrail.openai_agents.guard(Agent(name="worker", tools=[shell]), guard, unguarded={"shell"})
        midrail.openai_agents.guard(Agent(name="worker", tools=[WebSearchTool()]), guard)

    def test_the_original_agent_stays_as_it_was(self):
        model = Script([])
        tool = function_tool(self.__class__.start)
        agent = Agent(name="worker", model=model, tools=[tool])
        midrail.openai_agents.guard(agent, self.guard())
        self.assertIs(agent.model, model)
        self.assertIs(type(agent), Agent)
        self.assertIs(agent.tools[0], tool)


if __name__ == "__main__":
    unittest.main()
