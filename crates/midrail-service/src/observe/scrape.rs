//! `/metrics`: the figures of every project that the caller may access, and of the service.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use midrail::admin::open_approvals;
use midrail::metrics::{self, Bypasses, MetricsText, ProjectMetrics, Reviews};
use midrail::store::AuditStats;

use crate::access::{Caller, Right};
use crate::api::openapi::Content;
use crate::api::router::Api;
use crate::app::App;
use crate::blocking::blocking;
use crate::observe::process;
use crate::problem::HandlerResult;
use crate::project::Project;
use crate::stream_body::with_type;

pub(crate) fn routes(api: Api) -> Api {
    api.group("health")
        .get("/metrics", "metrics", "Return metrics in the Prometheus text format")
        .answers(200, "The metrics", Some(Content::text("text/plain")))
        .handler(Right::ReadAll, get(scraped))
}

/// The figures of one project.
struct Counted {
    project: Arc<Project>,
    figures: AuditStats,
    bypasses: Bypasses,
    reviews: Reviews,
    categories: BTreeMap<String, &'static str>,
    waiting: usize,
    counters: BTreeMap<String, u64>,
    paused: usize,
}

impl Counted {
    fn load(project: Arc<Project>) -> HandlerResult<Self> {
        let (engine, now) = (project.engine().clone(), project.engine().now());
        Ok(Counted {
            figures: project.store().audit_stats()?,
            bypasses: metrics::bypasses(&**project.store(), now)?,
            reviews: metrics::reviews(&**project.store(), now)?,
            categories: metrics::categories(&engine.policy()),
            waiting: open_approvals(&**project.store(), None, now)?.len(),
            counters: project.store().counters()?,
            paused: engine.admin().list::<midrail::core::Pause>()?.len(),
            project,
        })
    }
}

async fn scraped(State(app): State<App>, caller: Caller) -> HandlerResult<Response> {
    blocking(move || {
        let may_see = |project: &Arc<Project>| {
            project.name() == caller.project().name() || caller.identity().may_enter(project.name())
        };
        let visible = app.projects.all().into_iter().filter(may_see);
        let counted: Vec<Counted> = visible.map(Counted::load).collect::<HandlerResult<_>>()?;
        Ok(with_type("text/plain; version=0.0.4; charset=utf-8", text(&app, &counted)))
    })
    .await
}

fn text(app: &App, counted: &[Counted]) -> String {
    let measured: Vec<ProjectMetrics<'_>> = counted
        .iter()
        .map(|counted| ProjectMetrics {
            project: Some(counted.project.name()),
            figures: &counted.figures,
            bypasses: &counted.bypasses,
            reviews: counted.reviews,
            categories: &counted.categories,
        })
        .collect();
    let mut out = MetricsText(metrics::guardrails(&measured));
    out.head("midrail_decisions_total", "counter", "Events that were decided, by effect.");
    for one in counted {
        for (effect, count) in &one.figures.effects {
            let labels = [("project", one.project.name()), ("effect", effect.as_str())];
            out.sample("midrail_decisions_total", &labels, &count.to_string());
        }
    }
    let mut gauge = |name: &str, help: &str, value: &dyn Fn(&Counted) -> u64| {
        out.head(name, "gauge", help);
        for one in counted {
            out.sample(name, &[("project", one.project.name())], &value(one).to_string());
        }
    };
    let count = |many: usize| u64::try_from(many).unwrap_or(u64::MAX);
    gauge("midrail_approvals_waiting", "Requests that wait for a person.", &|one| count(one.waiting));
    gauge("midrail_audit_records", "Records of the audit log.", &|one| one.figures.seq);
    gauge("midrail_audit_unreadable", "Records that cannot be read.", &|one| one.figures.unreadable);
    gauge("midrail_pauses", "Pauses in force.", &|one| count(one.paused));
    gauge("midrail_policy_refused", "Changes of packs that were rejected.", &|one| {
        one.project.reloads().refused
    });
    out.head("midrail_counter_total", "counter", "Other counters, by name.");
    for one in counted {
        for (name, value) in &one.counters {
            out.sample(
                "midrail_counter_total",
                &[("project", one.project.name()), ("name", name)],
                &value.to_string(),
            );
        }
    }
    out.head("midrail_build_info", "gauge", "The version of the program.");
    out.sample("midrail_build_info", &[("version", env!("CARGO_PKG_VERSION"))], "1");
    if let Some(exporter) = &app.exporter {
        exporter.write(&mut out);
    }
    app.meter.write(&mut out);
    process::write(&mut out);
    out.0
}
