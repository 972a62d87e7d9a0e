//! `midrail schema`: the schemas, and that the committed ones are fresh.

use crate::world::{World, repository};

#[test]
fn committed_script_types_are_fresh() {
    let fresh = World::new().run(&["script", "types"]).code(0).out;
    let committed = std::fs::read_to_string(repository().join("schema/guardrails.d.ts")).unwrap();
    assert!(committed == fresh, "schema/guardrails.d.ts is stale: run `midrail schema --write schema`");
}

#[test]
fn committed_schemas_are_fresh() {
    let world = World::new();
    for what in ["pack", "event", "decision"] {
        let fresh = world.run(&["schema", what]).code(0);
        assert_eq!(fresh.json()["$schema"], "https://json-schema.org/draft/2020-12/schema");
        let path = repository().join("schema").join(format!("{what}.schema.json"));
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == fresh.out, "{} is stale: run `midrail schema --write schema`", path.display());
    }
}

#[test]
fn schemas_are_written_to_a_directory() {
    let world = World::new();
    let folder = world.path("out/schema");
    world.run(&["schema", "--write", &folder]).code(0);
    assert_eq!(world.read("out/schema/event.schema.json"), world.run(&["schema", "event"]).out);
    world.run(&["schema"]).code(1);
    world.run(&["schema", "nope"]).code(1);
}

#[test]
fn committed_openapi_document_is_fresh() {
    let fresh = World::new().run(&["schema", "openapi"]).code(0);
    assert_eq!(fresh.json()["openapi"], "3.1.0");
    let committed = std::fs::read_to_string(repository().join("schema/openapi.json")).unwrap_or_default();
    assert!(committed == fresh.out, "schema/openapi.json is stale: run `midrail schema --write schema`");
}
