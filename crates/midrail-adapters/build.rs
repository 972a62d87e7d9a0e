//! Lists the hosts: every `src/hosts/NAME.rs` is a module `NAME` that has a static `HOST`.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("src/hosts");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut hosts = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let module =
                path.file_stem().and_then(|stem| stem.to_str()).ok_or("a host needs a name in UTF-8")?;
            hosts.push(format!("&{module}::HOST,\n"));
        }
    }
    hosts.sort();
    fs::write(Path::new(&env::var("OUT_DIR")?).join("hosts.rs"), format!("[\n{}]\n", hosts.concat()))?;
    Ok(())
}
