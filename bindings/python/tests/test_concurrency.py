"""Threads, asyncio and fork."""

import asyncio
import multiprocessing
import os
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import midrail
from support import SECRET, FolderCase, memory

SESSIONS = 1_000


def with_counter(guard):
    """A guardrail that allows each session as many calls as its number, and keeps count."""

    @guard.guardrail("quota", tools=["step"], timeout=60)
    def quota(call):
        if call.state.get("calls", 0) >= 2:
            return "no more steps"
        return None

    @quota.on_result
    def count(call):
        call.state["calls"] = call.state.get("calls", 0) + 1
        call.state["session"] = call.event["session"]


class Sessions(unittest.TestCase):
    def test_1000_interleaved_sessions_are_not_mixed_up(self):
        guard = memory()

        def read(number):
            run = guard.session(f"s-{number}")
            with run.call("Read", {"file_path": f"/tmp/none/{number}.txt"}) as call:
                call.result = f"{number}: {SECRET}"
            return call.result

        with ThreadPoolExecutor(16) as pool:
            results = list(pool.map(read, range(SESSIONS)))
        for number, result in enumerate(results):
            self.assertRegex(result, rf"^{number}: \[redacted:aws-access-key#")

    def test_1000_interleaved_coroutines_are_not_mixed_up(self):
        guard = memory()

        async def read(number):
            run = guard.session(f"s-{number}")
            async with run.call("Read", {"file_path": f"/tmp/none/{number}.txt"}) as call:
                await asyncio.sleep(0)
                call.result = f"{number}: {SECRET}"
            return call.result

        async def all_of_them():
            return await asyncio.gather(*map(read, range(SESSIONS)))

        for number, result in enumerate(asyncio.run(all_of_them())):
            self.assertRegex(result, rf"^{number}: \[redacted:aws-access-key#")

    def test_the_states_of_interleaved_coroutines_are_not_mixed_up(self):
        guard = memory()
        with_counter(guard)

        async def work(number):
            run = guard.session(f"s-{number}")
            results = []
            for step in range(3):
                try:
                    async with run.call("step", {"number": number}) as call:
                        await asyncio.sleep(0)
                        call.result = f"{number}/{step}"
                    results.append(call.result)
                except midrail.Stopped as stopped:
                    results.append(str(stopped))
            return results

        async def all_of_them():
            return await asyncio.gather(*(work(number) for number in range(60)))

        for number, results in enumerate(asyncio.run(all_of_them())):
            self.assertEqual(results, [f"{number}/0", f"{number}/1", "no more steps"])


class Records:
    """Records what the engine is asked, through a guardrail that checks and observes everything."""

    def __init__(self, guard, slow=0.0):
        self.kinds = []
        self.failed = []

        @guard.guardrail("recorder", on=["before_tool", "after_tool"], timeout=30)
        def record(call):
            if call.event["kind"] == "before_tool":
                time.sleep(slow)
            else:
                self.failed.append(call.event["result"]["ok"])
            self.kinds.append(call.event["kind"])



class Cancellation(unittest.IsolatedAsyncioTestCase):
    async def closed(self, records):
        """Waits until every call that was opened is closed."""
        for _ in range(200):
            if records.kinds.count("before_tool") == records.kinds.count("after_tool") > 0:
                return
            await asyncio.sleep(0.05)
        self.fail(f"a call is half open: {records.kinds}")

    async def test_a_call_that_is_cancelled_while_it_runs_is_closed(self):
        guard = memory()
        records = Records(guard)

        async def work():
            async with guard.session().call("lookup", {"order": 7}):
                await asyncio.sleep(60)

        task = asyncio.create_task(work())
        while "before_tool" not in records.kinds:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        await self.closed(records)
        self.assertEqual(records.failed, [False])

    async def test_a_call_that_is_cancelled_while_it_is_decided_is_closed_and_does_not_run(self):
        guard = memory()
        records = Records(guard, slow=0.5)
        ran = []

        async def work():
            async with guard.session().call("lookup", {"order": 7}):
                ran.append(True)

        task = asyncio.create_task(work())
        await asyncio.sleep(0.2)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        await self.closed(records)
        self.assertEqual((ran, records.failed), ([], [False]))

    async def test_the_event_loop_runs_while_the_engine_decides(self):
        guard = memory()
        Records(guard, slow=0.3)
        decided = asyncio.create_task(guard.session().abefore_tool("lookup"))
        turns = 0
        while not decided.done():
            await asyncio.sleep(0.005)
            turns += 1
        self.assertTrue((await decided).allowed)
        self.assertGreater(turns, 20)

    async def test_the_event_is_read_before_anything_else_runs(self):
        seen = []
        guard = memory()
        guard.guardrail("mine", tools=["lookup"])(lambda call: seen.append(call.args["order"]))
        args = {"order": 7}
        # All threads of the pool are busy, so the event waits for one.
        busy = [asyncio.create_task(guard.session().abefore_tool("other")) for _ in range(40)]
        decided = asyncio.create_task(guard.session().abefore_tool("lookup", args))
        await asyncio.sleep(0)
        args["order"] = 8
        self.assertTrue((await decided).allowed)
        await asyncio.gather(*busy)
        self.assertEqual(seen, [7])

    async def test_every_method_has_an_asynchronous_variant(self):
        run = memory().session()
        decisions = [
            await run.abefore_tool("lookup", {"order": 7}),
            await run.aafter_tool("lookup", {"order": 7}, "sent"),
            await run.abefore_model("hello"),
            await run.aafter_model("hi"),
            await run.ahandoff("reviewer"),
            await run.abefore_stop("done"),
        ]
        self.assertTrue(all(decision.allowed for decision in decisions), decisions)
        self.assertEqual((await run.aerror("no such host")).effect, run.error("no such host").effect)
        stream = run.stream(max_bytes=0)
        self.assertEqual(await stream.apush("hello ") + await stream.aflush() + await stream.afinish(), "hello ")

    async def test_pieces_of_a_stream_that_are_pushed_at_the_same_time_keep_their_order(self):
        for _ in range(10):
            stream = memory().session().stream(max_bytes=0)
            pieces = ["The key is ", *SECRET, ", keep it"]
            shown = await asyncio.gather(*(stream.apush(piece) for piece in pieces), stream.afinish())
            self.assertRegex("".join(shown), r"^The key is \[redacted:aws-access-key#\w+\], keep it$")

    async def test_a_guarded_coroutine_function(self):
        run = memory().session()

        @run.guarded
        async def Bash(command):
            return f"{command}: {SECRET}"

        self.assertNotIn(SECRET, await Bash("env"))
        with self.assertRaises(midrail.Stopped):
            await Bash("rm -rf /etc")


def in_child(queue, run):
    allowed = run.before_tool("Bash", {"command": "ls"})
    blocked = run.before_tool("Bash", {"command": "rm -rf /etc"})
    mine = run.before_tool("merge")
    queue.put((allowed.to_dict(), blocked.effect, mine.reason))


class Fork(FolderCase):
    def guard(self):
        guard = midrail.Guard(packs=["midrail:default"], store=self.store)
        guard.guardrail("mine", tools=["merge"])(lambda call: f"not in process {os.getpid()}")
        return guard

    def test_a_forked_process_decides_for_itself(self):
        run = self.guard().session("forked")
        self.assertTrue(run.before_tool("Bash", {"command": "ls"}).allowed)
        asyncio.run(run.abefore_tool("Bash", {"command": "ls"}))  # Starts threads, which a child does not have.
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        children = [context.Process(target=in_child, args=(queue, run)) for _ in range(3)]
        for child in children:
            child.start()
        answers = [queue.get(timeout=60) for _ in children]
        for child in children:
            child.join(60)
            self.assertEqual(child.exitcode, 0)
        for allowed, blocked, mine in answers:
            self.assertEqual((allowed["effect"], blocked), ("allow", "block"))
            self.assertRegex(mine, r"^not in process \d+")
            self.assertNotIn(str(os.getpid()), mine)
        # All of them wrote to one intact log.
        last = run.before_tool("Bash", {"command": "ls"}).to_dict()["audit"]["seq"]
        self.assertEqual(last, 3 + 3 * len(children))
        self.midrail("audit", "verify", "--store", self.store)

    def test_a_fork_while_other_threads_decide(self):
        run = self.guard().session("busy")
        done = threading.Event()

        def work():
            while not done.is_set():
                run.before_tool("Bash", {"command": "ls"})

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(3):
                child = os.fork()
                if child == 0:
                    # No cleanup of the test runner in the child.
                    os._exit(0 if run.before_tool("Bash", {"command": "rm -rf /etc"}).effect == "block" else 1)
                self.assertEqual(os.waitpid(child, 0)[1], 0)
        finally:
            done.set()
            for thread in threads:
                thread.join()


if __name__ == "__main__":
    unittest.main()
