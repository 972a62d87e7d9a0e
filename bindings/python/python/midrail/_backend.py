"""Where decisions are made: an engine in this process, or a service."""

from __future__ import annotations

import asyncio
import json
import os
import urllib.error
import urllib.parse
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

from ._native import Engine, MidrailError

T = TypeVar("T")
POOL_SIZE = 16


class Backend(ABC):
    """Decides events, as JSON texts."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._pool: ThreadPoolExecutor | None = None

    @abstractmethod
    def decide(self, event: str) -> str:
        """Decides an event. It never raises: what cannot be decided is blocked."""

    @abstractmethod
    def decide_conversation(self, events: list[str], new: int) -> list[str]:
        """Decides the messages of a conversation, up to the first that stops it. It never raises."""

    @abstractmethod
    def approval(self, id: str, seconds: float) -> dict[str, Any]:
        """The request for an approval, once it is answered or the time is up."""

    def submit(self, function: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
        """Starts a function on a thread. It runs to its end, also if no one waits for it."""
        self.renew_after_fork()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(POOL_SIZE, thread_name_prefix="midrail")
        return asyncio.wrap_future(self._pool.submit(function, *arguments))

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """Runs a function on a thread."""
        return await asyncio.shield(self.submit(function, *arguments))

    def renew_after_fork(self) -> None:
        """In a forked process, forgets what has threads of the parent."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._pool = None
            self._reopen()

    def _reopen(self) -> None:
        """Opens what the process has to have for itself."""


class InProcess(Backend):
    """An engine in this process."""

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__()
        self._options = json.dumps(options)
        self._guardrails: dict[str, tuple[str, Callable[[str], str]]] = {}
        self._engine: Engine = Engine(self._options)

    def decide(self, event: str) -> str:
        try:
            self.renew_after_fork()
            return self._engine.decide(event)
        except Exception as error:
            return refusal(error)

    def decide_conversation(self, events: list[str], new: int) -> list[str]:
        try:
            self.renew_after_fork()
            return self._engine.decide_conversation(events, new)
        except Exception as error:
            return [refusal(error)]

    def approval(self, id: str, seconds: float) -> dict[str, Any]:
        self.renew_after_fork()
        return json.loads(self._engine.approval(id, seconds))

    def register(self, spec: dict[str, Any], function: Callable[[str], str]) -> None:
        """Registers a guardrail."""
        self.renew_after_fork()
        text = json.dumps(spec)
        self._engine.register(text, function)
        self._guardrails[spec["id"]] = (text, function)

    def unregister(self, id: str) -> bool:
        """Removes a guardrail."""
        self.renew_after_fork()
        self._guardrails.pop(id, None)
        return self._engine.unregister(id)

    def _reopen(self) -> None:
        try:
            engine = Engine(self._options)
            for spec, function in self._guardrails.values():
                engine.register(spec, function)
        except BaseException:
            # The next event tries again: the engine of the parent must not decide.
            self._process = -1
            raise
        self._engine = engine


class Service(Backend):
    """A running service (`midrail serve`)."""

    def __init__(self, url: str, key: str | None, timeout: float) -> None:
        super().__init__()
        self._url = url.rstrip("/")
        self._headers = {"content-type": "application/json"}
        if key:
            self._headers["authorization"] = f"Bearer {key}"
        self._timeout = timeout

    def decide(self, event: str) -> str:
        try:
            answer = self._request("/v1/decide", event.encode(), self._timeout)
            if "effect" not in json.loads(answer):
                raise MidrailError("the answer of the service is not a decision")
            return answer
        except Exception as error:
            return refusal(error)

    def decide_conversation(self, events: list[str], new: int) -> list[str]:
        try:
            body = f'{{"events": [{",".join(events)}], "new": {new}}}'
            answer = self._request("/v1/decide/conversation", body.encode(), self._timeout)
            decisions = json.loads(answer)["decisions"]
            if any("effect" not in decision for decision in decisions):
                raise MidrailError("the answer of the service has what is not a decision")
            return [json.dumps(decision) for decision in decisions]
        except Exception as error:
            return [refusal(error)]

    def approval(self, id: str, seconds: float) -> dict[str, Any]:
        path = f"/v1/approvals/{urllib.parse.quote(id, safe='')}/wait?timeout_s={int(seconds)}"
        return json.loads(self._request(path, None, self._timeout + seconds))

    def _request(self, path: str, body: bytes | None, timeout: float) -> str:
        request = urllib.request.Request(self._url + path, body, self._headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            raise MidrailError(f"the service answered {error.code}: {_detail(error.read())}") from error
        except OSError as error:
            raise MidrailError(f"the service at {self._url} cannot be reached: {error}") from error


def _detail(body: bytes) -> str:
    """What a problem of the service says."""
    try:
        problem = cast("dict[str, Any]", json.loads(body))
        return "; ".join(str(problem[name]) for name in ("detail", "help") if problem.get(name))
    except (ValueError, TypeError, AttributeError):
        return "no reason"


def refusal(why: object) -> str:
    """The decision if none could be made: a block."""
    reason = f"the decision could not be made and recorded, so this does not happen: {why}"
    return json.dumps({"effect": "block", "by": "midrail", "reason": reason, "mode": "enforce", "policy": ""})
