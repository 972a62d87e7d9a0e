//! Authentication and authorisation over HTTP.

mod bodies;
mod fixture;
mod http2;
mod keys;
mod limits;
mod people;
mod policy;
mod stop;
mod streams;
mod tls;
