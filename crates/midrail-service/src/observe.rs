//! Observability: metrics, traces and logs.

pub(crate) mod meter;
pub(crate) mod otlp;
mod process;
mod scrape;

pub(crate) use scrape::routes;
