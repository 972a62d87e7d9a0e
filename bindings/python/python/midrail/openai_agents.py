"""OpenAI Agents: `agent = midrail.openai_agents.guard(agent)`, then `Runner.run(agent, …)` as before."""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator
from typing import Any, TypeVar, cast

from agents import Agent, FunctionTool, Handoff, Model, ModelResponse, RunContextWrapper, Tool, Usage, handoff
from agents.exceptions import AgentsException
from agents.items import TResponseInputItem, TResponseStreamEvent
from agents.models.multi_provider import MultiProvider
from agents.tool_context import ToolContext
from openai.types.responses import ResponseCompletedEvent, ResponseOutputMessage, ResponseOutputText

from ._adapter import acheck_prompts, default_guard, last_words, open_session, running, with_notes
from ._decision import Decision, Stopped, ToolFailed
from ._guard import Guard, Session
from ._native import MidrailError

A = TypeVar("A", bound="Agent[Any]")
HOSTED = {"web_search", "web_search_preview", "file_search", "code_interpreter", "image_generation"}
"""Tools that run at the provider and can change nothing here."""
MAX_TURNS = 20
"""The most answers of a model in a row that may not be the end yet."""


class HandoffStopped(AgentsException):
    """A hand-off that is not allowed. It ends the run, because the framework has no way to refuse it."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(decision.message)
        self.decision = decision


def guard(
    agent: A, guard: Guard | None = None, *, session: str | None = None, wait: float = 0, unguarded: set[str] | None = None
) -> A:
    """A copy of an agent, and of all agents that it can hand over to, that is held to the policy: its function tools, the
    tools of its MCP servers, its prompts, answers and hand-offs.

    All runs of the copy are one session; make a copy for each conversation. `wait` is how many seconds a call waits for an
    approval if one is required. Tools of other kinds are refused, unless `unguarded` names them. Guard an agent before you
    make a tool of it: `midrail.openai_agents.guard(inner).as_tool(…)`.
    """
    return _Guarded(guard or default_guard(), session, wait, unguarded or set()).agent(agent)


class _Guarded:
    """A copy of agents: their session, and what was copied."""

    def __init__(self, guard: Guard, session: str | None, wait: float, unguarded: set[str]) -> None:
        self._guard = guard
        self._id = session or guard.session().id
        self._wait = wait
        self._unguarded = unguarded
        # Originals are kept with their copies, so that their ids are not used again.
        self._agents: dict[int, tuple[Any, Any]] = {}
        self._tools: dict[int, tuple[Any, Any]] = {}
        self.halted: dict[str, str] = {}

    def session(self, agent: str) -> Session:
        return open_session(self._guard, self._id, {"id": agent}, self._wait)

    def agent(self, agent: A) -> A:
        """The copy of an agent."""
        if isinstance(agent, _GuardedAgent):
            return cast("A", agent)
        if id(agent) not in self._agents:
            kind = type(f"Guarded{type(agent).__name__}", (_GuardedAgent, type(agent)), {})
            copied = cast("Any", object.__new__(kind))
            copied.__dict__.update(agent.__dict__, _midrail=self)
            self._agents[id(agent)] = (agent, copied)
            copied.model = _GuardedModel(self, agent.name, agent.model)
            copied.handoffs = [self._handoff(agent.name, each) for each in agent.handoffs]
            for tool in agent.tools:
                self.tool(agent.name, tool)
        return cast("A", self._agents[id(agent)][1])

    def tool(self, agent: str, tool: Tool) -> Tool:
        """The copy of a tool."""
        if not isinstance(tool, FunctionTool):
            if tool.name in HOSTED or tool.name in self._unguarded:
                return tool
            raise MidrailError(f"the tool `{tool.name}` cannot be guarded; name it in `unguarded` to use it without a guard")
        if tool._is_agent_tool and not isinstance(tool._agent_instance, _GuardedAgent):  # pyright: ignore[reportPrivateUsage]
            raise MidrailError(f"the agent behind the tool `{tool.name}` is not guarded: use `guard(inner).as_tool(…)`")
        if id(tool) not in self._tools:
            copied = copy.copy(tool)
            copied.on_invoke_tool = _invoker(self, agent, tool)
            self._tools[id(tool)] = (tool, copied)
        return self._tools[id(tool)][1]

    def _handoff(self, agent: str, given: Agent[Any] | Handoff[Any, Any]) -> Handoff[Any, Any]:
        original = given if isinstance(given, Handoff) else handoff(given)
        copied = copy.copy(original)

        async def invoke(context: RunContextWrapper[Any], arguments: str) -> Agent[Any]:
            decision = await self.session(agent).ahandoff(original.agent_name, context={"arguments": arguments})
            if not decision.allowed:
                raise HandoffStopped(decision)
            return self.agent(cast("Agent[Any]", await original.on_invoke_handoff(context, arguments)))

        copied.on_invoke_handoff = invoke
        return copied


class _GuardedAgent:
    """What a copied agent does differently: all its tools are guarded, those of its MCP servers too."""

    async def get_all_tools(self, run_context: RunContextWrapper[Any]) -> list[Tool]:
        """The tools of the agent, guarded."""
        agent = cast("Any", self)
        tools = cast("list[Tool]", await super().get_all_tools(run_context))  # type: ignore[misc]
        return [agent._midrail.tool(agent.name, tool) for tool in tools]


def _invoker(guarded: _Guarded, agent: str, tool: FunctionTool) -> Any:
    """The function that is called in place of that of a tool."""

    async def invoke(context: ToolContext[Any], arguments: str) -> Any:
        run = guarded.session(agent)
        try:
            given = json.loads(arguments) if arguments.strip() else {}
            if not isinstance(given, dict):
                raise ValueError("the arguments are not an object")
        except ValueError as error:
            # The tool would refuse them, too, but it may read them in another way.
            return f"The arguments of `{tool.name}` are not JSON: {error}"
        call = run.call(tool.name, cast("dict[str, Any]", given))
        try:
            async with call:
                with running(run):
                    call.result = original = await tool.on_invoke_tool(context, json.dumps(call.args))
        except (Stopped, ToolFailed) as stopped:
            if isinstance(stopped, Stopped) and stopped.decision.effect == "halt":
                guarded.halted[run.id] = last_words(stopped.decision)
            return str(stopped)
        if call.result is original and not call.notes:
            return original
        result = call.result if isinstance(call.result, str) else json.dumps(call.result, default=str)
        return with_notes(result, call.notes)

    return invoke


class _GuardedModel(Model):
    """A model whose prompts and answers are decided."""

    def __init__(self, guarded: _Guarded, agent: str, model: str | Model | None) -> None:
        self._guarded = guarded
        self._agent = agent
        self._model = model

    def _inner(self) -> Model:
        if not isinstance(self._model, Model):
            self._model = MultiProvider().get_model(self._model)
        return self._model

    async def get_response(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, system_instructions: str | None, input: str | list[TResponseInputItem], *rest: Any, **named: Any
    ) -> ModelResponse:
        """The answer of the model to what it may see, as the run may see it."""
        run = self._guarded.session(self._agent)
        items = _items(input)
        if halted := self._guarded.halted.get(run.id):
            return _final(halted)
        if stopped := await _check_prompts(run, items):
            return _final(stopped)
        for _ in range(MAX_TURNS):
            response = await self._inner().get_response(system_instructions, list(items), *rest, **named)
            stopped, retry = await _check_answer(run, response)
            if stopped is not None:
                return _final(stopped, response)
            if retry is None:
                return response
            items += response.to_input_items()
            items.append({"role": "user", "content": retry})
        return _final(f"Midrail ends the run: the model may not stop after {MAX_TURNS} answers.")

    async def stream_response(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, system_instructions: str | None, input: str | list[TResponseInputItem], *rest: Any, **named: Any
    ) -> AsyncIterator[TResponseStreamEvent]:
        """The same as a stream. It starts when the answer is complete, because what was shown cannot be withdrawn."""
        run = self._guarded.session(self._agent)
        items = _items(input)
        stopped = self._guarded.halted.get(run.id) or await _check_prompts(run, items)
        for _ in range(MAX_TURNS):
            if stopped is not None:
                raise AgentsException(stopped)
            events = [event async for event in self._inner().stream_response(system_instructions, list(items), *rest, **named)]
            completed = next((event for event in events if isinstance(event, ResponseCompletedEvent)), None)
            if completed is None:
                raise AgentsException("Midrail withholds an answer that is not complete.")
            before = completed.model_dump_json()
            response = ModelResponse(completed.response.output, usage=Usage(), response_id=completed.response.id)
            stopped, retry = await _check_answer(run, response)
            if stopped is not None:
                continue
            if retry is None:
                for event in [completed] if completed.model_dump_json() != before else events:
                    yield event
                return
            items += response.to_input_items()
            items.append({"role": "user", "content": retry})
        raise AgentsException(stopped or f"the model may not stop after {MAX_TURNS} answers")

    async def close(self) -> None:
        """Closes the model."""
        await self._inner().close()


def _items(input: str | list[TResponseInputItem]) -> list[TResponseInputItem]:
    return [{"role": "user", "content": input}] if isinstance(input, str) else [copy.copy(item) for item in input]


async def _check_prompts(run: Session, items: list[TResponseInputItem]) -> str | None:
    """Decides the messages of people, and replaces their texts. Returns the end of the run if one is stopped.

    The framework sends the whole conversation with each request.
    """
    found: list[tuple[dict[str, Any], str]] = []
    """Where the texts are."""
    known = 0
    for item in cast("list[dict[str, Any]]", items):
        role, content = item.get("role"), item.get("content")
        if role not in ("user", "system", "developer"):
            known = len(found)
        elif role != "user" or not content:
            continue
        elif isinstance(content, str):
            found.append((item, "content"))
        else:
            item["content"] = parts = cast("list[dict[str, Any]]", copy.deepcopy(content))
            found += [(part, "text") for part in parts if part.get("text")]
    shown, stopped = await acheck_prompts(run, [place[name] for place, name in found], len(found) - known)
    for (place, name), text in zip(found, shown):
        place[name] = text
    return stopped


async def _check_answer(run: Session, response: ModelResponse) -> tuple[str | None, str | None]:
    """Decides an answer, and replaces its texts. Returns the end of the run, or the message for another turn."""
    texts = [
        part
        for item in response.output
        if isinstance(item, ResponseOutputMessage)
        for part in item.content
        if isinstance(part, ResponseOutputText)
    ]
    for part in texts:
        decision = await run.aafter_model(part.text)
        if not decision.allowed:
            return last_words(decision), None
        part.text = part.text if decision.content is None else decision.content
    if any(not isinstance(item, ResponseOutputMessage) and item.type != "reasoning" for item in response.output):
        return None, None
    decision = await run.abefore_stop("".join(part.text for part in texts))
    if decision.effect == "halt":
        return last_words(decision), None
    return None, None if decision.allowed else decision.message


def _final(text: str, response: ModelResponse | None = None) -> ModelResponse:
    """The last answer of a run."""
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    message = ResponseOutputMessage(id="msg_midrail", type="message", role="assistant", status="completed", content=[part])
    return ModelResponse([message], usage=response.usage if response else Usage(), response_id=None)
