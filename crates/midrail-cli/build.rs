//! Links the program so that it starts with little work on Linux (docs/decisions/0019-fixed-address.md).

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for variable in ["MIDRAIL_PIE", "MIDRAIL_ORDER"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    let of_target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    if of_target("OS") != "linux" || of_target("ENV") != "gnu" || of_target("ARCH") != "x86_64" {
        return;
    }
    if has_static_unwinder() {
        println!("cargo:rustc-link-lib=static:-bundle=gcc_eh");
    }
    if let Some(order) = env::var_os("MIDRAIL_ORDER") {
        let order = order.to_string_lossy();
        println!("cargo:rerun-if-changed={order}");
        println!("cargo:rustc-link-arg-bins=-Wl,--symbol-ordering-file={order},--no-warn-symbol-ordering");
    }
    if env::var_os("MIDRAIL_PIE").is_none() {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}

/// Whether the C compiler has the unwinder as a static library. It saves every process from loading a library that is used after a
/// panic.
fn has_static_unwinder() -> bool {
    let is_native = env::var("HOST").is_ok_and(|host| env::var("TARGET").is_ok_and(|target| host == target));
    let output = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output();
    let path = output.ok().filter(|output| output.status.success());
    let path = path.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    // A library that is not found is printed as its name alone.
    is_native && path.is_some_and(|path| Path::new(&path).is_absolute() && Path::new(&path).is_file())
}
