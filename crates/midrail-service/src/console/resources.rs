//! Pages of administrative resources: the list that `midrail::admin` describes, with the actions of the API.

use maud::{Markup, html};
use midrail::admin::{ApiKey, Lock, Resource};
use serde_json::{Value, json};

use super::layout::View;
use super::widgets;
use crate::access::Right;
use crate::api::admin::check_home;
use crate::problem::HandlerResult;

pub(crate) fn locks(view: &View, (): ()) -> HandlerResult<Markup> {
    let may_break = view.caller.may(Right::Answer);
    page::<Lock>(view, "/locks", html! {}, |lock| {
        html! { @if may_break { (action("Release", "/v1/locks/break", &json!({"path": lock.path}))) } }
    })
}

pub(crate) fn keys(view: &View, (): ()) -> HandlerResult<Markup> {
    check_home(&view.caller)?;
    let form = html! {
        form.filters data-post="/v1/keys" {
            label { span.label { "Name" } input name="name" required autocomplete="off"; }
            label { span.label { "Projects" } input name="projects" value="default" data-list; }
            label { span.label { "Agents" } input name="agents" placeholder="all" data-list; }
            label { span.label { "Rights" } input name="rights" value="decide, ask" data-list; }
            label { span.label { "Requests per minute" } input name="per_minute" type="number" min="1" placeholder="no limit"; }
            button.button type="submit" { "Create key" }
        }
        p.notice #made hidden { "This key is shown only once: " code.break {} }
    };
    page::<ApiKey>(view, "/keys", form, |key| {
        let path = format!("/v1/keys/{}/revoke", widgets::escape(&key.id));
        html! { @if !key.is_revoked() { (action("Revoke", &path, &json!({}))) } }
    })
}

/// The page of a resource.
fn page<R: Resource>(
    view: &View,
    tab: &'static str,
    form: Markup,
    action: impl Fn(&R) -> Markup,
) -> HandlerResult<Markup> {
    let records = R::list(view.caller.project.engine().admin())?;
    view.page(
        R::TITLE,
        tab,
        html! {
            div.page-head { h1 { (R::TITLE) } }
            (form)
            section.card.flush {
                @if records.is_empty() { (widgets::empty(R::EMPTY, html! {})) }
                @else { (widgets::resource(&records, view.now, |_| None, action)) }
            }
        },
    )
}

/// A button that sends a request to the API, after confirmation.
fn action(name: &str, path: &str, body: &Value) -> Markup {
    html! { button.button.quiet type="button" data-post=(path) data-body=(body.to_string()) { (name) } }
}
