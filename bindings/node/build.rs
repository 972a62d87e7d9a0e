//! Passes the linker what a library that Node loads needs.

fn main() {
    napi_build::setup();
}
