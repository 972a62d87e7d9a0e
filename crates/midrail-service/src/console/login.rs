//! The login page. Its script sends the key to the API, which answers with a cookie.

use axum::extract::State;
use maud::{Markup, html};
use serde::Deserialize;

use super::layout;
use crate::api::input::{Query, Read};
use crate::app::App;
use crate::problem::HandlerResult;

#[derive(Deserialize, schemars::JsonSchema)]
pub(crate) struct PageQuery {
    next: Option<String>,
}

pub(crate) async fn page(
    State(app): State<App>,
    Read(Query(query)): Read<Query<PageQuery>>,
) -> HandlerResult<Markup> {
    let setup = app.authenticator.setup().await?;
    Ok(layout::bare(
        "Log in",
        html! {
            section.card.login {
                h1 { "Log in" }
                @if !setup.people {
                    div.notice {
                        strong { "There are no approvers yet." }
                        p { "Add the first approver on the machine that runs this service:" }
                        pre.code { code { "midrail approver add NAME --role human_operator" } }
                    }
                }
                form #login data-next=(own_place(query.next.as_deref())) {
                    label.field { span.label { "Name" } input name="name" autocomplete="username" required autofocus spellcheck="false" autocapitalize="none"; }
                    label.field { span.label { "Approver key" } input name="key" type="password" autocomplete="current-password" required; }
                    details { summary { "Use another project" }
                        label.field { span.label { "Project" } input name="project" placeholder="default" autocomplete="off" spellcheck="false" autocapitalize="none"; }
                    }
                    p.notice.bad #login-error hidden role="alert" {}
                    button.button type="submit" { "Log in" }
                }
                p.muted { "Use the key that " code { "midrail approver add" } " printed. It is only sent to this service." }
            }
        },
    ))
}

/// The page after login: a path of this console, never another site.
fn own_place(next: Option<&str>) -> String {
    let is_own = |next: &&str| {
        let mut chars = next.chars();
        chars.next() == Some('/')
            && !matches!(chars.next(), Some('/' | '\\'))
            && !next.chars().any(char::is_control)
    };
    next.filter(is_own).filter(|next| !next.starts_with("/login")).unwrap_or("/").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn login_redirects_only_within_the_console() {
        for elsewhere in [
            "https://evil.example",
            "//evil.example",
            "/\\evil.example",
            "javascript:alert(1)",
            "",
            "/\t/x",
            "/login?next=/login",
        ] {
            assert_eq!(own_place(Some(elsewhere)), "/", "{elsewhere}");
        }
        assert_eq!(own_place(Some("/approvals/a%2Fb?x=1")), "/approvals/a%2Fb?x=1");
    }
}
