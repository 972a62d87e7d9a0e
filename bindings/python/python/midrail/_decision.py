"""Decisions, approvals, and the exception for a call that is not allowed."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any, Literal, cast

from . import wire

if TYPE_CHECKING:
    from ._backend import Backend

Answer = Literal["approved", "denied", "timed_out", "used", "pending"]

ALLOWED = ("allow", "warn", "redact")
ANSWERS: dict[str, Answer] = {
    "approved": "approved",
    "override": "approved",
    "denied": "denied",
    "timed out": "timed_out",
    "expired": "timed_out",
    "used": "used",
}
SLICE = 0.25
"""The longest wait in the engine, so that Python handles signals in between."""


class Decision:
    """One decision. `to_dict()` has everything; the properties have what most programs need."""

    __slots__ = ("_backend", "_data", "_text")

    def __init__(self, text: str, backend: Backend) -> None:
        self._text = text
        self._data: wire.Decision | None = None
        self._backend = backend

    def to_dict(self) -> wire.Decision:
        """The decision as it was sent."""
        if self._data is None:
            self._data = cast("wire.Decision", json.loads(self._text))
        return self._data

    @property
    def effect(self) -> wire.Effect:
        """`allow`, `warn`, `redact`, `contain`, `retry`, `escalate`, `block` or `halt`."""
        return self.to_dict()["effect"]

    @property
    def allowed(self) -> bool:
        """Whether the action may happen: the effect is `allow`, `warn` or `redact`, or `contain` with arguments that start a
        sandbox."""
        return self.effect in ALLOWED or (self.effect == "contain" and self.content is not None)

    @property
    def by(self) -> str | None:
        """The guardrail that decided."""
        return self.to_dict().get("by")

    @property
    def reason(self) -> str:
        """What was stopped, and why."""
        return self.to_dict().get("reason", "")

    @property
    def advice(self) -> str | None:
        """What to do instead."""
        return self.to_dict().get("advice")

    @property
    def content(self) -> str | None:
        """The text to pass on, if it was changed."""
        return self.to_dict().get("content")

    @property
    def feedback(self) -> list[str]:
        """Notes to the agent."""
        return self.to_dict().get("feedback", [])

    @property
    def user_message(self) -> str | None:
        """The message for the user at the end of the run (`halt`)."""
        return self.to_dict().get("user_message")

    @property
    def message(self) -> str:
        """The message for the model: the reason, the guidance of a retry, and the advice."""
        data = self.to_dict()
        retry = data.get("retry")
        parts = [data.get("reason"), retry and retry.get("message"), data.get("advice")]
        return " ".join(dict.fromkeys(part for part in parts if part))

    @property
    def notes(self) -> str | None:
        """What an allowed call adds to its result for the model: a warning, and feedback."""
        warning = f"Warning of `{self.by}`: {self.message}" if self.effect == "warn" else None
        notes = [note for note in [warning, *self.feedback] if note]
        return "\n".join(notes) or None

    @property
    def approval(self) -> Approval | None:
        """The approval that the action waits for."""
        request = self.to_dict().get("approval")
        return Approval(request, self._backend) if request else None

    def __repr__(self) -> str:
        by = f" by {self.by}" if self.by else ""
        return f"<Decision {self.effect}{by}: {self.message}>"


class Approval:
    """A request for an approval of exactly one action."""

    __slots__ = ("_backend", "approver", "expires", "id")

    def __init__(self, request: wire.ApprovalRequest, backend: Backend) -> None:
        self._backend = backend
        self.id: str = request["id"]
        self.approver: str = request["approver"]
        """The role that may decide it."""
        self.expires: str | None = request.get("expires")
        """When a missing answer becomes a block."""

    def status(self) -> Answer:
        """The answer so far."""
        return _answer(self._backend.approval(self.id, 0))

    def wait(self, timeout: float = 120) -> Answer:
        """Waits for the answer. After `approved`, the same call is allowed once."""
        end = time.monotonic() + timeout
        while True:
            left = max(0.0, end - time.monotonic())
            answer = _answer(self._backend.approval(self.id, min(SLICE, left)))
            if answer != "pending" or left == 0:
                return answer

    async def wait_async(self, timeout: float = 120) -> Answer:
        """The same, without blocking the event loop."""
        end = time.monotonic() + timeout
        while True:
            answer = _answer(await self._backend.run(self._backend.approval, self.id, 0.0))
            left = end - time.monotonic()
            if answer != "pending" or left <= 0:
                return answer
            await asyncio.sleep(min(SLICE, left))


def _answer(approval: dict[str, Any]) -> Answer:
    return ANSWERS.get(str(approval.get("status")), "pending")


class Stopped(Exception):
    """A call that is not allowed. `str()` is the message for the model; `decision` is why."""

    def __init__(self, decision: Decision, prefix: str = "") -> None:
        super().__init__(prefix + decision.message)
        self.decision = decision


class ToolFailed(Exception):
    """A tool failed, and its message was changed before the agent may see it."""
