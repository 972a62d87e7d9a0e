//! The recipes of the cookbook: small packs that come with the program, one for each need.

use midrail_pack::diagnostic::nearest;

/// A recipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipe {
    /// Its name, which is also that of its pack.
    pub name: &'static str,
    /// The pack with its tests. The first line is a comment with its title.
    pub text: &'static str,
}

macro_rules! recipes {
    ($($name:literal,)*) => {
        &[$(Recipe {
            name: $name,
            text: include_str!(concat!("../../../packs/recipes/", $name, ".yaml")),
        },)*]
    };
}

/// All recipes, in the order of their names.
pub const RECIPES: &[Recipe] = recipes![
    "addresses-stay-inside",
    "changelog",
    "clean-tree-first",
    "database-is-read-only",
    "deploy-after-tests",
    "feature-branches-only",
    "generated-files",
    "green-before-stop",
    "hidden-secrets",
    "infrastructure-plan-first",
    "instructions-need-a-person",
    "listed-hosts-only",
    "lock-files",
    "migrations-need-a-person",
    "named-recipients",
    "no-force-push",
    "no-friday-deploys",
    "no-new-dependencies",
    "no-publishing",
    "one-mail-per-customer",
    "private-data-stays",
    "production-is-read-only",
    "pushes-need-a-person",
    "read-only",
    "refunds-over-100",
    "review-before-merge",
    "run-the-tests",
    "stop-after-20-usd",
    "tests-are-not-edited",
    "three-tries",
    "twenty-searches",
    "working-hours",
];

impl Recipe {
    /// The need that it answers.
    pub fn title(&self) -> &'static str {
        let first = self.text.lines().next().unwrap_or_default();
        first.trim_start_matches(['#', ' '])
    }

    /// The pack without its tests.
    pub fn pack(&self) -> &'static str {
        let body = self.text.split_once('\n').map_or("", |(_, body)| body);
        body.split_once("\ntests:\n").map_or(body, |(pack, _)| pack)
    }
}

/// A recipe by its name. `Err`: the most similar name, if there is one.
pub fn recipe(name: &str) -> Result<&'static Recipe, Option<&'static str>> {
    let found = RECIPES.iter().find(|recipe| recipe.name == name);
    found.ok_or_else(|| nearest(name, RECIPES.iter().map(|recipe| recipe.name)))
}

/// Help for the name of a recipe in place of a pack to extend.
pub(crate) fn help(name: &str) -> Option<String> {
    recipe(name)
        .ok()
        .map(|it| format!("a recipe becomes a file of your own: `midrail init --recipe {}`", it.name))
}
