//! Gateways, from outside: the contract of each, attacks on the translation, and what all have in common.

mod agentgateway;
mod attacks;
mod common;
#[cfg(feature = "grpc")]
mod envoy;
mod fixture;
mod litellm;
mod portkey;
