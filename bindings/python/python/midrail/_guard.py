"""The guard and its sessions: what a program uses."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import functools
import inspect
import json
import uuid
from collections import abc
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, cast

from . import wire
from ._backend import Backend, InProcess, Service, refusal
from ._decision import Decision, Stopped, ToolFailed
from ._functions import Check, Guardrail
from ._native import MidrailError
from ._stream import Stream

P = ParamSpec("P")
R = TypeVar("R")


class Guard:
    """Decides what agents may do.

    Without arguments: an engine in this process, with the packs of the working folder and the same store as the program
    `midrail`, so that `midrail log` and the console show these agents too.

    `packs` names pack files, folders, or shipped packs such as `midrail:default`, in place of those of the folder.
    `env` names the environment whose overlay is applied. `store` is a SQLite file or `:memory:`. `cwd` is the folder that
    agents work in. `url` and `key` use a running service (`midrail serve`) in place of an engine in this process.
    """

    def __init__(
        self,
        *,
        packs: list[str | Path] | None = None,
        env: str | None = None,
        store: str | Path | None = None,
        cwd: str | Path | None = None,
        url: str | None = None,
        key: str | None = None,
        timeout: float = 30,
    ) -> None:
        if url is not None:
            if packs is not None or env is not None or store is not None:
                raise MidrailError("a service has its own packs and store: give `url`, or `packs`, `env` and `store`")
            self._backend: Backend = Service(url, key, timeout)
            self._cwd = str(cwd) if cwd is not None else None
            return
        options: dict[str, Any] = {"packs": [str(pack) for pack in packs or []], "env": env}
        options["store"] = str(store) if store is not None else None
        options["cwd"] = str(cwd) if cwd is not None else None
        self._backend = InProcess(options)
        self._cwd = None

    def session(
        self,
        id: str | None = None,
        *,
        agent: wire.Agent | None = None,
        task: wire.Task | None = None,
        cwd: str | Path | None = None,
        prompt: str | None = None,
        parent: str | None = None,
        wait: float = 0,
    ) -> Session:
        """A session: one run of an agent. Without an id it is a new one.

        `wait` is how many seconds calls wait for an approval if one is required.
        """
        fields = {"agent": agent, "task": task, "prompt": prompt, "parent": parent}
        template: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
        folder = str(cwd) if cwd is not None else self._cwd
        if folder is not None:
            template["cwd"] = folder
        return Session(self._backend, id or f"run-{uuid.uuid4().hex[:12]}", template, wait)

    def guardrail(
        self,
        id: str,
        *,
        tools: list[str] | None = None,
        on: list[wire.EventKind] | None = None,
        key: str | None = None,
        description: str = "",
        priority: int = 100,
        approver: str = "reviewer",
        timeout: float = 1.0,
    ) -> Callable[[Check], Guardrail]:
        """Registers a function as a guardrail.

        The function receives a `GuardrailCall`. It returns nothing to allow the event, a text to block it with this
        reason, or a verdict (`midrail.verdict`). If it raises or is late, the event is blocked. `key` names an argument:
        the guardrail then has a separate state for each of its values, and does not apply to calls without it. It runs on a
        thread of its own.
        """
        backend = self._backend
        if not isinstance(backend, InProcess):
            raise MidrailError("a service does not run functions of this program: use a pack, or no `url`")

        def register(check: Check) -> Guardrail:
            spec: dict[str, Any] = {
                "id": id,
                "description": description or inspect.getdoc(check) or "",
                "tools": tools or [],
                "on": on or ["before_tool"],
                "key": key,
                "priority": priority,
                "approver": approver,
                "timeout_ms": max(1, int(timeout * 1000)),
            }
            return Guardrail(id, check, lambda observes, answer: backend.register({**spec, "observes": observes}, answer))

        return register

    def unregister(self, id: str) -> bool:
        """Removes a guardrail of this program. `False`: there is none with this id, or it is always on."""
        return isinstance(self._backend, InProcess) and self._backend.unregister(id)


class Session:
    """One run of an agent. Every method decides an event and records it; each has an asynchronous variant with an `a` in
    front."""

    def __init__(self, backend: Backend, id: str, template: dict[str, Any], wait: float) -> None:
        self._backend = backend
        self._template = template
        self.id = id
        self.wait = wait

    @property
    def agent_id(self) -> str | None:
        """The id of the acting agent, if it has one."""
        return cast("wire.Agent", self._template.get("agent") or {}).get("id")

    def decide(self, event: wire.Event | Mapping[str, Any]) -> Decision:
        """Decides an event of this session. Absent fields are taken from the session."""
        return self._decide(self._encode(event))

    async def adecide(self, event: wire.Event | Mapping[str, Any]) -> Decision:
        """The same, without blocking the event loop."""
        # The event is read now: another coroutine may change it while this one waits.
        return await self._backend.run(self._decide, self._encode(event))

    def _encode(self, event: Mapping[str, Any]) -> str | Exception:
        """The text of an event, or why it has none."""
        try:
            text = json.dumps(
                {**self._template, "session": self.id, **event}, default=plain, allow_nan=False, ensure_ascii=False
            )
            text.encode()
        except Exception as error:
            return error
        return text

    def _decide(self, encoded: str | Exception) -> Decision:
        if isinstance(encoded, str):
            return Decision(self._backend.decide(encoded), self._backend)
        return Decision(refusal(f"the event is not JSON: {encoded}"), self._backend)

    def before_tool(self, tool: str, args: Mapping[str, Any] | None = None, **fields: Any) -> Decision:
        """Decides whether a tool may be called. After an allowed call, report its result with `after_tool`."""
        return self.decide(_before_tool(tool, args, fields))

    async def abefore_tool(self, tool: str, args: Mapping[str, Any] | None = None, **fields: Any) -> Decision:
        """The same, without blocking the event loop."""
        return await self.adecide(_before_tool(tool, args, fields))

    def after_tool(
        self, tool: str, args: Mapping[str, Any] | None = None, result: Any = None, *, ok: bool = True, **fields: Any
    ) -> Decision:
        """Decides what the agent may see of a result. `content` of the decision replaces it."""
        return self.decide(_after_tool(tool, args, result, ok, fields))

    async def aafter_tool(
        self, tool: str, args: Mapping[str, Any] | None = None, result: Any = None, *, ok: bool = True, **fields: Any
    ) -> Decision:
        """The same, without blocking the event loop."""
        return await self.adecide(_after_tool(tool, args, result, ok, fields))

    def before_model(self, text: str, **fields: Any) -> Decision:
        """Decides whether a text may be sent to the model."""
        return self.decide({"kind": "before_model", "text": text, **fields})

    async def abefore_model(self, text: str, **fields: Any) -> Decision:
        """The same, without blocking the event loop."""
        return await self.adecide({"kind": "before_model", "text": text, **fields})

    def conversation(self, messages: Sequence[str | Mapping[str, Any]], *, new: int = 0) -> list[Decision]:
        """Decides a conversation that is sent whole to the model each time: prompts, or events of any kind.

        Each message is decided and recorded once; what was replaced is replaced again. The last `new` were not there before:
        they are decided even if the same words were decided before. The decisions end with the first that is not allowed.
        """
        return self._decide_conversation([self._encode(_message_event(message)) for message in messages], new)

    async def aconversation(self, messages: Sequence[str | Mapping[str, Any]], *, new: int = 0) -> list[Decision]:
        """The same, without blocking the event loop."""
        encoded = [self._encode(_message_event(message)) for message in messages]
        return await self._backend.run(self._decide_conversation, encoded, new)

    def _decide_conversation(self, encoded: list[str | Exception], new: int) -> list[Decision]:
        if not encoded:
            return []
        if wrong := next((each for each in encoded if isinstance(each, Exception)), None):
            return [self._decide(wrong)]
        texts = self._backend.decide_conversation(cast("list[str]", encoded), new)
        decisions = [Decision(text, self._backend) for text in texts]
        if len(decisions) < len(encoded) and all(decision.allowed for decision in decisions):
            decisions.append(Decision(refusal("a decision about the conversation is missing"), self._backend))
        return decisions

    def after_model(self, text: str, **fields: Any) -> Decision:
        """Decides whether the answer of the model may be passed on."""
        return self.decide({"kind": "after_model", "text": text, **fields})

    async def aafter_model(self, text: str, **fields: Any) -> Decision:
        """The same, without blocking the event loop."""
        return await self.adecide({"kind": "after_model", "text": text, **fields})

    def handoff(self, to: str, **handoff: Any) -> Decision:
        """Decides whether another agent may take over."""
        return self.decide({"kind": "before_handoff", "handoff": {"to": to, **handoff}})

    async def ahandoff(self, to: str, **handoff: Any) -> Decision:
        """The same, without blocking the event loop."""
        return await self.adecide({"kind": "before_handoff", "handoff": {"to": to, **handoff}})

    def error(self, error: BaseException | str, **fields: Any) -> Decision:
        """Reports an error. The decision says how to recover."""
        return self.decide(_error(error, fields))

    async def aerror(self, error: BaseException | str, **fields: Any) -> Decision:
        """The same, without blocking the event loop."""
        return await self.adecide(_error(error, fields))

    def before_stop(self, output: Any = None, **fields: Any) -> Decision:
        """Decides whether the agent may end with this output."""
        return self.decide({"kind": "before_stop", "output": output, **fields})

    async def abefore_stop(self, output: Any = None, **fields: Any) -> Decision:
        """The same, without blocking the event loop."""
        return await self.adecide({"kind": "before_stop", "output": output, **fields})

    def stream(self, *, max_bytes: int = 4096) -> Stream:
        """A stream of text from the model: `push` text in, and pass on what comes out."""
        return Stream(self.decide, self.adecide, max_bytes)

    def call(self, tool: str, args: Mapping[str, Any] | None = None, *, wait: float | None = None) -> Call:
        """A tool call under guard, for `with` or `async with`.

        Raises `Stopped` unless the call is allowed. Run the tool with `call.args`, and set `call.result`; after the block,
        it is what the agent may see.
        """
        return Call(self, tool, args, self.wait if wait is None else wait)

    def guarded(self, function: Callable[P, R]) -> Callable[P, R]:
        """A function that runs only if its call is allowed, and returns what the agent may see. For a tool with named
        arguments; coroutine functions work too."""
        signature = inspect.signature(function)
        name = getattr(function, "__name__", type(function).__name__)

        def arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            for parameter in signature.parameters.values():
                if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
                    raise MidrailError(f"`{name}` cannot be guarded: `{parameter.name}` has no name of its own in a call")
            return dict(bound.arguments)

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def run_async(*args: Any, **kwargs: Any) -> Any:
                async with self.call(name, arguments(args, kwargs)) as call:
                    call.result = await cast("Callable[..., Any]", function)(**call.args)
                return call.result

            return cast("Callable[P, R]", run_async)

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with self.call(name, arguments(args, kwargs)) as call:
                call.result = cast("Callable[..., Any]", function)(**call.args)
            return call.result

        return cast("Callable[P, R]", run)


class Call:
    """One tool call. It is decided on entry, and its result on exit."""

    def __init__(self, session: Session, tool: str, args: Mapping[str, Any] | None, wait: float) -> None:
        self._session = session
        self._wait = wait
        self._backend = session._backend  # pyright: ignore[reportPrivateUsage]
        self.tool = tool
        self.result: Any = None
        """The result: set it in the block; after the block, it is what the agent may see."""
        self.ok = True
        """Whether the tool succeeded: set it to `False` if the tool returns its failures."""
        self.decision: Decision | None = None
        """The decision before the call."""
        self.after: Decision | None = None
        """The decision about the result."""
        self._failure: str | None = None
        try:
            # What is decided is what runs, whatever happens to the original meanwhile.
            self._event = json.dumps(_before_tool(tool, args, {}), default=plain, allow_nan=False)
        except Exception as error:
            self._event = ""
            self._failure = f"the arguments are not JSON: {error}"
        self._args = self._event

    @property
    def args(self) -> dict[str, Any]:
        """The arguments to run the tool with: what was decided, with secrets replaced where a guardrail requires it."""
        if self.decision is None or not self.decision.allowed:
            raise MidrailError("the call is not allowed: there are no arguments to run it with")
        changed = self.decision.content
        return json.loads(changed) if changed is not None else json.loads(self._event)["tool"]["args"]

    @property
    def notes(self) -> str | None:
        """What the model is informed of in addition to the result: warnings and feedback of both decisions."""
        decisions = [decision for decision in (self.decision, self.after) if decision is not None]
        return "\n".join(notes for decision in decisions if (notes := decision.notes)) or None

    def refused(self, text: str) -> Decision:
        """A decision that was not made by the engine."""
        return Decision(text, self._backend)

    def __enter__(self) -> Call:
        self._enter(self._decide_and_wait())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exit(error, self._decide_result(error))

    async def __aenter__(self) -> Call:
        started = self._backend.submit(self._decide_before)
        try:
            decision = await asyncio.shield(started)
            decision = await self._await_approval(decision)
        except asyncio.CancelledError:
            # The decision is still made and recorded, so the call is closed as soon as it is known.
            started.add_done_callback(self._abandon)
            raise
        self._enter(decision)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        decided = await self._backend.run(self._decide_result, error)
        self._exit(error, decided)

    def _decide_before(self) -> Decision:
        if self._failure is not None:
            return Decision(refusal(self._failure), self._backend)
        return self._session.decide(json.loads(self._event))

    def _decide_and_wait(self) -> Decision:
        decision = self._decide_before()
        approval = decision.approval
        if decision.effect == "escalate" and approval is not None and self._wait > 0:
            if approval.wait(self._wait) != "pending":
                decision = self._decide_before()
        return decision

    async def _await_approval(self, decision: Decision) -> Decision:
        approval = decision.approval
        if decision.effect == "escalate" and approval is not None and self._wait > 0:
            if await approval.wait_async(self._wait) != "pending":
                started = self._backend.submit(self._decide_before)
                try:
                    decision = await asyncio.shield(started)
                except asyncio.CancelledError:
                    started.add_done_callback(self._abandon)
                    raise
        return decision

    def _enter(self, decision: Decision) -> None:
        self.decision = decision
        if not decision.allowed:
            raise Stopped(decision)
        try:
            _ = self.args
        except ValueError as error:
            # Changed arguments that cannot be read: the original ones are not permitted.
            raise Stopped(Decision(refusal(f"the changed arguments are not JSON: {error}"), self._backend)) from error

    def _decide_result(self, error: BaseException | None) -> Decision:
        if error is None:
            return self._session.after_tool(self.tool, self.args, self.result, ok=self.ok)
        return self._session.after_tool(self.tool, self.args, _message(error), ok=False)

    def _exit(self, error: BaseException | None, decision: Decision) -> None:
        self.after = decision
        if error is not None and not isinstance(error, Exception):
            return  # A cancellation or an interrupt goes on.
        if not decision.allowed:
            self.result = None
            raise Stopped(decision) from error
        changed = decision.content
        if changed is None:
            return
        if error is not None:
            raise ToolFailed(changed) from None
        self.result = passed_on(self.result, changed)

    def _abandon(self, started: asyncio.Future[Decision]) -> None:
        """Reports a call that was allowed and then not run."""
        if started.cancelled() or started.exception() is not None or not started.result().allowed:
            return
        self.decision = started.result()
        self._backend.submit(self._decide_result, asyncio.CancelledError("cancelled before it ran"))


def passed_on(result: Any, changed: str) -> Any:
    """A result with its changed text: a structure stays one where the text can be read as one."""
    if isinstance(result, str):
        return changed
    try:
        return json.loads(changed)
    except ValueError:
        return changed


def plain(value: Any) -> Any:
    """A value that JSON does not have, as one that it has. Raises `TypeError` if it cannot be read without changing it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(cast("bytes", value)).decode(errors="replace")
    for name, options in (("model_dump", {"mode": "json"}), ("to_dict", {}), ("tolist", {})):
        convert = getattr(value, name, None)
        if callable(convert) and not isinstance(value, type):
            return convert(**options)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, abc.Mapping):
        return dict(cast("Mapping[Any, Any]", value))
    if isinstance(value, abc.Collection):
        return list(cast("abc.Collection[Any]", value))
    kind = type(cast("object", value))
    # A text such as `<generator object>` would be checked in place of what the agent sees later.
    if isinstance(value, (abc.Iterable, abc.AsyncIterable, abc.Awaitable)) or callable(getattr(value, "read", None)):
        raise TypeError(f"what a `{kind.__name__}` brings cannot be checked before it is read")
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
        if not hasattr(value, "__dict__"):
            raise TypeError(f"a `{kind.__name__}` has nothing that can be read")
        return vars(value)
    return str(value)


def _message_event(message: str | Mapping[str, Any]) -> Mapping[str, Any]:
    return {"kind": "before_model", "text": message} if isinstance(message, str) else message


def _message(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _before_tool(tool: str, args: Mapping[str, Any] | None, fields: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "before_tool", "tool": {"name": tool, "args": dict(args or {})}, **fields}


def _after_tool(
    tool: str, args: Mapping[str, Any] | None, result: Any, ok: bool, fields: dict[str, Any]
) -> dict[str, Any]:
    call = {"name": tool, "args": dict(args or {})}
    return {"kind": "after_tool", "tool": call, "result": {"ok": ok, "content": result}, **fields}


def _error(error: BaseException | str, fields: dict[str, Any]) -> dict[str, Any]:
    if isinstance(error, str):
        return {"kind": "on_error", "error": {"message": error}, **fields}
    return {"kind": "on_error", "error": {"message": _message(error), "kind": type(error).__name__}, **fields}
