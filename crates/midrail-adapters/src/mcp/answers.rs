//! Answers of Midrail in place of those of a server: refusals that the model can act on, and errors.

use midrail::{Decision, Effect};
use serde_json::{Value, json};

use super::state::{GatedRequest, OpenRequest, OpenState, Proxy};
use crate::messages;
use crate::relay::{RelayOutput, Side};
use crate::rpc::Message;

/// The code of a refusal, outside of the codes that specifications reserve.
pub(super) const REFUSED: i64 = -31_000;
/// The code of an answer that never came, or that could not be read.
const NO_ANSWER: i64 = -31_001;

/// The code of a request with invalid parameters.
const INVALID_PARAMS: i64 = -32_602;

/// The reason of a refusal, for the model.
pub(super) fn reason(decision: &Decision) -> String {
    match (&decision.effect, &decision.approval) {
        (Effect::Halt, _) => messages::halt_message(decision),
        (Effect::Escalate, Some(approval)) => format!(
            "{}\nThis call waits for {}, approval {}. Repeat the same call later: the approval is for exactly these arguments, once.",
            messages::refusal(decision),
            approval.approver,
            approval.id
        ),
        _ => messages::refusal(decision),
    }
}

/// The answer to a request that is refused. A call of a tool has a result that the model reads.
pub(super) fn refusal(id: &Value, method: &str, is_modern: bool, decision: &Decision) -> Value {
    let text = reason(decision);
    if method == "tools/call" {
        return json!({"jsonrpc": "2.0", "id": id, "result": failed_call(&text, is_modern)});
    }
    let data = json!({"by": decision.by, "decision": decision.effect});
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": REFUSED, "message": text, "data": data}})
}

pub(super) fn failed_call(text: &str, is_modern: bool) -> Value {
    let mut result = json!({"content": [{"type": "text", "text": text}], "isError": true});
    if let Some(result) = result.as_object_mut().filter(|_| is_modern) {
        result.insert("resultType".to_owned(), json!("complete"));
    }
    result
}

impl Proxy {
    /// Answers a call without the name of a tool. Some servers make a text of anything that they receive as the name.
    pub(super) fn reject_call(&self, message: &Message, out: &mut RelayOutput) {
        let why = "Midrail did not forward this: `name` is not a text";
        if let Some(id) = &message.id {
            let error = json!({"code": INVALID_PARAMS, "message": why});
            out.send(Side::Client, &json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
        out.remarks.push("a call without the name of a tool was not forwarded".to_owned());
    }

    /// Answers the sender of a message that is not forwarded.
    pub(super) fn refuse(&mut self, request: &GatedRequest, decision: &Decision, out: &mut RelayOutput) {
        if let Some(id) = &request.id {
            self.open(request.from).remove(&crate::rpc::key(id));
            out.send(request.from, &refusal(id, &request.method, request.is_modern, decision));
        }
        let what = decision.reason.lines().next().unwrap_or_default();
        out.remarks.push(format!("{} was not forwarded: {what}", request.method));
    }

    /// Answers an open request of the client that gets no answer.
    pub(super) fn fail(&self, open: &OpenRequest, why: &str, out: &mut RelayOutput) {
        if open.method == "tools/call" {
            let result = failed_call(&format!("Midrail: {why}"), open.is_modern);
            return out.answer(Side::Client, Some(&open.id), result);
        }
        let error = json!({"code": NO_ANSWER, "message": format!("Midrail: {why}")});
        out.send(Side::Client, &json!({"jsonrpc": "2.0", "id": open.id, "error": error}));
    }

    /// Answers all requests that wait for an approver with the reason.
    pub(super) fn fail_held_requests(&mut self, out: &mut RelayOutput) {
        let held = std::mem::take(&mut self.held).into_values();
        for held in held.filter(|held| held.request.from == Side::Client) {
            let key = held.request.id.as_ref().map(crate::rpc::key).unwrap_or_default();
            if let Some(open) = self.open(held.request.from).remove(&key) {
                self.fail(&open, &held.reason, out.on(open.stream));
            }
        }
    }

    /// Answers requests of the client that the server has received.
    pub(super) fn fail_open_requests(
        &mut self,
        why: &str,
        is_failed: impl Fn(&OpenRequest) -> bool,
        out: &mut RelayOutput,
    ) {
        let open = self.open(Side::Client);
        let failed: Vec<OpenRequest> = open
            .extract_if(.., |_, open| matches!(open.state, OpenState::Forwarded(_)) && is_failed(open))
            .map(|(_, open)| open)
            .collect();
        for open in failed {
            self.fail(&open, why, out.on(open.stream));
        }
    }
}
