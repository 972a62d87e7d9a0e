//! What machines are told of the service: metrics to scrape, traces and logs to send on.

pub(crate) mod meter;
pub(crate) mod otlp;
mod process;
mod scrape;

pub(crate) use scrape::routes;
