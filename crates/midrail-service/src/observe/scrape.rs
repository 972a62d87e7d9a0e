//! `/metrics`: the figures of every project that the caller may access, and of the service.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use midrail::admin::Stats;
use midrail::metrics::{self, MetricsText, ProjectMetrics};

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

async fn scraped(State(app): State<App>, caller: Caller) -> HandlerResult<Response> {
    blocking(move || {
        let may_see = |project: &Arc<Project>| {
            project.name() == caller.project.name() || caller.identity.may_enter(project.name())
        };
        let projects: Vec<Arc<Project>> = app.projects.all().into_iter().filter(may_see).collect();
        Ok(with_type("text/plain; version=0.0.4; charset=utf-8", text(&app, &projects)?))
    })
    .await
}

fn text(app: &App, projects: &[Arc<Project>]) -> HandlerResult<String> {
    let load = |project: &Arc<Project>| {
        let (policy, now) = (project.engine().policy(), project.engine().now());
        let mut measured = ProjectMetrics::load(&**project.store(), Some(&policy), None, now)?;
        measured.project = Some(project.name().to_owned());
        Ok(measured)
    };
    let measured: Vec<ProjectMetrics> = projects.iter().map(load).collect::<HandlerResult<_>>()?;
    let mut out = MetricsText(metrics::guardrails(&measured));
    let decisions = measured.iter().flat_map(|one| {
        let effects = one.stats.figures.effects.iter();
        effects.map(|(effect, count)| (one.labels(&[("effect", effect.as_str())]), count))
    });
    out.family("midrail_decisions_total", "counter", "Events that were decided, by effect.", decisions);
    let mut gauge = |name: &str, help: &str, value: &dyn Fn(&Stats) -> u64| {
        out.family(name, "gauge", help, measured.iter().map(|one| (one.labels(&[]), value(&one.stats))));
    };
    let count = |many: usize| u64::try_from(many).unwrap_or(u64::MAX);
    gauge("midrail_approvals_waiting", "Requests that wait for a person.", &|stats| {
        count(stats.open_approvals)
    });
    gauge("midrail_audit_records", "Records of the audit log.", &|stats| stats.figures.seq);
    gauge("midrail_audit_unreadable", "Records that cannot be read.", &|stats| stats.figures.unreadable);
    gauge("midrail_pauses", "Pauses in force.", &|stats| count(stats.paused.len()));
    let refused = projects.iter().map(|it| (vec![("project", it.name())], it.reloads().refused));
    out.family("midrail_policy_refused", "gauge", "Changes of packs that were rejected.", refused);
    let revisions: Vec<String> =
        projects.iter().map(|project| project.engine().policy().revision().to_string()).collect();
    let in_force = projects.iter().zip(&revisions);
    let info = in_force
        .clone()
        .map(|(project, revision)| (vec![("project", project.name()), ("revision", revision.as_str())], 1));
    out.family("midrail_policy_info", "gauge", "The policy that this instance enforces.", info);
    let running = projects
        .iter()
        .map(|project| (vec![("project", project.name())], count(project.membership.running().len())));
    out.family("midrail_instances", "gauge", "Running instances on the store.", running);
    let drifted = in_force.map(|(project, revision)| {
        (vec![("project", project.name())], count(project.membership.drifted(revision).len()))
    });
    out.family("midrail_policy_drift", "gauge", "Running instances that enforce another policy.", drifted);
    let counters = measured.iter().flat_map(|one| {
        one.stats.counters.iter().map(|(name, value)| (one.labels(&[("name", name)]), value))
    });
    out.family("midrail_counter_total", "counter", "Other counters, by name.", counters);
    let version = [(vec![("version", env!("CARGO_PKG_VERSION"))], 1)];
    out.family("midrail_build_info", "gauge", "The version of the program.", version);
    if let Some(exporter) = &app.exporter {
        exporter.write(&mut out);
    }
    app.meter.write(&mut out);
    process::write(&mut out);
    Ok(out.0)
}
