//! The files of a script: what an `import` may name, and how a file becomes a module.

use std::cell::RefCell;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Exception, Function, Module, Object, Result};

use super::call::{Script, ScriptError, label};
use super::scan;
use super::scan::place_of;
use crate::error::Unavailable;

/// Bytes that one file may have.
const MAX_SOURCE: u64 = 1 << 20;

/// Files that a script may consist of.
const MAX_FILES: usize = 256;

/// Where a script is, and how its files are named in messages.
#[derive(Debug, Clone)]
pub(super) struct Home {
    /// The folder, with symbolic links followed.
    folder: PathBuf,
    /// The folder's own name, which begins the names of all modules.
    pub(super) label: String,
    /// The name of the main module.
    pub(super) main: String,
    /// The text of the main module, where it is in no file.
    text: Option<String>,
}

/// A file that was loaded, as it was then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourceFile {
    path: PathBuf,
    size: u64,
    changed: Option<SystemTime>,
}

impl SourceFile {
    /// Whether the file is still as it was.
    pub(super) fn holds(&self) -> bool {
        fs::metadata(&self.path)
            .is_ok_and(|now| now.len() == self.size && now.modified().ok() == self.changed)
    }
}

impl Home {
    /// The home of a script.
    pub(super) fn new(script: &Script) -> std::result::Result<Self, ScriptError> {
        let path = script.path.as_path();
        let main = label(path);
        if let Some(text) = &script.text {
            let label = "script".to_owned();
            return Ok(Home {
                main: format!("{label}/{main}"),
                folder: PathBuf::new(),
                label,
                text: Some(text.clone()),
            });
        }
        let missing = |error| ScriptError::new(&main, format!("cannot be read: {error}"));
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = fs::canonicalize(parent.unwrap_or(Path::new("."))).map_err(missing)?;
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let label = folder
            .file_name()
            .map_or_else(|| "script".to_owned(), |name| name.to_string_lossy().into_owned());
        Ok(Home { main: format!("{label}/{file}"), folder, label, text: None })
    }

    /// A module's name without the folder's: what its variables are kept under.
    fn inside<'n>(&self, module: &'n str) -> &'n str {
        module.strip_prefix(self.label.as_str()).and_then(|rest| rest.strip_prefix('/')).unwrap_or(module)
    }
}

/// Finds the files that imports name.
#[derive(Clone)]
pub(super) struct Files {
    home: Home,
    seen: Rc<RefCell<Vec<SourceFile>>>,
    /// What was imported so far. The last one may still be looked for.
    imports: Rc<RefCell<Vec<Import>>>,
}

struct Import {
    /// The importing module, and the name as it is written there.
    module: String,
    name: String,
    /// The module that it names.
    from: String,
}

const POSSIBLE: &str =
    "a script may import files next to it, as in `./rules.js`; there are no packages and no modules of Node";

impl Resolver for Files {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        let import = Import { module: base.to_owned(), name: name.to_owned(), from: String::new() };
        self.imports.borrow_mut().push(import);
        let refuse = |why: &str| Err(self.refuse(ctx, &format!("cannot import `{name}`: {why}")));
        if !name.starts_with("./") && !name.starts_with("../") {
            return refuse(POSSIBLE);
        }
        let mut parts: Vec<&str> = self.home.inside(base).split('/').collect();
        parts.pop();
        for component in Path::new(name).components() {
            match component {
                Component::CurDir => {}
                Component::ParentDir => {
                    if parts.pop().is_none() {
                        return refuse("it is outside the script's folder");
                    }
                }
                Component::Normal(part) => parts.push(part.to_str().unwrap_or_default()),
                Component::RootDir | Component::Prefix(_) => return refuse(POSSIBLE),
            }
        }
        let inside = parts.join("/");
        if !inside.ends_with(".js") && !inside.ends_with(".mjs") {
            return refuse(
                "only files that end in `.js` or `.mjs` can be imported, and the ending is to be written out",
            );
        }
        let from = format!("{}/{inside}", self.home.label);
        if let Some(import) = self.imports.borrow_mut().last_mut() {
            import.from.clone_from(&from);
        }
        Ok(from)
    }
}

impl Loader for Files {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        let inside = self.home.inside(name);
        let source = match self.read(inside) {
            Ok(source) => source,
            Err(why) => return Err(self.refuse(ctx, &format!("cannot load `{name}`: {why}"))),
        };
        declare(ctx, name, inside, source)
    }
}

impl Files {
    pub(super) fn new(home: Home) -> Self {
        Files { home, seen: Rc::default(), imports: Rc::default() }
    }

    /// Throws an error, at the place of the import that is at hand.
    fn refuse(&self, ctx: &Ctx<'_>, message: &str) -> rquickjs::Error {
        let error = Exception::throw_type(ctx, message);
        let imports = self.imports.borrow();
        let place = imports.last().and_then(|import| self.place_of(import, None));
        let Some((module, line, column)) = place else { return error };
        // No script code runs while imports are resolved, so there is no stack.
        let thrown = ctx.catch();
        if let Some(thrown) = thrown.as_object() {
            let _ = thrown.set("stack", format!("    at import ({module}:{line}:{column})"));
        }
        ctx.throw(thrown)
    }

    /// The error of a script that imports what a file does not export, with its place. The engine names the two, and not
    /// who imports.
    pub(super) fn placed(&self, mut error: ScriptError) -> ScriptError {
        let named = error.message.strip_prefix("SyntaxError: Could not find export '");
        let named = named.and_then(|rest| rest.strip_suffix('\'')?.split_once("' in module '"));
        if let (Some((name, from)), None) = (named, error.at) {
            let imports = self.imports.borrow();
            let places = imports.iter().filter(|import| import.from == from);
            let place = places.filter_map(|import| self.place_of(import, Some(name))).next();
            if let Some((module, line, column)) = place {
                (error.file, error.at) = (module, Some((line, column)));
            }
        }
        error
    }

    /// The place of an import, or of a name in it.
    fn place_of(&self, import: &Import, name: Option<&str>) -> Option<(String, u32, u32)> {
        let (line, column) = place_of(&self.text(&import.module)?, &import.name, name)?;
        Some((import.module.clone(), line, column))
    }

    /// The text of a module that was loaded before.
    fn text(&self, module: &str) -> Option<String> {
        let inside = self.home.inside(module);
        self.home.text.clone().or_else(|| fs::read_to_string(self.home.folder.join(inside)).ok())
    }

    /// The files that were loaded.
    pub(super) fn seen(&self) -> Vec<SourceFile> {
        self.seen.borrow().clone()
    }

    /// The text of the main file.
    pub(super) fn main_source(&self) -> std::result::Result<String, Unavailable> {
        self.read(self.home.inside(&self.home.main))
    }

    /// The main module.
    pub(super) fn declare_main<'js>(&self, ctx: &Ctx<'js>, source: String) -> Result<Module<'js, Declared>> {
        declare(ctx, &self.home.main, self.home.inside(&self.home.main), source)
    }

    /// The text of a file in the folder.
    fn read(&self, inside: &str) -> std::result::Result<String, Unavailable> {
        let is_main = self.home.inside(&self.home.main) == inside;
        if let Some(text) = &self.home.text {
            let no_files = || "a script in a pack has no files next to it".into();
            return Some(text.clone()).filter(|_| is_main).ok_or_else(no_files);
        }
        let path = fs::canonicalize(self.home.folder.join(inside)).map_err(|error| error.to_string())?;
        // The main file is configured and may be a link. Imports must stay in the folder.
        if !is_main && !path.starts_with(&self.home.folder) {
            return Err("it leads out of the script's folder".into());
        }
        let found = fs::metadata(&path).map_err(|error| error.to_string())?;
        if !found.is_file() {
            return Err("it is not a file".into());
        }
        if found.len() > MAX_SOURCE {
            return Err(format!("it is longer than {MAX_SOURCE} bytes").into());
        }
        let mut seen = self.seen.borrow_mut();
        if seen.len() >= MAX_FILES {
            return Err(format!("the script has more than {MAX_FILES} files").into());
        }
        seen.push(SourceFile { path: path.clone(), size: found.len(), changed: found.modified().ok() });
        fs::read_to_string(&path).map_err(|error| error.to_string().into())
    }
}

/// Makes a module of a text, which hands over its variables as it ends.
fn declare<'js>(
    ctx: &Ctx<'js>,
    name: &str,
    inside: &str,
    mut source: String,
) -> Result<Module<'js, Declared>> {
    let variables = scan::variables(&source);
    if !variables.is_empty() {
        source.push_str(&keeping(&variables));
    }
    let prelude = ctx.userdata::<Object<'js>>().map(|prelude| (*prelude).clone());
    if let Some(prelude) = &prelude {
        let room = prelude.get::<_, Function<'js>>("room")?.call::<_, ()>((ROOM * (source.len() + 1),));
        room.map_err(|_| {
            let _ = ctx.catch();
            let why = "there is not memory enough to compile it; `memory_mb` gives the script more";
            Exception::throw_message(ctx, &format!("cannot load `{name}`: {why}"))
        })?;
    }
    let module = Module::declare(ctx.clone(), name, source)?;
    if let (Some(prelude), false) = (prelude, variables.is_empty()) {
        let keeper: Function<'js> = prelude.get("keeper")?;
        module.meta()?.set(KEEP, keeper.call::<_, Function<'js>>((inside,))?)?;
    }
    Ok(module)
}

/// Memory that a byte of a module may take while it is compiled: three bytes make a function.
const ROOM: usize = 300;

/// The property of `import.meta` that takes the variables.
const KEEP: &str = "midrailKeep";

/// The code that hands over variables. It follows the module's own code, so that lines and columns stay the same.
fn keeping(variables: &[scan::Variable]) -> String {
    let mut value = "v".to_owned();
    while variables.iter().any(|variable| variable.name == value) {
        value.push('_');
    }
    let mut code = format!("\n;import.meta.{KEEP}([");
    for scan::Variable { name, is_const } in variables {
        code.push_str(&format!("[\"{name}\",()=>{name}"));
        if !is_const {
            code.push_str(&format!(",{value}=>{{{name}={value}}}"));
        }
        code.push_str("],");
    }
    code.push_str("]);");
    code
}
