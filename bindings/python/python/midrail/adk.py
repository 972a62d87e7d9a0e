"""Google ADK: `Runner(agent=…, plugins=[midrail.adk.Guard()])`. Register it before other plugins: one that returns a value
skips those after it."""

from __future__ import annotations

import json
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from ._adapter import acheck_prompts, default_guard, last_words, open_session
from ._decision import Decision
from ._guard import Guard as Engine
from ._guard import Session, passed_on, plain

HANDOFF = "transfer_to_agent"
"""The tool with which an agent of ADK hands over to another one."""


class Guard(BasePlugin):
    """Holds all agents of a runner to the policy: prompts, tool calls, results, hand-offs and answers.

    The session is that of ADK. `wait` is how many seconds a call waits for an approval if one is required; after that the
    model is informed that it waits.
    """

    def __init__(self, guard: Engine | None = None, *, wait: float = 0, name: str = "midrail") -> None:
        super().__init__(name)
        self._guard = guard or default_guard()
        self._wait = wait
        # By the identity of the context, which each call has for itself: a model may give two calls one id.
        self._calls: dict[int, tuple[ToolContext, Decision | None]] = {}
        """The calls of now, each with its decision if it was allowed."""
        self._halted: dict[str, str] = {}

    def _session(self, context: CallbackContext) -> Session:
        agent = context._invocation_context.agent  # pyright: ignore[reportPrivateUsage]
        parent = getattr(agent, "parent_agent", None)
        session = context.session
        run = open_session(self._guard, session.id, {"id": context.agent_name}, self._wait)
        return run if parent is None else self._guard.session(
            session.id, agent={"id": context.agent_name}, parent=parent.name, wait=self._wait
        )

    # Tool calls

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Decides a call. A result that is returned here takes the place of the call."""
        run = self._session(tool_context)
        self._calls[id(tool_context)] = (tool_context, None)
        if tool.name == HANDOFF:
            decision = await run.ahandoff(str(tool_args.get("agent_name")))
        else:
            given = json.dumps(tool_args, default=plain)
            decision = await run.abefore_tool(tool.name, tool_args)
            approval = decision.approval
            if decision.effect == "escalate" and approval is not None and self._wait > 0:
                if await approval.wait_async(self._wait) != "pending":
                    decision = await run.abefore_tool(tool.name, tool_args)
            if json.dumps(tool_args, default=plain) != given:
                return {"error": "Midrail stops the call: its arguments changed while they were decided."}
        if not decision.allowed:
            if decision.effect == "halt":
                self._halted[run.id] = last_words(decision)
            return {"error": decision.message}
        if decision.content is not None:
            changed = passed_on(tool_args, decision.content)
            if not isinstance(changed, dict):
                return {"error": "Midrail stops the call: the changed arguments cannot be read."}
            tool_args.clear()
            tool_args.update(changed)
        if tool.name != HANDOFF:
            self._calls[id(tool_context)] = (tool_context, decision)
        return None

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        """Decides the result of a call."""
        known = self._calls.pop(id(tool_context), None)
        if known is None:
            return {"error": "Midrail withholds the result: its call was not decided."}
        before = known[1]
        if before is None:
            return None  # A hand-off, or a call that was stopped: the result is the message of the decision.
        run = self._session(tool_context)
        decision = await run.aafter_tool(tool.name, tool_args, result)
        if not decision.allowed:
            if decision.effect == "halt":
                self._halted[run.id] = last_words(decision)
            return {"error": decision.message}
        notes = [notes for notes in (before.notes, decision.notes) if notes]
        if decision.content is None and not notes:
            return None
        shown = result if decision.content is None else passed_on(result, decision.content)
        shown = dict(shown) if isinstance(shown, dict) else {"result": shown}
        return {**shown, "notes": "\n".join(notes)} if notes else shown

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: Exception
    ) -> dict[str, Any] | None:
        """Reports the error of a call, and decides what the model may see of it."""
        self._calls.pop(id(tool_context), None)
        decision = await self._session(tool_context).aafter_tool(tool.name, tool_args, str(error), ok=False)
        if not decision.allowed:
            return {"error": decision.message}
        return None if decision.content is None else {"error": decision.content}

    # The input and the output of the model

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Decides the prompts. The framework sends the whole conversation each time."""
        run = self._session(callback_context)
        if halted := self._halted.get(run.id):
            return _answer(halted)
        contents: list[types.Content] = []
        found: list[types.Part] = []
        known = 0
        for content in llm_request.contents:
            if content.role == "user":
                content = content.model_copy(deep=True)
                found += [part for part in content.parts or [] if part.text]
            else:
                known = len(found)
            contents.append(content)
        shown, stopped = await acheck_prompts(run, [str(part.text) for part in found], len(found) - known)
        if stopped is not None:
            return _answer(stopped)
        for part, text in zip(found, shown, strict=True):
            part.text = text
        llm_request.contents = contents
        return None

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Decides the answer. Parts of a stream are held back until the answer is complete."""
        content = llm_response.content
        if content is None or not content.parts:
            return None
        if llm_response.partial:
            return llm_response.model_copy(update={"content": types.Content(role="model", parts=[types.Part(text="")])})
        run = self._session(callback_context)
        content = content.model_copy(deep=True)
        for part in content.parts or []:
            if part.text:
                decision = await run.aafter_model(part.text)
                if not decision.allowed:
                    return _answer(last_words(decision))
                part.text = part.text if decision.content is None else decision.content
        if not any(part.function_call for part in content.parts or []):
            decision = await run.abefore_stop("".join(part.text or "" for part in content.parts or []))
            if not decision.allowed:
                # ADK has no other turn for the model, so the answer is withheld.
                return _answer(last_words(decision))
        return llm_response.model_copy(update={"content": content})


def _answer(text: str) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))
