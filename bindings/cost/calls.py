"""Decides ordinary calls through the Python package: PACK STORE COUNT [async]."""

import asyncio
import sys

import midrail

pack, store, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
guard = midrail.Guard(packs=[pack], store=store)


def check(number: int, decision: midrail.Decision) -> None:
    if decision.effect != "allow":
        sys.exit(f"the call {number} was not allowed: {decision.reason}")


def blocking() -> None:
    for number in range(count):
        run = guard.session(f"s-{number // 100}")
        check(number, run.before_tool("Read", {"file_path": f"/tmp/none/{number}.txt"}))


async def awaited() -> None:
    for number in range(count):
        run = guard.session(f"s-{number // 100}")
        check(number, await run.abefore_tool("Read", {"file_path": f"/tmp/none/{number}.txt"}))


if sys.argv[4:] == ["async"]:
    asyncio.run(awaited())
else:
    blocking()
