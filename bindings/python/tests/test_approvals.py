"""Approvals by people, through the program and through the service."""

import asyncio
import threading
import time
import unittest

import midrail
from support import REFUNDS, SECRET, FolderCase


class Approvals(FolderCase):
    def setUp(self):
        super().setUp()
        self.answer = self.reviewer("--store", self.store)
        self.guard = midrail.Guard(packs=[self.write_pack(REFUNDS)], store=self.store)
        self.run_ = self.guard.session("chat-7", agent={"id": "desk-2"})
        self.refund = ("refund", {"order": 7, "amount": 250})

    def test_an_approval_lets_exactly_one_call_pass(self):
        decision = self.run_.before_tool(*self.refund)
        self.assertEqual((decision.effect, decision.approval.approver), ("escalate", "reviewer"))
        self.assertEqual(decision.approval.wait(0.3), "pending")
        self.answer(decision.approval)
        self.assertEqual(decision.approval.wait(30), "approved")
        self.assertEqual(self.run_.before_tool("refund", {"order": 8, "amount": 250}).effect, "escalate")
        self.assertEqual(self.run_.before_tool(*self.refund).effect, "allow")
        self.assertEqual(decision.approval.status(), "used")
        self.assertEqual(self.run_.before_tool(*self.refund).effect, "escalate")

    def test_a_denial_blocks(self):
        approval = self.run_.before_tool(*self.refund).approval
        self.answer(approval, "deny")
        self.assertEqual(approval.wait(30), "denied")
        self.assertFalse(self.run_.before_tool(*self.refund).allowed)

    def test_a_call_waits_for_its_approval(self):
        def approve():
            while not (pending := self.pending("--store", self.store)):
                time.sleep(0.1)
            self.answer(midrail.Approval(pending[0], None))

        thread = threading.Thread(target=approve)
        thread.start()
        with self.run_.call(*self.refund, wait=60) as call:
            call.result = "refunded"
        thread.join()
        self.assertEqual(call.result, "refunded")

    def test_a_call_without_an_answer_is_stopped(self):
        with self.assertRaises(midrail.Stopped) as stopped, self.run_.call(*self.refund, wait=0.3):
            self.fail("the tool ran")
        self.assertEqual(stopped.exception.decision.effect, "escalate")

    def test_a_coroutine_waits_for_its_approval(self):
        async def work():
            decision = await self.run_.abefore_tool(*self.refund)
            waiting = asyncio.create_task(decision.approval.wait_async(60))
            await asyncio.to_thread(self.answer, decision.approval)
            self.assertEqual(await waiting, "approved")
            async with self.run_.call(*self.refund, wait=60) as call:
                call.result = "refunded"
            return call.result

        self.assertEqual(asyncio.run(work()), "refunded")


class OverHttp(FolderCase):
    def test_a_service_decides_as_an_engine_in_the_process(self):
        self.write_pack("extends: [default]\n" + REFUNDS + "  - {use: secret-redaction, id: prompts, on: before_model}\n")
        store = ("--store", self.store)
        answer = self.reviewer(*store)
        run = midrail.Guard(url=self.serve(*store)).session("chat-7")
        self.assertEqual(run.before_tool("Bash", {"command": "rm -rf /etc"}).effect, "block")
        with run.call("Bash", {"command": "env"}) as call:
            call.result = f"KEY={SECRET}"
        self.assertNotIn(SECRET, call.result)
        approval = run.before_tool("refund", {"order": 7}).approval
        self.assertEqual(approval.wait(0.1), "pending")
        answer(approval)
        self.assertEqual(approval.wait(30), "approved")
        with run.call("refund", {"order": 7}) as call:
            call.result = "refunded"
        self.assertEqual(run.before_tool("refund", {"order": 7}).effect, "escalate")
        stream = run.stream(max_bytes=0)
        self.assertNotIn(SECRET, stream.push(SECRET[:9]) + stream.push(SECRET[9:]) + stream.finish())
        for new in (1, 0):
            first, second = run.conversation(["hello", f"my key is {SECRET}"], new=new)
            self.assertIn("my key is [redacted:aws-access-key", second.content)
            self.assertEqual("audit" in second.to_dict(), new == 1)
        self.assertTrue(first.allowed)
        [wrong] = run.conversation([{"kind": "before_model", "txt": "hello"}])
        self.assertEqual((wrong.effect, wrong.by), ("block", "midrail"))
        # A wrong field is an error of the program, and still a block.
        decision = run.decide({"kind": "before_tool", "tol": {}})
        self.assertEqual((decision.effect, decision.by), ("block", "midrail"))
        self.assertIn("tol", decision.reason)

    def test_no_service_is_no_permission(self):
        run = midrail.Guard(url="http://127.0.0.1:9", timeout=2).session()
        decision = run.before_tool("Bash", {"command": "ls"})
        self.assertEqual((decision.effect, decision.by), ("block", "midrail"))
        self.assertIn("cannot be reached", decision.reason)
        [decision] = run.conversation(["hello", "again"])
        self.assertEqual((decision.effect, decision.by), ("block", "midrail"))
        with self.assertRaises(midrail.MidrailError):
            midrail.Guard(url="http://127.0.0.1:9").guardrail("mine")(lambda call: None)


if __name__ == "__main__":
    unittest.main()
