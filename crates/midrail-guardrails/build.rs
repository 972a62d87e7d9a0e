//! Lists the built-in guardrails: every page `src/NAME.md` belongs to a module `NAME` that has a constant `BUILTIN`.
#![expect(clippy::disallowed_methods, reason = "a build script reads the sources")]

use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let source = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("src");
    println!("cargo::rerun-if-changed={}", source.display());
    let mut pages = Vec::new();
    for entry in fs::read_dir(&source)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    let mut list = String::from("[\n");
    for page in pages {
        let module = page.file_stem().and_then(|stem| stem.to_str()).ok_or("a page needs a name in UTF-8")?;
        let name = module.replace('_', "-");
        let page = page.to_str().ok_or("the path of a page is UTF-8")?;
        writeln!(list, "crate::{module}::BUILTIN.with_page({name:?}, include_str!({page:?})),")?;
    }
    list.push_str("]\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("catalogue.rs"), list)?;
    Ok(())
}
