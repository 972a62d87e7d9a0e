//! `midrail init --recipe`: adds a pack of the cookbook to the project.

use std::fs;
use std::io;
use std::path::Path;

use midrail::recipes::{RECIPES, Recipe, recipe};
use serde_json::json;

use crate::error::{CliError, CliResult};
use crate::exit::Exit;
use crate::output::Output;

/// The folder of a project's packs.
const FOLDER: &str = ".midrail";

/// Writes recipes to the packs of this folder.
pub(crate) fn add(names: &[String], is_dry: bool, output: &mut Output) -> CliResult {
    let recipes: Vec<&Recipe> = names.iter().map(|name| find(name)).collect::<Result<_, _>>()?;
    let mut written = Vec::new();
    for recipe in recipes {
        let path = Path::new(FOLDER).join(recipe.name).with_extension("yaml");
        let shown = path.display().to_string();
        match fs::read_to_string(&path) {
            Ok(text) if text == recipe.text => {
                output.note(&format!("{shown} is up to date"));
                continue;
            }
            Ok(_) => {
                return Err(CliError::new(format!("{shown} exists, and differs from the recipe"))
                    .help("rename your file, or remove it to start from the recipe again"));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(CliError::new(format!("{shown}: {error}"))),
        }
        if !is_dry {
            fs::create_dir_all(FOLDER)?;
            fs::write(&path, recipe.text)?;
        }
        if !output.is_json {
            let did = if is_dry { "would write" } else { "wrote" };
            output.line(format!("{did} {shown}  {}", recipe.title()))?;
        }
        written.push(shown);
    }
    if output.is_json {
        output.json(&json!({"written": written, "dry_run": is_dry}))?;
    } else if !is_dry && !written.is_empty() {
        output.line("run its tests with `midrail test .midrail`; it applies from the next event on")?;
    }
    Ok(Exit::Good)
}

fn find(name: &str) -> Result<&'static Recipe, CliError> {
    recipe(name).map_err(|near| {
        let error = CliError::new(format!("there is no recipe `{name}`"));
        match near {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => {
                let names: Vec<&str> = RECIPES.iter().map(|recipe| recipe.name).collect();
                error.help(format!("the recipes are {}", names.join(", ")))
            }
        }
    })
}
