"""Guarded streams of text from a model."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from ._decision import Decision, Stopped


class Stream:
    """A stream of text from the model. `push` returns the text that may be passed on now; the rest is collected, or held
    back while it could be the start of a secret. Raises `Stopped` when the stream is stopped."""

    def __init__(
        self,
        decide: Callable[[dict[str, Any]], Decision],
        adecide: Callable[[dict[str, Any]], Awaitable[Decision]],
        max_bytes: int,
    ) -> None:
        self._decide = decide
        self._adecide = adecide
        self._max_bytes = max_bytes
        self._collected = ""
        self._stopped: Decision | None = None
        self._finished = False
        # Chunks are decided in the order in which they were pushed, whatever waits for them.
        self._order = asyncio.Lock()
        self.id = f"stream-{uuid.uuid4().hex[:12]}"

    def push(self, text: str) -> str:
        """Adds text. Once enough is collected, it is decided."""
        return self._step(False) if self._collect(text) else ""

    def flush(self) -> str:
        """Decides the collected text, however little it is."""
        return self._step(False) if self._collected else ""

    def finish(self) -> str:
        """Decides the rest. Nothing is held back any more."""
        return self._step(True)

    async def apush(self, text: str) -> str:
        """As `push`, without blocking the event loop."""
        return await self._astep(False) if self._collect(text) else ""

    async def aflush(self) -> str:
        """As `flush`, without blocking the event loop."""
        return await self._astep(False) if self._collected else ""

    async def afinish(self) -> str:
        """As `finish`, without blocking the event loop."""
        return await self._astep(True)

    def _collect(self, text: str) -> bool:
        self._raise_if_over()
        self._collected += text
        return len(self._collected.encode(errors="surrogatepass")) >= self._max_bytes

    def _step(self, last: bool) -> str:
        self._raise_if_over()
        return self._pass_on(self._decide(self._event(last)), last)

    async def _astep(self, last: bool) -> str:
        async with self._order:
            self._raise_if_over()
            return self._pass_on(await self._adecide(self._event(last)), last)

    def _raise_if_over(self) -> None:
        if self._stopped is not None:
            raise Stopped(self._stopped)
        if self._finished:
            raise ValueError("the stream is finished")

    def _event(self, last: bool) -> dict[str, Any]:
        text, self._collected = self._collected, ""
        return {"kind": "model_chunk", "text": text, "stream": self.id, "last": last}

    def _pass_on(self, decision: Decision, last: bool) -> str:
        if not decision.allowed:
            self._stopped = decision
            raise Stopped(decision)
        self._finished = last
        # The decision about an allowed chunk has the text that may be passed on.
        return decision.content or ""
