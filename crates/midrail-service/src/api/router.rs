//! Routes of the API. Each is declared once: its path, the right it requires, its handler and its OpenAPI entry.

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::routing::MethodRouter;

use crate::access::{Right, Surface, guard, place};
use crate::api::openapi::{Document, Lifetime, Operation};
use crate::app::App;
use crate::observe::meter::measure;

/// Routes and their OpenAPI document.
pub(crate) struct Api {
    app: App,
    pub(crate) router: Router<App>,
    pub(crate) document: Document,
}

impl Api {
    pub(crate) fn new(app: &App) -> Self {
        Api { app: app.clone(), router: Router::new(), document: Document::default() }
    }

    /// Adds a route. Only callers with the right reach its handler.
    pub(crate) fn route(
        mut self,
        operation: Operation,
        right: Right,
        lifetime: Lifetime,
        method: MethodRouter<App>,
    ) -> Self {
        let (app, word, path) = (self.app.clone(), operation.method, operation.path);
        let method = method.layer(from_fn(move |request: Request, next: Next| {
            let app = app.clone();
            async move {
                let handler = |request| async {
                    match lifetime {
                        Lifetime::Short => place(&app, next.run(request)).await,
                        Lifetime::Long => next.run(request).await,
                    }
                };
                measure(&app.meter, word, path, guard(&app, right, Surface::Api, request, handler)).await
            }
        }));
        self.router = self.router.route(operation.path, method);
        self.document.add(operation, right, lifetime);
        self
    }
}
