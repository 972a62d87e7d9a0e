#!/usr/bin/env python3
"""Compares the table of docs/guide/frameworks.md with the results of the tests of the adapters, or writes it.

matrix.py --check|--write FOLDER, where the folder has the results as TAP, one file for each framework.
"""

import re
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs/guide/frameworks.md"
START, END = "<!-- Written by bindings/matrix.py from the tests. -->", "<!-- End of the table. -->"
FRAMEWORKS = {
    "langchain": "LangChain, LangGraph (Python)",
    "openai_agents": "OpenAI Agents (Python)",
    "pydantic_ai": "pydantic-ai (Python)",
    "adk": "Google ADK (Python)",
    "crewai": "CrewAI (Python)",
    "claude": "Claude Agent SDK (Python)",
    "vercel": "Vercel AI SDK (Node)",
    "openai-agents": "OpenAI Agents (Node)",
    "claude-agent-sdk": "Claude Agent SDK (Node)",
    "mastra": "Mastra (Node)",
}
BEHAVIOURS = {
    "destructive call": r"a destructive call is stopped and the folder survives",
    "secret": r"a secret does not reach the model",
    "unread file": r"an unread file is not overwritten",
    "approval": r"an approval lets exactly one call pass",
    "throwing guardrail": r"a throwing guardrail stops the call",
    "other agents": r"(another agent is held to the same|a sub-agent is held to the same.*)",
    "prompt": r"a prompt is replaced or stopped",
    "old prompts": r"(old prompts are replaced again and decided once|a prompt is decided once and its warning is shown once)",
    "every effect": r"(every effect lands|a halt ends the run|a withheld result does not reach the model)",
}


def outcome(results, pattern):
    """Whether all tests of a behaviour passed. `None`: there is no such test."""
    found = [word == "ok" for word, name in results if re.fullmatch(rf"(\w+: )?{pattern}", name)]
    return all(found) if found else None


def table(folder):
    lines = [f"| framework | {' | '.join(BEHAVIOURS)} | tests |", "|---" * (len(BEHAVIOURS) + 2) + "|"]
    failed = False
    for file, name in FRAMEWORKS.items():
        path = folder / f"{file}.tap"
        if not path.exists():
            continue
        results = re.findall(r"^(ok|not ok) \d+ - (.*)$", path.read_text(), re.MULTILINE)
        outcomes = [outcome(results, pattern) for pattern in BEHAVIOURS.values()]
        failed |= any(word != "ok" for word, _ in results) or not results
        cells = [{True: "yes", False: "no", None: "–"}[each] for each in outcomes]
        lines.append(f"| {name} | {' | '.join(cells)} | {len(results)} |")
    return "\n".join(lines), failed


mode, folder = sys.argv[1], Path(sys.argv[2])
text, failed = table(folder)
print(text)
page = PAGE.read_text()
before, rest = page.split(START)
after = rest.split(END)[1]
current = f"{before}{START}\n\n{text}\n\n{END}{after}"
if mode == "--write":
    PAGE.write_text(current)
elif current != page:
    sys.exit("error: docs/guide/frameworks.md is not current; run `bindings/frameworks.sh PREFIX --write`")
sys.exit(failed)
