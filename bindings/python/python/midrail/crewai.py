"""CrewAI: `midrail.crewai.install()` holds all crews of the process to the policy."""

from __future__ import annotations

import contextvars
import functools
import hashlib
import json
from collections.abc import Callable
from typing import Any, TypeVar

from crewai.hooks import (
    HookAborted,
    LLMCallHookContext,
    ToolCallHookContext,
    register_after_llm_call_hook,
    register_after_tool_call_hook,
    register_before_llm_call_hook,
    register_before_tool_call_hook,
    unregister_after_llm_call_hook,
    unregister_after_tool_call_hook,
    unregister_before_llm_call_hook,
    unregister_before_tool_call_hook,
)

from ._adapter import check_prompts, default_guard, last_words, with_notes
from ._decision import Decision
from ._guard import Guard, Session, passed_on

C = TypeVar("C")
R = TypeVar("R")

_before: contextvars.ContextVar[tuple[Decision, dict[str, Any]] | None] = contextvars.ContextVar(
    "midrail_crewai_call", default=None
)
"""The decision of the call that runs, and its arguments. CrewAI calls both hooks of a call in one context."""


def _closed(hook: Callable[[_Hooks, C], R]) -> Callable[[_Hooks, C], R]:
    """CrewAI ignores every exception of a hook but `HookAborted`, so a failure has to be one."""

    @functools.wraps(hook)
    def closed(self: _Hooks, context: C) -> R:
        try:
            return hook(self, context)
        except HookAborted:
            raise
        except BaseException as error:
            raise HookAborted(f"Midrail stops the run: {error}", source="midrail") from error

    return closed


def install(guard: Guard | None = None, *, session: str | None = None, wait: float = 0) -> Callable[[], None]:
    """Holds all crews of this process to the policy. Returns a function that ends this.

    The session is that of the crew, or `session`. `wait` is how many seconds a call waits for an approval if one is
    required; after that the model is informed that it waits.
    """
    hooks = _Hooks(guard or default_guard(), session, wait)
    register_before_tool_call_hook(hooks.before_tool)
    register_after_tool_call_hook(hooks.after_tool)
    register_before_llm_call_hook(hooks.before_model)
    register_after_llm_call_hook(hooks.after_model)

    def uninstall() -> None:
        unregister_before_tool_call_hook(hooks.before_tool)
        unregister_after_tool_call_hook(hooks.after_tool)
        unregister_before_llm_call_hook(hooks.before_model)
        unregister_after_llm_call_hook(hooks.after_model)

    return uninstall


MOST_REPLACED = 10_000
"""The most replaced prompts that are known as such. Another one is decided again."""


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


class _Hooks:
    def __init__(self, guard: Guard, session: str | None, wait: float) -> None:
        self._guard = guard
        self._id = session or guard.session().id
        self._given = session
        self._wait = wait
        self._replaced: dict[bytes, None] = {}
        """Digests of what took the place of prompts."""
        # Bound methods are new objects each time; the framework finds hooks by identity.
        self.before_tool = self._before_tool
        self.after_tool = self._after_tool
        self.before_model = self._before_model
        self.after_model = self._after_model

    def _session(self, context: ToolCallHookContext | LLMCallHookContext) -> Session:
        crew = getattr(context, "crew", None)
        id = self._given or (str(crew.id) if crew is not None else self._id)
        role = getattr(getattr(context, "agent", None), "role", None)
        return self._guard.session(id, agent={"id": role.strip()} if role else None, wait=self._wait)

    @_closed
    def _before_tool(self, context: ToolCallHookContext) -> bool | None:
        run = self._session(context)
        decision = run.before_tool(context.tool_name, context.tool_input)
        approval = decision.approval
        if decision.effect == "escalate" and approval is not None and self._wait > 0:
            if approval.wait(self._wait) != "pending":
                decision = run.before_tool(context.tool_name, context.tool_input)
        if decision.effect == "halt":
            raise HookAborted(last_words(decision), source="midrail")
        if decision.allowed and decision.content is not None:
            changed = passed_on(context.tool_input, decision.content)
            if not isinstance(changed, dict):
                raise HookAborted("the changed arguments cannot be read", source="midrail")
            context.tool_input.clear()
            context.tool_input.update(changed)
        _before.set((decision, json.loads(json.dumps(context.tool_input, default=str))))
        return None if decision.allowed else False

    @_closed
    def _after_tool(self, context: ToolCallHookContext) -> str | None:
        known = _before.get()
        _before.set(None)
        if known is None:
            return "Midrail withholds the result: its call was not decided."
        before, args = known
        if not before.allowed:
            return before.message  # The result says only that a hook blocked the call.
        decision = self._session(context).after_tool(context.tool_name, args, context.tool_result)
        if decision.effect == "halt":
            raise HookAborted(last_words(decision), source="midrail")
        if not decision.allowed:
            return decision.message
        notes = "\n".join(notes for notes in (before.notes, decision.notes) if notes)
        if decision.content is None and not notes:
            return None
        shown = context.tool_result if decision.content is None else decision.content
        return with_notes(str(shown), notes)

    @_closed
    def _before_model(self, context: LLMCallHookContext) -> bool | None:
        found: list[Any] = []
        known = 0
        for message in context.messages:
            content = message.get("content")
            if message.get("role") == "user" and isinstance(content, str) and content:
                # The messages keep what is replaced here.
                if _digest(content) not in self._replaced:
                    found.append(message)
            elif message.get("role") != "system":
                known = len(found)
        prompts = [message["content"] for message in found]
        shown, stopped = check_prompts(self._session(context), prompts, len(found) - known)
        if stopped is not None:
            raise HookAborted(stopped, source="midrail")
        for message, prompt, text in zip(found, prompts, shown, strict=True):
            if text != prompt:
                message["content"] = text
                self._replaced[_digest(text)] = None
        while len(self._replaced) > MOST_REPLACED:
            del self._replaced[next(iter(self._replaced))]
        return None

    @_closed
    def _after_model(self, context: LLMCallHookContext) -> str | None:
        if not isinstance(context.response, str) or not context.response:
            return None
        decision = self._session(context).after_model(context.response)
        if not decision.allowed:
            raise HookAborted(last_words(decision), source="midrail")
        return decision.content
