//! Every page with hostile records: their text never becomes markup.

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use midrail::core::{McpServer, OfferedTool};
use midrail::{Agent, Event, EventKind, Load, Task, ToolResult};
use serde_json::json;
use tower::ServiceExt;

use super::widgets;
use crate::app::App;
use crate::config::{At, Config};
use crate::project::HOME;
use crate::server::router;

const EVIL: [&str; 4] = [
    "<img src=x onerror=\"alert(1)\">",
    "</script><script>alert(2)</script>",
    "\"><svg onload=alert(3)>'",
    "javascript:alert(4)\u{202e}\u{7}",
];

fn app() -> App {
    let load = Load { packs: vec!["midrail:default".into()], ..Load::default() };
    App::open(Config::new(At::Address(([127, 0, 0, 1], 0).into()), load)).unwrap()
}

/// Events that hold a text wherever an event can hold one.
fn events(text: &str) -> Vec<Event> {
    let mut agent: Agent = serde_json::from_value(json!({"id": text, "role": text})).unwrap();
    agent.allowed_tools = None;
    let task: Task = serde_json::from_value(json!({"id": text, "goal": text})).unwrap();
    let args = json!({"command": format!("rm -rf $DIR # {text}"), text: {text: [text]}});
    let mut events = vec![
        Event::before_tool("Bash", args.clone()),
        Event::before_tool(text, args.clone()),
        Event::after_tool(
            text,
            args,
            ToolResult::failed(json!({text: format!("{text} AKIAQ4ZTX7RK2MPLWN3J")})),
        ),
        Event { text: Some(text.to_owned()), ..Event::new(EventKind::BeforeModel) },
        Event {
            output: Some(json!(text)),
            stop_reason: Some(text.to_owned()),
            ..Event::new(EventKind::BeforeStop)
        },
        Event {
            error: serde_json::from_value(json!({"message": text, "kind": text})).unwrap(),
            ..Event::new(EventKind::OnError)
        },
        Event {
            handoff: serde_json::from_value(json!({"to": text, "rationale": text})).unwrap(),
            ..Event::new(EventKind::BeforeHandoff)
        },
    ];
    for event in &mut events {
        event.session = Some(text.to_owned());
        event.parent = Some(text.to_owned());
        event.cwd = Some(text.to_owned());
        event.agent = Some(agent.clone());
        event.task = Some(task.clone());
    }
    events
}

/// An MCP server that has a text wherever a server can have one.
fn offer(text: &str, key: &str, of_tool: String) -> Event {
    let launch = Some(text.to_owned());
    let server = McpServer { name: text.to_owned(), key: key.to_owned(), transport: None, launch };
    let tool = OfferedTool { name: text.to_owned(), hash: of_tool.clone(), text: of_tool, annotations: None };
    let event =
        Event { server: Some(server), tools: Some(vec![tool]), ..Event::new(EventKind::ToolsOffered) };
    event.in_session(text)
}

async fn get(app: &App, path: &str) -> (StatusCode, String) {
    let request = Request::get(path).header(header::ACCEPT, "text/html").body(Body::empty()).unwrap();
    let response = router(app).oneshot(request).await.unwrap();
    let status = response.status();
    let bytes = to_bytes(response.into_body(), 64 << 20).await.unwrap();
    (status, String::from_utf8(bytes.to_vec()).unwrap())
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(work)
}

#[test]
fn hostile_records_stay_text_on_every_page() {
    let app = app();
    let project = app.projects.get(HOME).unwrap();
    let mut places: Vec<String> = [
        "/",
        "/?range=7d",
        "/live",
        "/sessions",
        "/approvals",
        "/approvals?show=all",
        "/guardrails",
        "/guardrails/safety-001",
        "/policy",
        "/audit",
        "/mcp",
        "/mcp/pins/nothing",
        "/locks",
        "/keys",
        "/login",
    ]
    .map(str::to_owned)
    .into();
    for text in EVIL {
        let (admin, lasts) = (project.engine().admin(), std::time::Duration::from_secs(60));
        admin.take_lock(std::path::Path::new(text), text, text, lasts).unwrap();
        let key = format!("sha256:{}", places.len());
        places.push(format!("/mcp/pins/{}", widgets::escape(&key)));
        for text_of_tool in [text.to_owned(), format!("{text} AKIAQ4ZTX7RK2MPLWN3J <IMPORTANT> obey")] {
            project.engine().decide(offer(text, &key, text_of_tool));
        }
        for event in events(text) {
            let decision = project.engine().decide(event);
            places.extend(
                decision.approval.iter().map(|query| format!("/approvals/{}", widgets::escape(&query.id))),
            );
            places.extend(
                decision.audit.0.iter().flat_map(|audit| {
                    [format!("/audit/{}", audit.seq), format!("/audit/{}/part", audit.seq)]
                }),
            );
        }
        let part = widgets::escape(text);
        places.extend([
            format!("/sessions/{part}"),
            format!("/sessions?q={part}"),
            format!("/live?session={part}&tool={part}&guardrail={part}"),
            format!("/audit?session={part}&tool={part}&guardrail={part}"),
            format!("/policy?from={part}&to={part}x"),
            format!("/policy/{part}"),
            format!("/guardrails/{part}"),
            format!("/approvals/{part}"),
            format!("/login?next={part}"),
            format!("/{part}"),
        ]);
    }
    assert!(places.iter().filter(|place| place.starts_with("/approvals/")).count() > EVIL.len());
    block_on(async {
        for place in places {
            let (status, page) = get(&app, &place).await;
            assert!(!status.is_server_error(), "{place}: {status}");
            for bad in [
                "<img",
                "<svg onload",
                "<script>",
                "style=",
                "javascript:alert(4)\"",
                "href=\"javascript",
                "AKIAQ4ZTX7RK2MPLWN3J",
            ] {
                let around = page.find(bad).map(|at| {
                    page.chars()
                        .skip(page[..at].chars().count().saturating_sub(60))
                        .take(160)
                        .collect::<String>()
                });
                assert_eq!(around, None, "{place} holds {bad}");
            }
            // A field shows what was typed as it was typed.
            assert!(place.contains('?') || !page.contains('\u{202e}'), "{place} hides something");
        }
    });
}

#[test]
fn pages_redirect_to_login_when_there_are_approvers() {
    let app = app();
    block_on(async {
        assert_eq!(get(&app, "/sessions").await.0, StatusCode::OK);
        app.projects
            .get(HOME)
            .unwrap()
            .engine()
            .admin()
            .add_approver("ann", &["reviewer".to_owned()], None)
            .unwrap();
        app.authenticator.forget();
        assert_eq!(get(&app, "/sessions").await.0, StatusCode::SEE_OTHER);
        let (status, page) = get(&app, "/login").await;
        assert_eq!(status, StatusCode::OK);
        assert!(page.contains("Approver key") && !page.contains("There are no approvers yet"), "{page}");
        let (status, page) = get(&app, "/nowhere").await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        assert!(page.contains("<h1>"), "{page}");
    });
}

#[test]
fn every_effect_has_its_colours() {
    let css = include_str!("assets/console.css");
    for effect in midrail::Effect::LADDER {
        let name = effect.as_str();
        for class in [".fx-", ".fill-"].map(|prefix| format!("{prefix}{name}")) {
            let mut selectors = css.split('}').flat_map(|rule| rule.split('{').next().unwrap().split(','));
            assert!(selectors.any(|selector| selector.trim() == class), "{class}");
        }
        assert_eq!(css.matches(&format!("--fx-{name}: ")).count(), 3, "{name} has a colour in each theme");
    }
}
