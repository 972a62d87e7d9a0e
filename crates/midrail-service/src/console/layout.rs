//! The frame of every page: head, navigation, help and error pages.

use jiff::Timestamp;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use midrail::admin::{group_by_call, open_approvals};

use super::assets;
use super::widgets;
use crate::access::{Caller, SignedIn};
use crate::api::admin::check_home;
use crate::app::App;
use crate::problem::{HandlerResult, Problem};

/// The navigation: path, name, the key after `g`, and an icon.
const TABS: [(&str, &str, &str, &str); 10] = [
    ("/", "Overview", "o", "M4 19V10M10 19V5M16 19v-7M22 19H2"),
    ("/live", "Live", "l", "M2 12h4l3-8 5 16 3-8h5"),
    ("/sessions", "Sessions", "s", "M12 7v5l3 2M3 12a9 9 0 1018 0 9 9 0 10-18 0"),
    ("/approvals", "Approvals", "a", "M9 12l2 2 4-4M12 3l8 3v6c0 5-3.5 8-8 9-4.5-1-8-4-8-9V6z"),
    ("/guardrails", "Guardrails", "g", "M3 9h18M3 15h18M6 5v14M12 5v14M18 5v14"),
    ("/policy", "Policy", "p", "M7 3h8l4 4v14H7a2 2 0 01-2-2V5a2 2 0 012-2zM9 11h6M9 15h6"),
    (
        "/audit",
        "Audit",
        "u",
        "M10 14a4 4 0 005.7 0l3-3a4 4 0 00-5.7-5.7l-1 1M14 10a4 4 0 00-5.7 0l-3 3a4 4 0 005.7 5.7l1-1",
    ),
    ("/mcp", "MCP servers", "m", "M9 3v5M15 3v5M6 8h12v4a6 6 0 01-12 0zM12 18v4"),
    ("/locks", "Locks", "c", "M5 11h14v10H5zM8 11V7a4 4 0 018 0v4"),
    ("/keys", "Keys", "k", "M3 17a4 4 0 108 0 4 4 0 10-8 0M10 14L20 4M16 8l3 3"),
];

/// The logo.
const MARK: &str = "<path d='M4 4v16M20 4v16M4 9h16M4 15h16'/>";

/// A request for a page: the caller, and the time by which the page is rendered.
pub(crate) struct View {
    pub(crate) app: App,
    pub(crate) caller: Caller,
    pub(crate) now: Timestamp,
}

/// The frame of a page: navigation, the caller and their project.
struct Frame<'v> {
    caller: &'v Caller,
    person: Option<&'v SignedIn>,
    tab: &'static str,
    /// The projects that the person may switch to.
    projects: Vec<String>,
    /// Requests that wait for an answer.
    waiting: usize,
}

impl View {
    pub(crate) fn new(app: App, caller: Caller) -> Self {
        let now = caller.project.engine().now();
        View { app, caller, now }
    }

    /// The number of requests that wait for an answer.
    pub(crate) fn waiting(&self) -> HandlerResult<usize> {
        Ok(group_by_call(open_approvals(&**self.caller.project.store(), None, self.now)?).len())
    }

    /// The whole page around its content. The tab is the path of a page of the navigation.
    pub(crate) fn page(
        &self,
        title: impl AsRef<str>,
        tab: &'static str,
        content: Markup,
    ) -> HandlerResult<Markup> {
        let person = self.caller.signed_in();
        let is_admin = person.is_some_and(SignedIn::is_home_admin);
        let projects = if is_admin { self.app.projects.names()? } else { Vec::new() };
        let frame = Frame { caller: &self.caller, person, tab, projects, waiting: self.waiting()? };
        Ok(html! {
            (DOCTYPE)
            html lang="en" {
                (head(title.as_ref(), person.map(|person| person.csrf.as_str())))
                body data-project=(self.caller.project.name()) data-waiting=(frame.waiting) data-live="/live/stream" {
                    a.skip href="#main" { "Skip to content" }
                    header.top {
                        a.brand href="/" aria-label="Midrail, overview" { (mark()) span { "Midrail" } }
                        (frame.side())
                    }
                    (frame.nav())
                    main #main tabindex="-1" { (content) }
                    div #toasts role="status" aria-live="polite" {}
                    (help())
                    (answer_dialog())
                }
            }
        })
    }
}

impl Frame<'_> {
    fn nav(&self) -> Markup {
        let is_shown = |tab: &(&str, &str, &str, &str)| tab.0 != "/keys" || check_home(self.caller).is_ok();
        html! {
            nav.main aria-label="Pages" {
                a.brand href="/" aria-label="Midrail, overview" { (mark()) span { "Midrail" } }
                @for (at, name, key, icon) in TABS.into_iter().filter(is_shown) {
                    a href=(at) data-go=(key) aria-current=[(at == self.tab).then_some("page")] {
                        svg.icon viewBox="0 0 24 24" aria-hidden="true" { path d=(icon) {} }
                        span.nav-name { (name) }
                        @if at == "/approvals" {
                            span.count #waiting hidden[self.waiting == 0] { (self.waiting) }
                        }
                    }
                }
                div.spring {}
                (self.side())
            }
        }
    }

    /// The logged-in person and the project.
    fn side(&self) -> Markup {
        let project = self.caller.project.name();
        html! {
            div.side {
                @if self.projects.len() > 1 {
                    label.switcher {
                        span.label { "Project" }
                        select data-switch-project aria-label="Project" {
                            @for name in &self.projects { option value=(name) selected[name == project] { (name) } }
                        }
                    }
                } @else {
                    div.where { span.label { "Project" } span.where-name { (widgets::short_line(project, 40)) } }
                }
                div.who {
                    @if let Some(person) = self.person {
                        span.who-name title=(widgets::short_line(&person.person.roles().join(", "), 80)) { (widgets::short_line(person.person.name(), 32)) }
                        button.link type="button" data-logout { "Log out" }
                    } @else {
                        span.who-name { "Not logged in" }
                        a href="/login" { "Log in" }
                    }
                }
                div.tools {
                    span.live-state data-state="off" title="Live updates" {
                        span.dot {} span.live-word { "offline" }
                    }
                    button.tool type="button" data-theme-switch aria-label="Light or dark" title="Light or dark" {
                        svg.icon viewBox="0 0 24 24" aria-hidden="true" { (PreEscaped("<path d='M21 12.800A9 9 0 1111.200 3 7 7 0 0021 12.800z'/>")) }
                    }
                    button.tool type="button" data-help aria-label="Keyboard help" title="Keyboard help (?)" { "?" }
                }
            }
        }
    }
}

fn mark() -> Markup {
    html! { svg.mark viewBox="0 0 24 24" aria-hidden="true" { (PreEscaped(MARK)) } }
}

fn head(title: &str, csrf: Option<&str>) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover";
            meta name="color-scheme" content="light dark";
            meta name="robots" content="noindex";
            @if let Some(csrf) = csrf { meta name="csrf" content=(csrf); }
            meta name="htmx-config" content=r#"{"includeIndicatorCSS":false}"#;
            title { (widgets::short_line(title, 80)) " · Midrail" }
            link rel="icon" type="image/svg+xml" href=(assets::at("icon.svg"));
            link rel="stylesheet" href=(assets::at("console.css"));
            script src=(assets::at("console.js")) {}
            script src=(assets::at("htmx.min.js")) defer {}
        }
    }
}

/// A page without navigation: the login page and error pages.
pub(crate) fn bare(title: &str, content: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(title, None))
            body.bare { main #main { div.bare-brand { (mark()) span { "Midrail" } } (content) } }
        }
    }
}

/// The page of a problem.
pub(crate) fn problem_page(Problem { title, status, detail, help, .. }: &Problem) -> Markup {
    let content = html! {
        section.card.problem {
            p.problem-code { (status) }
            h1 { (title) }
            p { (widgets::visible_text(detail)) }
            @if let Some(help) = help { p.muted { (widgets::visible_text(help)) } }
            p.actions { a.button href="/" { "Go to the overview" } a.button.quiet href="/login" { "Log in" } }
        }
    };
    bare(title, content)
}

/// A problem as a part of a page.
pub(crate) fn problem_part(Problem { title, detail, help, .. }: &Problem) -> Markup {
    html! {
        div.notice.bad role="alert" {
            strong { (title) } " " (widgets::visible_text(detail))
            @if let Some(help) = help { p { (widgets::visible_text(help)) } }
        }
    }
}

fn help() -> Markup {
    let keys: [(&str, &[&str], &str); 10] = [
        ("Move", &["j", "k"], "to the next or previous item"),
        ("Open", &["Enter"], "the selected item"),
        ("Approve", &["a"], "the selected request, after confirmation"),
        ("Deny", &["d"], "the selected request, after confirmation"),
        ("Revoke", &["t"], "an approval that is not used yet"),
        ("Search", &["/"], "Focus the first filter"),
        ("Pause", &["p"], "Pause or resume the live stream"),
        (
            "Go",
            &["g", "o"],
            "Overview; l Live, s Sessions, a Approvals, g Guardrails, p Policy, u Audit, m MCP servers, c Locks, k Keys",
        ),
        ("Back", &["Esc"], "Close this dialog, or leave a field"),
        ("Help", &["?"], "Show this dialog"),
    ];
    html! {
        dialog #help aria-labelledby="help-title" {
            h2 #help-title { "Keyboard" }
            dl.keys {
                @for (name, keys, what) in keys {
                    dt { @for key in keys { kbd { (key) } " " } }
                    dd { strong { (name) } " " span.muted { (what) } }
                }
            }
            form method="dialog" { button.button { "Close" } }
        }
    }
}

/// The dialog that confirms an answer. The script fills in the request.
fn answer_dialog() -> Markup {
    html! {
        dialog #answer aria-labelledby="answer-title" {
            form #answer-form autocomplete="off" {
                h2 #answer-title {}
                p.answer-what { code #answer-what {} }
                label.field { span.label #answer-label { "Reason (recorded)" } textarea #answer-note rows="3" maxlength="4000" {} }
                p.answer-follows.muted #answer-follows {}
                p.notice.bad #answer-error hidden role="alert" {}
                div.actions {
                    button.button #answer-confirm type="submit" { "Confirm" }
                    button.button.quiet #answer-cancel type="button" { "Cancel" }
                }
            }
        }
    }
}
