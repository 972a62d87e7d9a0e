"""Guardrails for AI agents: every tool call, prompt and result goes through one engine and returns as one decision.

    import midrail

    run = midrail.Guard().session("run-1")
    with run.call("Bash", {"command": "rm -rf /"}) as call:  # raises midrail.Stopped
        call.result = shell(**call.args)
"""

from . import wire
from ._decision import Approval, Decision, Stopped, ToolFailed
from ._functions import Guardrail, GuardrailCall, verdict
from ._guard import Call, Guard, Session
from ._native import MidrailError
from ._stream import Stream

__all__ = [
    "Approval",
    "Call",
    "Decision",
    "Guard",
    "Guardrail",
    "GuardrailCall",
    "MidrailError",
    "Session",
    "Stopped",
    "Stream",
    "ToolFailed",
    "verdict",
    "wire",
]
