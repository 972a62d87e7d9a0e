"""Guardrails that are functions of the program."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Union, cast

from . import wire

Verdict = dict[str, Any]
Answer = Union[Verdict, str, bool, None]


class GuardrailCall:
    """What a guardrail receives."""

    def __init__(self, call: dict[str, Any]) -> None:
        self.event: wire.Event = call["event"]
        """The whole event."""
        self.state: dict[str, Any] = call["state"] or {}
        """The guardrail's state in this session. Changes in `on_result` are kept."""
        tool: dict[str, Any] = call["event"].get("tool") or {}
        self.tool: str | None = tool.get("name")
        self.args: dict[str, Any] = tool.get("args") or {}
        result: dict[str, Any] = call["event"].get("result") or {}
        self.result: Any = result.get("content")


Check = Callable[[GuardrailCall], Union[Answer, Awaitable[Answer]]]
OnResult = Callable[[GuardrailCall], Union[None, Awaitable[None]]]


def verdict(
    effect: wire.Effect,
    reason: str,
    *,
    advice: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    replacement: str | None = None,
) -> Verdict:
    """The verdict of a guardrail. `replacement` is the text to pass on (`redact`)."""
    return {
        "effect": effect,
        "reason": reason,
        "advice": advice,
        "metadata": dict(metadata or {}),
        "replacement": replacement,
    }


class Guardrail:
    """A function that is a guardrail."""

    def __init__(
        self, id: str, check: Check, register: Callable[[bool, Callable[[str], str]], None]
    ) -> None:
        self.id = id
        self._check = check
        self._on_result: OnResult | None = None
        self._register = register
        register(False, self.answer)

    def on_result(self, function: OnResult) -> OnResult:
        """Registers a function for results of successful calls. It may change `call.state`. If it fails, the result is
        withheld."""
        self._on_result = function
        self._register(True, self.answer)
        return function

    def __call__(self, call: GuardrailCall) -> Any:
        return self._check(call)

    def answer(self, text: str) -> str:
        """The answer to one call of the engine, both as JSON."""
        call = json.loads(text)
        context = GuardrailCall(call)
        if call["hook"] == "on_result":
            if self._on_result is not None:
                _finished(self._on_result(context))
            return json.dumps(context.state or None, allow_nan=False)
        return json.dumps(self._verdict(_finished(self._check(context))), allow_nan=False)

    def _verdict(self, answer: Any) -> Verdict:
        if answer is None or answer is True:
            return {"effect": "allow"}
        if answer is False:
            return {"effect": "block", "reason": f"the guardrail `{self.id}` does not allow this"}
        if isinstance(answer, str):
            return {"effect": "block", "reason": answer}
        if isinstance(answer, dict):
            return cast("Verdict", answer)
        raise TypeError(f"a guardrail returns None, a text or a verdict, not {type(answer).__name__}")


def _finished(answer: Any) -> Any:
    """An answer, or the result of the coroutine that it is. Guardrails run on threads without an event loop."""
    if not inspect.isawaitable(answer):
        return answer

    async def run() -> Any:
        return await answer

    return asyncio.run(run())
