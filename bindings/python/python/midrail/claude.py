"""Claude Agent SDK: `ClaudeAgentOptions(hooks=midrail.claude.hooks())`."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, cast

from claude_agent_sdk import HookMatcher
from claude_agent_sdk.types import HookContext, HookEvent, HookInput, HookJSONOutput

from . import wire
from ._adapter import default_guard, last_words
from ._decision import Decision
from ._guard import Guard, Session, passed_on

Input = dict[str, Any]
Answer = dict[str, Any]

DECISION_SECONDS = 60
"""The time limit of a hook, in addition to the wait for an approval. Claude Code blocks a call whose hook exceeds it."""

MENTION = re.compile(r"""(?:^|(?<=[\s(\["'`,]))@(?:"([^"]+)"|(\S+))""")
"""A file that a prompt mentions. Claude Code adds it to the prompt without a tool call."""

TYPE_FIELDS = {"type", "mode", "status"}
TYPE_WORD = re.compile(r"[a-z_-]{1,24}")
TEXT_PATHS = ((), ("stdout",), ("file", "content"), ("result",))
"""Where the model reads a text in a result: in the result of an MCP server, of a command, of a read file and of a web page."""


def hooks(
    guard: Guard | None = None, *, session: str | None = None, agent: wire.Agent | None = None, wait: float = 0
) -> dict[HookEvent, list[HookMatcher]]:
    """The hooks that hold a run and its sub-agents to the policy: prompts, tool calls, results and the end of the run.

    The session is that of the SDK, or `session`. `wait` is how many seconds a call waits for an approval if one is required;
    after that the model is informed that it waits.
    """
    own = _Hooks(guard or default_guard(), session, agent, wait)
    events: dict[HookEvent, Callable[[Input], Awaitable[Answer]]] = {
        "UserPromptSubmit": own.before_model,
        "PreToolUse": own.before_tool,
        "PostToolUse": own.after_tool,
        "PostToolUseFailure": own.after_failure,
        # The SDK passes it on to Claude Code, but its type does not name it.
        cast("HookEvent", "PostToolBatch"): own.after_calls,
        "Stop": own.before_stop,
        "SubagentStop": own.before_stop,
    }
    limit = wait + DECISION_SECONDS
    return {
        event: [HookMatcher(hooks=[own.closed(hook)], timeout=limit, on_failure="block")] for event, hook in events.items()
    }


class _Hooks:
    def __init__(self, guard: Guard, session: str | None, agent: wire.Agent | None, wait: float) -> None:
        self._guard = guard
        self._given = session
        self._agent = agent
        self._wait = wait
        self._halted: dict[str, str] = {}
        """The last words of sessions that were halted. Their conversations must not continue."""

    def _id(self, input: Input) -> str:
        return self._given or str(input["session_id"])

    def _session(self, input: Input) -> Session:
        id = self._id(input)
        named = {"agent": self._agent, "parent": None}
        if input.get("agent_id"):
            parent = (self._agent or {}).get("id") or id
            named = {"agent": {"id": input["agent_id"], "role": input.get("agent_type")}, "parent": parent}
        return self._guard.session(id, cwd=input.get("cwd"), prompt=input.get("prompt_id"), wait=self._wait, **named)

    def closed(
        self, hook: Callable[[Input], Awaitable[Answer]]
    ) -> Callable[[HookInput, str | None, HookContext], Awaitable[HookJSONOutput]]:
        """A hook whose failures stop what it decides. Claude Code ignores `on_failure` after failed calls and at the end of
        a run."""

        async def closed(input: HookInput, tool_use_id: str | None, context: HookContext) -> HookJSONOutput:
            given = cast("Input", input)
            try:
                answer = await hook(given)
            except Exception as error:
                words = f"Midrail stops this: {error}"
                answer = _stopped(given, words)
                if given["hook_event_name"] in ("PostToolUseFailure", "PostToolBatch"):
                    self._halted[self._id(given)] = words
                    answer = _ended(given, words)
            return cast("HookJSONOutput", answer)

        return closed

    async def before_model(self, input: Input) -> Answer:
        """Decides a prompt, and a read of each file that it mentions."""
        run = self._session(input)
        prompt = str(input["prompt"])
        if halted := self._halted.get(run.id):
            return _ended(input, halted)
        decision = await run.abefore_model(prompt)
        if not decision.allowed:
            return self._refused(run, input, decision)
        if decision.content is not None:
            return _stopped(input, f"Midrail blocks the prompt, because Claude Code cannot replace it: {decision.reason}")
        notes = [decision.notes]
        for quoted, plain in MENTION.findall(prompt):
            path = quoted or plain.split("#")[0].rstrip(",;:)]!?\"'`.")
            if not path:
                continue
            decision = await run.abefore_tool("Read", {"file_path": path})
            if not decision.allowed:
                return self._refused(run, input, decision)
            notes.append(decision.notes)
        return _noted(input, *notes)

    async def before_tool(self, input: Input) -> Answer:
        """Decides a call. The arguments that were decided replace those of the call if they were changed."""
        run = self._session(input)
        name, args = str(input["tool_name"]), input["tool_input"]
        if halted := self._halted.get(run.id):
            return _ended(input, halted)
        decision = await run.abefore_tool(name, args)
        approval = decision.approval
        if decision.effect == "escalate" and approval is not None and self._wait > 0:
            if await approval.wait_async(self._wait) != "pending":
                decision = await run.abefore_tool(name, args)
        if not decision.allowed:
            return self._refused(run, input, decision)
        answer = _noted(input, decision.notes)
        if decision.content is not None:
            changed = passed_on(args, decision.content)
            if not isinstance(changed, dict):
                return _stopped(input, "Midrail stops the call: the changed arguments cannot be read.")
            answer.setdefault("hookSpecificOutput", {"hookEventName": input["hook_event_name"]})["updatedInput"] = changed
        return answer

    async def after_tool(self, input: Input) -> Answer:
        """Decides what the model may see of a result."""
        run = self._session(input)
        result = input["tool_response"]
        decision = await run.aafter_tool(str(input["tool_name"]), input["tool_input"], result)
        if not decision.allowed:
            return self._refused(run, input, decision)
        answer = _noted(input, decision.notes)
        if decision.content is not None:
            changed = passed_on(result, decision.content)
            if not _has_same_shape(changed, result):
                changed = _with_text(result, decision.content)
            answer.setdefault("hookSpecificOutput", {"hookEventName": "PostToolUse"})["updatedToolOutput"] = changed
        return answer

    async def after_failure(self, input: Input) -> Answer:
        """Decides what the model may see of an error. Claude Code cannot replace it, so a change ends the run as soon as the
        calls of this turn are done."""
        run = self._session(input)
        decision = await run.aafter_tool(str(input["tool_name"]), input["tool_input"], str(input["error"]), ok=False)
        if decision.allowed and decision.content is None:
            return _noted(input, decision.notes)
        words = "Midrail ends the run, because Claude Code cannot withhold the error of a tool"
        self._halted[run.id] = f"{words}: {decision.message}"
        return {}

    async def after_calls(self, input: Input) -> Answer:
        """Ends a run that was halted, before the model sees the results of its calls."""
        halted = self._halted.get(self._id(input))
        return _ended(input, halted) if halted else {}

    async def before_stop(self, input: Input) -> Answer:
        """Decides whether an agent may end."""
        run = self._session(input)
        if run.id in self._halted:
            return {}
        decision = await run.abefore_stop(input.get("last_assistant_message"))
        if not decision.allowed:
            return self._refused(run, input, decision)
        if decision.content is not None:
            return _stopped(input, f"Midrail blocks the answer, because Claude Code cannot replace it: {decision.reason}")
        return {}

    def _refused(self, run: Session, input: Input, decision: Decision) -> Answer:
        if decision.effect != "halt":
            return _stopped(input, decision.message)
        self._halted[run.id] = last_words(decision)
        return _ended(input, self._halted[run.id])


def _noted(input: Input, *notes: str | None) -> Answer:
    """An answer that adds notes for the model, and decides nothing else: the permissions of the host still apply."""
    text = "\n".join(each for each in notes if each)
    if not text:
        return {}
    return {"hookSpecificOutput": {"hookEventName": input["hook_event_name"], "additionalContext": text}}


def _stopped(input: Input, message: str) -> Answer:
    """The answer that stops a prompt, a call, a result or the end of a run. The message is for the model."""
    event = input["hook_event_name"]
    if event == "PreToolUse":
        denied = {"hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": message}
        return {"hookSpecificOutput": denied}
    answer: Answer = {"decision": "block", "reason": message}
    if event == "UserPromptSubmit":
        answer["hookSpecificOutput"] = {"hookEventName": event, "suppressOriginalPrompt": True}
    if event == "PostToolUse":
        shown = _with_text(input.get("tool_response"), message)
        answer["hookSpecificOutput"] = {"hookEventName": event, "updatedToolOutput": shown}
    return answer


def _ended(input: Input, words: str) -> Answer:
    """The answer that ends the run."""
    return {**_stopped(input, words), "continue_": False, "stopReason": words}


# Claude Code keeps the original result if the new one has another shape.


def _with_text(result: Any, text: str) -> Any:
    """A result of the same shape whose only text is this one. If the model reads no text of it, it has none."""
    emptied = _emptied(result)
    for path in TEXT_PATHS:
        place, *_ = parents = [emptied]
        for key in path:
            place = place.get(key) if isinstance(place, dict) else None
            parents.append(place)
        if not isinstance(place, str):
            continue
        if not path:
            return text
        cast("dict[str, Any]", parents[-2])[path[-1]] = text
        return emptied
    parts = [{"type": "text", "text": text}]
    if _is_parts(emptied):
        return parts
    if isinstance(emptied, dict) and _is_parts(emptied.get("content")):
        return {**emptied, "content": parts}
    return emptied


def _is_parts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and isinstance(value[0].get("type"), str)


def _emptied(value: Any) -> Any:
    if isinstance(value, str):
        return ""
    if isinstance(value, list):
        return [_emptied(item) for item in value[:1]]
    if isinstance(value, dict):
        return {key: each if _is_type(key, each) else _emptied(each) for key, each in value.items()}
    return value


def _is_type(key: str, value: Any) -> bool:
    return key in TYPE_FIELDS and isinstance(value, str) and TYPE_WORD.fullmatch(value) is not None


def _has_same_shape(value: Any, other: Any) -> bool:
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(_has_same_shape(value[key], other[key]) for key in value)
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(_has_same_shape, value, other))
    return type(value) is type(other)
