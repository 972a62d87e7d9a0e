//! Routes of the API. Each is declared once: its path, the right it requires, its handler and its OpenAPI entry, whose
//! parameters and bodies follow from the types of the handler.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get, post};
use axum::{Json, Router};
use schemars::JsonSchema;
use serde::Serialize;

use crate::access::{Caller, KEY_HEADER, Right, Surface, guard, use_key_header};
use crate::api::input::Input;
use crate::api::openapi::{Content, Document, Operation, inline_schema};
use crate::app::App;
use crate::blocking::blocking;
use crate::observe::meter::measure;
use crate::problem::HandlerResult;

/// Routes and their OpenAPI document.
pub(crate) struct Api {
    app: App,
    tag: &'static str,
    pub(crate) router: Router<App>,
    pub(crate) document: Document,
}

impl Api {
    pub(crate) fn new(app: &App) -> Self {
        Api { app: app.clone(), tag: "", router: Router::new(), document: Document::default() }
    }

    /// The group that the following routes belong to.
    pub(crate) fn group(self, tag: &'static str) -> Self {
        Api { tag, ..self }
    }

    pub(crate) fn get(self, path: &'static str, id: &'static str, summary: &'static str) -> Route {
        self.operation("get", path, id, summary)
    }

    pub(crate) fn post(self, path: &'static str, id: &'static str, summary: &'static str) -> Route {
        self.operation("post", path, id, summary)
    }

    fn operation(
        self,
        method: &'static str,
        path: &'static str,
        id: &'static str,
        summary: &'static str,
    ) -> Route {
        let operation = Operation { method, path, id, tag: self.tag, summary, ..Operation::default() };
        Route { api: self, operation, status: StatusCode::OK, takes_key_header: false }
    }
}

/// A route that is being declared. It is added with its handler.
pub(crate) struct Route {
    api: Api,
    operation: Operation,
    status: StatusCode,
    takes_key_header: bool,
}

/// A handler that runs on a thread that may block.
type Handler<I, O> = fn(&Caller, I) -> HandlerResult<O>;

/// An answer that is returned as JSON.
pub(crate) trait Answer: Serialize + JsonSchema + Send + 'static {}

impl<O: Serialize + JsonSchema + Send + 'static> Answer for O {}

impl Route {
    /// The route answers 201.
    pub(crate) fn created(self) -> Self {
        Route { status: StatusCode::CREATED, ..self }
    }

    /// The route answers 204 without a body.
    pub(crate) fn no_content(self) -> Self {
        Route { status: StatusCode::NO_CONTENT, ..self }
    }

    /// The route waits for something, so it takes no slot and has no timeout.
    pub(crate) fn long(mut self) -> Self {
        self.operation.is_long = true;
        self
    }

    /// The route takes the key of a program from the header `x-api-key`, too.
    pub(crate) fn takes_key_header(mut self) -> Self {
        self.takes_key_header = true;
        self.header(KEY_HEADER, "The key of the program, in place of `Authorization: Bearer KEY`")
    }

    /// Documents problems of this route, in addition to those of every request.
    pub(crate) fn fails(mut self, problems: &[u16]) -> Self {
        self.operation.problems.extend(problems);
        self
    }

    /// Adds the route. Its handler runs on a thread that may block, and returns JSON.
    pub(crate) fn json<I: Input, O: Answer>(self, right: Right, handler: Handler<I, O>) -> Api {
        self.typed(right, handler, |_, _, _| {})
    }

    /// Adds a route that changes something: the change is logged, and cached credentials are dropped.
    pub(crate) fn act<I: Input, O: Answer>(self, right: Right, handler: Handler<I, O>) -> Api {
        self.fails(&[409]).typed(right, handler, |app, caller, change| {
            app.authenticator.forget();
            let (by, project) = (caller.identity.name(), caller.project.name());
            log::info!(by:%, project, change; "an administrative change was made");
        })
    }

    fn typed<I: Input, O: Answer>(
        mut self,
        right: Right,
        handler: Handler<I, O>,
        after: fn(&App, &Caller, &'static str),
    ) -> Api {
        let (status, id) = (self.status, self.operation.id);
        I::describe(&mut self.operation);
        let content = (status != StatusCode::NO_CONTENT).then(Content::json::<O>);
        self = self.answers(status.as_u16(), &description::<O>(), content);
        let run = move |State(app): State<App>, request: Request| async move {
            let (mut parts, mut body) = request.into_parts();
            let caller = Caller::from_request_parts(&mut parts, &app).await?;
            let input = I::read(&mut parts, &mut body, &app).await?;
            blocking(move || {
                let output = handler(&caller, input)?;
                after(&app, &caller, id);
                Ok(if status == StatusCode::NO_CONTENT {
                    status.into_response()
                } else {
                    (status, Json(output)).into_response()
                })
            })
            .await
        };
        if self.operation.method == "get" {
            self.handler(right, get(run))
        } else {
            self.handler(right, post(run))
        }
    }

    /// Adds a route with a handler of its own, whose inputs and answers are documented with `takes` and `answers`.
    pub(crate) fn handler(self, right: Right, method: MethodRouter<App>) -> Api {
        let Route { mut api, operation, takes_key_header, .. } = self;
        let (app, word, path, is_long) =
            (api.app.clone(), operation.method, operation.path, operation.is_long);
        let method = method.layer(from_fn(move |mut request: Request, next: Next| {
            let app = app.clone();
            if takes_key_header {
                use_key_header(request.headers_mut());
            }
            async move {
                let answer = guard(&app, right, (Surface::Api, is_long), request, next);
                measure(&app.meter, word, path, answer).await
            }
        }));
        api.router = api.router.route(operation.path, method);
        api.document.add(operation, right);
        api
    }

    /// Documents the inputs of a handler that is not typed.
    pub(crate) fn takes<I: Input>(mut self) -> Self {
        I::describe(&mut self.operation);
        self
    }

    /// Documents a body with a media type of its own.
    pub(crate) fn takes_body<T: JsonSchema>(mut self, media: &'static str) -> Self {
        self.operation.body = Some(Content::json_as::<T>(media));
        self
    }

    /// Documents a header.
    pub(crate) fn header(mut self, name: &str, description: &str) -> Self {
        let schema = inline_schema::<Option<String>>();
        self.operation.parameter("header", name, &description.into(), false, schema);
        self
    }

    /// Documents an answer of a handler that is not typed.
    pub(crate) fn answers(mut self, status: u16, description: &str, content: Option<Content>) -> Self {
        self.operation.answers.push((status, description.to_owned(), content));
        self
    }
}

/// What a type is, as its documentation says.
fn description<T: JsonSchema>() -> String {
    let schema = schemars::schema_for!(T);
    schema.get("description").and_then(|text| text.as_str()).unwrap_or("Done").to_owned()
}
