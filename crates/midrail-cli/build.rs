//! Links the program to a fixed address on Linux (docs/decisions/0019-a-fixed-address.md).

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=MIDRAIL_PIE");
    if env::var_os("MIDRAIL_PIE").is_some() {
        return;
    }
    let of_target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    if of_target("OS") == "linux" && of_target("ENV") == "gnu" && of_target("ARCH") == "x86_64" {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
