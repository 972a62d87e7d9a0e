//! Questions of Midrail to the user of the client, about a call that only the user may allow. With `initialize`, the client receives a
//! request; in the era without it, a result whose state is sealed, because the answer may come to another process.

use midrail::{Decision, Effect, Engine};
use serde_json::{Value, json};

use super::answers;
use super::sealed_questions::{ANSWER_MEMBERS, SealedQuestions};
use super::splice::Span;
use super::state::{GatedRequest, OpenRequest, OpenState, Proxy};
use crate::relay::{RelayOutput, Side};
use crate::rpc::{self, Line, Message};

/// The methods whose results can ask for input.
const ASKING: &[&str] = &["tools/call", "resources/read", "prompts/get"];

/// The name of Midrail's question among those of a result.
const QUESTION: &str = "midrail";

/// How much of the arguments a question shows.
const MAX_SHOWN: usize = 2_000;

impl Proxy {
    /// Asks the user of clients that keep no connection, with sealed questions.
    #[must_use]
    pub fn asking(mut self, questions: SealedQuestions) -> Self {
        self.questions = Some(questions);
        self
    }

    /// Whether the user of the client can be asked about a request.
    pub(super) fn can_ask(&self, method: &str, message: &Message, is_modern: bool) -> bool {
        if !is_modern {
            return self.can_elicit;
        }
        let capabilities = message.param("_meta").and_then(|meta| meta.get(CAPABILITIES));
        let can_elicit = capabilities.is_some_and(|capabilities| capabilities.get("elicitation").is_some());
        can_elicit && self.questions.is_some() && ASKING.contains(&method)
    }

    /// Asks the user of the client in Midrail's name.
    pub(super) fn ask_user(&mut self, request: GatedRequest, decision: &Decision, out: &mut RelayOutput) {
        // A pack can forbid questions to the user.
        let call = request.events.front().and_then(|event| event.tool.as_ref());
        let about = json!({"about": call.map(|call| call.name.as_str())});
        let allowed = (self.decide)(self.elicitation(&request.session, &about));
        if allowed.effect >= Effect::Block {
            return self.refuse(&request, decision, out);
        }
        let question = question(&request, decision);
        if request.is_modern {
            return self.ask_sealed(&request, question, decision, out);
        }
        let id = self.requests.own_id();
        let question =
            json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": question});
        out.send(Side::Client, &question);
        let open = OpenRequest {
            stream: request.stream,
            id: id.clone(),
            method: "elicitation/create".to_owned(),
            session: request.session.clone(),
            is_modern: request.is_modern,
            state: OpenState::Question(Box::new(request)),
        };
        self.open(Side::Server).insert(rpc::key(&id), open);
    }

    /// The user has answered a question of Midrail.
    pub(super) fn user_answered(
        &mut self,
        mut request: GatedRequest,
        answer: &Message,
        out: &mut RelayOutput,
    ) {
        // Over HTTP, the answer came with another request than the one that it is about.
        let out = out.on(request.stream);
        if answer.result().is_some_and(allows) {
            request.events.pop_front();
            return self.gate(request, out);
        }
        self.refuse(&request, &not_allowed(), out);
    }

    /// Answers a request with a question. What the client sent for the server is kept in the seal.
    fn ask_sealed(
        &mut self,
        request: &GatedRequest,
        question: Value,
        decision: &Decision,
        out: &mut RelayOutput,
    ) {
        let sealed = match (&self.questions, request.events.front(), answer_members(&request.line)) {
            (Some(questions), Some(event), Some(kept)) => (questions.seal)(event, &kept),
            _ => Err("there is nothing to ask".to_owned()),
        };
        let Ok(state) = sealed else { return self.refuse(request, decision, out) };
        let Some(id) = &request.id else { return };
        self.open(request.from).remove(&rpc::key(id));
        let requests = json!({QUESTION: {"method": "elicitation/create", "params": question}});
        let result =
            json!({"resultType": "input_required", "inputRequests": requests, "requestState": state});
        out.answer(Side::Client, Some(id), result);
    }

    /// If a request answers a question of Midrail, returns it as it was before the question. `Err`: the call may not be made.
    pub(super) fn answered(
        &self,
        session: &str,
        method: &str,
        message: &Message,
    ) -> Result<Option<Message>, Box<Decision>> {
        let Some(state) = message.text("requestState").filter(|state| Engine::is_question(state)) else {
            return Ok(None);
        };
        let answer = message.param("inputResponses").and_then(|answers| answers.get(QUESTION));
        let is_allowed = answer.is_some_and(allows);
        let event = self.before_tool(session, method, &self.call(method, message), super::events::CALL);
        let opened = match &self.questions {
            Some(questions) => (questions.open)(&event, state, is_allowed),
            None => Err("this server asked nothing".to_owned()),
        };
        let kept = opened.map_err(|why| invalid_answer(&why))?;
        if !is_allowed {
            return Err(not_allowed().into());
        }
        let asked = with_answer_members(&message.line, &kept);
        asked.map(Some).ok_or_else(|| invalid_answer("it cannot be read").into())
    }
}

/// The member of `_meta` with what the client can do.
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The parameters of the question about a request.
fn question(request: &GatedRequest, decision: &Decision) -> Value {
    let call = request.events.front().and_then(|event| event.tool.as_ref());
    let args = call.map(|call| Value::Object(call.args.clone()).to_string()).unwrap_or_default();
    let args: String = args.chars().take(MAX_SHOWN).collect();
    let name = call.map_or("", |call| call.name.as_str());
    let message = format!("{}\n\n{name} {args}", answers::reason(decision));
    let schema = json!({"type": "object", "required": ["allow"], "properties": {"allow": {"type": "boolean",
        "title": "Allow this call once"}}});
    json!({"message": message, "requestedSchema": schema})
}

/// Whether the result of a question allows the call.
fn allows(result: &Value) -> bool {
    result.get("action").is_some_and(|action| action == "accept")
        && result.pointer("/content/allow") == Some(&Value::Bool(true))
}

fn refused(reason: String, advice: Option<String>) -> Decision {
    Decision { effect: Effect::Block, by: Some("midrail".into()), reason, advice, ..Decision::default() }
}

fn not_allowed() -> Decision {
    refused("the user did not allow it".to_owned(), None)
}

fn invalid_answer(why: &str) -> Decision {
    let advice = "Repeat the call without `requestState`, so that the user is asked again.";
    refused(
        format!("the answer to the question about this call is not valid: {why}"),
        Some(advice.to_owned()),
    )
}

/// The text of the members of a request that answer a question of the server.
fn answer_members(line: &str) -> Option<String> {
    let root = Span::of(line)?;
    Some(root.member(line, "params")?.members(line, |name| ANSWER_MEMBERS.contains(&name)).join(","))
}

/// A request with other members that answer a question of the server, or with none.
fn with_answer_members(line: &str, members: &str) -> Option<Message> {
    let root = Span::of(line)?;
    let params = root.member(line, "params")?;
    let mut parts = params.members(line, |name| !ANSWER_MEMBERS.contains(&name));
    parts.extend(Some(members).filter(|members| !members.is_empty()));
    let mut edits = super::splice::Edits::default();
    edits.replace(params.range.clone(), format!("{{{}}}", parts.join(",")));
    match rpc::read(edits.apply(line).as_bytes()) {
        Ok(Line::Message(message)) => Some(message),
        _ => None,
    }
}
