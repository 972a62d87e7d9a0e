//! Compiles the JavaScript that runs before every script. Parsing it in each process would take longer than everything
//! else that a process does for one event.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "scripts")]
    prelude::compile()?;
    Ok(())
}

#[cfg(feature = "scripts")]
mod prelude {
    use std::error::Error;
    use std::path::Path;
    use std::{env, fs};

    use rquickjs::module::{WriteOptions, WriteOptionsEndianness};
    use rquickjs::{CatchResultExt, Context, Module, Runtime};

    const SOURCES: &str = "src/scripts/prelude";

    pub(crate) fn compile() -> Result<(), Box<dyn Error>> {
        println!("cargo::rerun-if-changed={SOURCES}");
        let out = env::var("OUT_DIR")?;
        let runtime = Runtime::new()?;
        let context = Context::full(&runtime)?;
        for entry in fs::read_dir(SOURCES)? {
            let path = entry?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let compiled = compile_module(&context, &name, &fs::read_to_string(&path)?)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            fs::write(Path::new(&out).join(name).with_extension("bytes"), compiled)?;
        }
        Ok(())
    }

    /// The bytes of a module, in the byte order of the target.
    fn compile_module(context: &Context, name: &str, source: &str) -> Result<Vec<u8>, Box<dyn Error>> {
        let endianness = match env::var("CARGO_CFG_TARGET_ENDIAN").as_deref() {
            Ok("big") => WriteOptionsEndianness::Big,
            _ => WriteOptionsEndianness::Little,
        };
        let options =
            WriteOptions { endianness, strip_source: true, strip_debug: true, ..WriteOptions::default() };
        context.with(|ctx| {
            let module = Module::declare(ctx.clone(), format!("midrail:{name}"), source).catch(&ctx);
            let module = module.map_err(|error| error.to_string())?;
            Ok(module.write(options)?)
        })
    }
}
