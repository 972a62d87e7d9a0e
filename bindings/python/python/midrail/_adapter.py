"""What the adapters of frameworks share."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import json
from collections.abc import Generator
from typing import Any

from . import wire
from ._backend import refusal
from ._decision import Decision, Stopped
from ._guard import Call, Guard, Session, plain

_running: contextvars.ContextVar[Session | None] = contextvars.ContextVar("midrail_session", default=None)


@functools.cache
def default_guard() -> Guard:
    """The guard of adapters that are given none: one engine with the packs of the working folder."""
    return Guard()


@contextlib.contextmanager
def running(session: Session) -> Generator[None]:
    """While a tool of this session runs. Agents that start meanwhile are its sub-agents."""
    token = _running.set(session)
    try:
        yield
    finally:
        _running.reset(token)


def open_session(guard: Guard, id: str | None, agent: wire.Agent | None, wait: float) -> Session:
    """The session of a run. A sub-agent shares the session of the agent that started it, which it names as its parent."""
    outer = _running.get()
    if outer is None:
        return guard.session(id, agent=agent, wait=wait)
    return guard.session(outer.id, agent=agent, parent=outer.agent_id or outer.id, wait=wait)


def permitted(call: Call, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments to run a tool with, as the framework made them: they may have types that JSON does not have. Raises
    `Stopped` if they are not what was decided."""
    shown = json.loads(json.dumps(given, default=plain))
    if shown == call.args:
        return given
    changed = call.decision is not None and call.decision.content is not None
    if changed and shown == given:
        return call.args
    why = "the arguments cannot be replaced" if changed else "the arguments changed after they were decided"
    raise Stopped(call.refused(refusal(why)))


def with_notes(text: str, notes: str | None) -> str:
    """A text for the model, with warnings and feedback below it."""
    return f"{text}\n\n{notes}" if notes else text


def check_prompts(run: Session, prompts: list[str], new: int) -> tuple[list[str], str | None]:
    """The prompts of a conversation as the model may see them, or the end of the run. The last `new` came after the last answer of
    the model."""
    return _shown(prompts, run.conversation(prompts, new=new))


async def acheck_prompts(run: Session, prompts: list[str], new: int) -> tuple[list[str], str | None]:
    """The same under asyncio."""
    return _shown(prompts, await run.aconversation(prompts, new=new))


def _shown(prompts: list[str], decisions: list[Decision]) -> tuple[list[str], str | None]:
    for decision in decisions:
        if not decision.allowed:
            return [], last_words(decision)
    pairs = zip(prompts, decisions, strict=True)
    return [with_notes(text if one.content is None else one.content, one.notes) for text, one in pairs], None


def last_words(decision: Decision) -> str:
    """The output of a run that a decision ends."""
    return decision.user_message or decision.message or "Midrail stops the run."
