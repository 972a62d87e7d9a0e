"""LangChain and LangGraph: `create_agent(model, tools, middleware=[midrail.langchain.Guard()])`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Union

from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
from langchain.agents.middleware.types import PrivateStateAttr, ToolCallRequest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.types import Command
from typing_extensions import NotRequired

from . import wire
from ._adapter import default_guard, last_words, open_session, running, with_notes
from ._decision import Decision, Stopped, ToolFailed
from ._guard import Call, Session, plain
from ._guard import Guard as Engine

ToolResult = Union[ToolMessage, "Command[Any]"]


def _first(old: str | None, new: str | None) -> str | None:
    return old or new


def _all(old: list[str] | None, new: list[str] | None) -> list[str]:
    return list(dict.fromkeys([*(old or []), *(new or [])]))


class MidrailState(AgentState[Any]):
    """What the middleware keeps in the state of a run."""

    midrail_session: NotRequired[Annotated[str, PrivateStateAttr]]
    midrail_prompts: NotRequired[Annotated[list[str], _all, PrivateStateAttr]]
    """The prompts with warnings below them, and those that were withheld, by their ids and what the model saw of them."""
    midrail_halted: NotRequired[Annotated[Union[str, None], _first, PrivateStateAttr]]


class Guard(AgentMiddleware[MidrailState, Any, Any]):
    """Holds an agent to the policy: prompts, tool calls, results, answers and the end of the run.

    `wait` is how many seconds a call waits for an approval if one is required; after that the model is informed that it waits.
    The session is the thread of the run; a run without a thread is a session of its own.
    """

    state_schema = MidrailState

    def __init__(self, guard: Engine | None = None, *, agent: wire.Agent | None = None, wait: float = 0) -> None:
        super().__init__()
        self._guard = guard or default_guard()
        self._agent = agent
        self._wait = wait

    def _session(self, state: Any) -> Session:
        return open_session(self._guard, state.get("midrail_session"), self._agent, self._wait)

    # The start of a run

    def before_agent(self, state: MidrailState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Names the session."""
        try:
            thread = get_config().get("configurable", {}).get("thread_id")
        except RuntimeError:
            thread = None
        known = str(thread) if thread else state.get("midrail_session")
        return {"midrail_session": known or self._guard.session().id}

    async def abefore_agent(self, state: MidrailState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """The same under asyncio."""
        return self.before_agent(state, runtime)

    # The input and the output of the model

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: MidrailState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Decides the prompts of the conversation: its state may be kept, or the program gives all of it each time."""
        if halted := state.get("midrail_halted"):
            return _end(halted)
        messages, new = _prompts(state)
        return _checked_prompts(messages, self._session(state).conversation([each.text for each in messages], new=new))

    @hook_config(can_jump_to=["end"])
    async def abefore_model(self, state: MidrailState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """The same under asyncio."""
        if halted := state.get("midrail_halted"):
            return _end(halted)
        messages, new = _prompts(state)
        decisions = await self._session(state).aconversation([each.text for each in messages], new=new)
        return _checked_prompts(messages, decisions)

    @hook_config(can_jump_to=["end", "model"])
    def after_model(self, state: MidrailState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Decides the answer of the model, and whether the run may end with it."""
        answer = _answer(state)
        if answer is None:
            return None
        run = self._session(state)
        decision = run.after_model(answer.text) if answer.text else None
        if decision is not None and not decision.allowed:
            return _end(last_words(decision), answer)
        checked = _with_text(answer, decision)
        if answer.tool_calls:
            return {"messages": [checked]} if checked is not answer else None
        return _ended(checked, run.before_stop(checked.text))

    @hook_config(can_jump_to=["end", "model"])
    async def aafter_model(self, state: MidrailState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """The same under asyncio."""
        answer = _answer(state)
        if answer is None:
            return None
        run = self._session(state)
        decision = await run.aafter_model(answer.text) if answer.text else None
        if decision is not None and not decision.allowed:
            return _end(last_words(decision), answer)
        checked = _with_text(answer, decision)
        if answer.tool_calls:
            return {"messages": [checked]} if checked is not answer else None
        return _ended(checked, await run.abefore_stop(checked.text))

    # Tool calls

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]
    ) -> ToolResult:
        """Decides a call, runs it with the arguments that were decided, and decides its result."""
        run = self._session(request.state)
        call = run.call(request.tool_call["name"], request.tool_call["args"])
        result: ToolResult | None = None
        try:
            with call:
                with running(run):
                    result = handler(_permitted(request, call))
                _report(call, result)
        except (Stopped, ToolFailed) as stopped:
            return _refused(request, stopped)
        return _checked(request, call, result)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """The same under asyncio."""
        run = self._session(request.state)
        call = run.call(request.tool_call["name"], request.tool_call["args"])
        result: ToolResult | None = None
        try:
            async with call:
                with running(run):
                    result = await handler(_permitted(request, call))
                _report(call, result)
        except (Stopped, ToolFailed) as stopped:
            return _refused(request, stopped)
        return _checked(request, call, result)


WITHHELD = "Midrail withheld this prompt."
"""What stays of a prompt that was stopped. Later runs of the conversation do not show the original to the model."""


def _key(message: HumanMessage) -> str:
    return f"{message.id} {hashlib.sha256(message.text.encode(errors='surrogatepass')).hexdigest()}"


def _prompts(state: MidrailState) -> tuple[list[HumanMessage], int]:
    """The messages of people as they wrote them, and how many came after the last answer of the model."""
    written = set(state.get("midrail_prompts") or [])
    found: list[HumanMessage] = []
    known = 0
    for message in state["messages"]:
        if isinstance(message, AIMessage):
            known = len(found)
        elif isinstance(message, HumanMessage) and message.text and _key(message) not in written:
            found.append(message)
    return found, len(found) - known


def _checked_prompts(given: list[HumanMessage], decisions: list[Decision]) -> dict[str, Any] | None:
    messages: list[AnyMessage] = []
    written: list[str] = []
    for message, decision in zip(given, decisions):
        text = message.text if decision.content is None else decision.content
        shown = with_notes(text, decision.notes) if decision.allowed else text
        if _is_final_block(decision):
            shown = WITHHELD
        if shown == message.text:
            continue
        message = message.model_copy(update={"content": shown})
        messages.append(message)
        if shown != text:
            written.append(_key(message))
    for decision in decisions:
        if not decision.allowed:
            messages += _end(last_words(decision))["messages"]
            return {"messages": messages, "midrail_prompts": written, "jump_to": "end"}
    return {"messages": messages, "midrail_prompts": written} if messages else None


def _is_final_block(decision: Decision) -> bool:
    """Whether a guardrail blocks a prompt for good. It may pass later if an approval or a service is missing, or during a pause."""
    return decision.effect == "block" and decision.by != "midrail" and not decision.to_dict().get("paused")


def _answer(state: MidrailState) -> AIMessage | None:
    last = state["messages"][-1]
    return last if isinstance(last, AIMessage) else None


def _with_text(answer: AIMessage, decision: Decision | None) -> AIMessage:
    if decision is None or decision.content is None:
        return answer
    return answer.model_copy(update={"content": decision.content})


def _ended(answer: AIMessage, decision: Decision) -> dict[str, Any] | None:
    """The end of a run, or another turn of the model."""
    if decision.allowed:
        return {"messages": [_with_text(answer, decision)]}
    if decision.effect == "halt":
        return _end(last_words(decision), answer)
    return {"messages": [answer, HumanMessage(decision.message)], "jump_to": "model"}


def _end(text: str, answer: AIMessage | None = None) -> dict[str, Any]:
    """Ends the run with a text, in place of the answer of the model."""
    return {"messages": [AIMessage(text, id=answer.id if answer else None)], "jump_to": "end"}


def _permitted(request: ToolCallRequest, call: Call) -> ToolCallRequest:
    return request.override(tool_call={**request.tool_call, "args": call.args})


def _report(call: Call, result: ToolResult) -> None:
    """Gives a call the result that is decided: the text of a message, or all that a command changes."""
    if isinstance(result, ToolMessage):
        call.ok = result.status != "error"
        call.result = result.text
    else:
        call.result = json.dumps(result.update, default=_readable, ensure_ascii=False)


def _readable(value: Any) -> Any:
    return value.text if hasattr(value, "text") else plain(value)


def _refused(request: ToolCallRequest, stopped: Stopped | ToolFailed) -> ToolResult:
    """The answer to a call that is stopped, and the end of a run that is halted."""
    message = _message(request, str(stopped))
    if isinstance(stopped, Stopped) and stopped.decision.effect == "halt":
        return Command(update={"messages": [message], "midrail_halted": last_words(stopped.decision)})
    return message


def _checked(request: ToolCallRequest, call: Call, result: ToolResult | None) -> ToolResult:
    """A result as the model may see it."""
    changed = call.after is not None and call.after.content is not None
    if isinstance(result, ToolMessage):
        if not changed and not call.notes:
            return result
        text = with_notes(str(call.result), call.notes)
        # The artifact is not shown to the model, but it could have what was replaced.
        update = {"content": text, "artifact": None} if changed else {"content": text}
        return result.model_copy(update=update)
    if result is None or changed:
        # What a command changes cannot be replaced in part.
        text = "Midrail withholds the result, because it contains what the agent may not see."
        return _message(request, with_notes(text, call.notes))
    return result


def _message(request: ToolCallRequest, text: str) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(text, name=call["name"], tool_call_id=call["id"] or "", status="error")
