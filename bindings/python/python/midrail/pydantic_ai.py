"""pydantic-ai: `Agent(model, capabilities=[midrail.pydantic_ai.Guard()])`."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

from pydantic_ai import ModelRetry, RunContext, ToolFailed
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.capabilities.abstract import CapabilityOrdering, WrapModelRequestHandler, WrapToolExecuteHandler
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition

from . import wire
from ._adapter import acheck_prompts, default_guard, last_words, open_session, permitted, running, with_notes
from ._decision import Stopped
from ._decision import ToolFailed as Failed
from ._guard import Guard as Engine
from ._guard import Session


class Guard(AbstractCapability[Any]):
    """Holds an agent to the policy: prompts, tool calls, results, answers and the end of the run.

    The session is the conversation of the run, or `session`. `wait` is how many seconds a call waits for an approval if one
    is required; after that the model is informed that it waits.
    """

    def __init__(
        self,
        guard: Engine | None = None,
        *,
        session: str | None = None,
        agent: wire.Agent | None = None,
        wait: float = 0,
    ) -> None:
        self._guard = guard or default_guard()
        self._given = session
        self._agent = agent
        self._wait = wait
        self._run: Session | None = None
        self._halted: str | None = None

    def get_ordering(self) -> CapabilityOrdering:
        """Around everything else, so that what is decided is what runs."""
        return CapabilityOrdering(position="outermost")

    async def for_run(self, ctx: RunContext[Any]) -> Guard:
        """The guard of one run."""
        own = copy.copy(self)
        id = self._given or ctx.conversation_id or ctx.run_id
        agent = self._agent or ({"id": ctx.agent.name} if ctx.agent and ctx.agent.name else None)
        own._run = open_session(self._guard, str(id) if id else None, agent, self._wait)
        own._halted = None
        return own

    def _session(self) -> Session:
        if self._run is None:
            raise RuntimeError("the run has not started")
        return self._run

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Decides a call, runs it with the arguments that were decided, and decides its result."""
        run = self._session()
        guarded = run.call(tool_def.name, args)
        try:
            async with guarded:
                with running(run):
                    guarded.result = await handler(permitted(guarded, args))
        except Stopped as stopped:
            if stopped.decision.effect == "halt":
                self._halted = last_words(stopped.decision)
            raise ToolFailed(str(stopped)) from None
        except Failed as failed:
            raise ToolFailed(str(failed)) from None
        if not guarded.notes:
            return guarded.result
        if isinstance(guarded.result, str):
            return with_notes(guarded.result, guarded.notes)
        return {"result": guarded.result, "notes": guarded.notes}

    async def wrap_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, handler: WrapModelRequestHandler
    ) -> ModelResponse:
        """Decides the prompts, the answer, and whether the run may end with it."""
        run = self._session()
        if self._halted is not None:
            return ModelResponse([TextPart(self._halted)])
        # The framework sends the whole conversation each time.
        prompts, new = _prompts(request_context.messages)
        shown, stopped = await acheck_prompts(run, prompts, new)
        if stopped is not None:
            return ModelResponse([TextPart(stopped)])
        messages = _with_prompts(request_context.messages, shown)
        response = await handler(dataclasses.replace(request_context, messages=messages))
        answer: list[Any] = []
        for part in response.parts:
            if isinstance(part, TextPart) and part.content:
                decision = await run.aafter_model(part.content)
                if not decision.allowed:
                    return dataclasses.replace(response, parts=[TextPart(last_words(decision))])
                if decision.content is not None:
                    part = dataclasses.replace(part, content=decision.content)
            answer.append(part)
        response = dataclasses.replace(response, parts=answer)
        if any(isinstance(part, ToolCallPart) for part in answer):
            return response
        decision = await run.abefore_stop("".join(part.content for part in answer if isinstance(part, TextPart)))
        if decision.effect == "halt":
            return dataclasses.replace(response, parts=[TextPart(last_words(decision))])
        if not decision.allowed:
            raise ModelRetry(decision.message)
        return response


def _pieces(part: Any) -> list[Any]:
    """The pieces of a prompt; those that are texts are decided."""
    if not isinstance(part, UserPromptPart):
        return []
    return [part.content] if isinstance(part.content, str) else list(part.content)


def _prompts(messages: list[ModelMessage]) -> tuple[list[str], int]:
    """The texts of people, and how many came after the last answer of the model."""
    texts: list[str] = []
    known = 0
    for message in messages:
        texts += [piece for part in message.parts for piece in _pieces(part) if _is_text(piece)]
        if isinstance(message, ModelResponse):
            known = len(texts)
    return texts, len(texts) - known


def _is_text(piece: Any) -> bool:
    return isinstance(piece, str) and piece != ""


def _with_prompts(messages: list[ModelMessage], texts: list[str]) -> list[ModelMessage]:
    """The messages with other texts of people."""
    left = iter(texts)

    def replaced(part: Any) -> Any:
        shown = [next(left) if _is_text(piece) else piece for piece in _pieces(part)]
        if not shown:
            return part
        return dataclasses.replace(part, content=shown[0] if isinstance(part.content, str) else shown)

    return [
        dataclasses.replace(message, parts=[replaced(part) for part in message.parts])
        if isinstance(message, ModelRequest)
        else message
        for message in messages
    ]
