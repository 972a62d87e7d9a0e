//! The program as its users see it: what goes in, what comes out, and how it ends.

mod audit;
mod bad_input;
mod check;
mod demo;
mod explain;
mod lint;
mod policy;
mod replay;
mod schema;
mod shell;
mod test;
mod world;
