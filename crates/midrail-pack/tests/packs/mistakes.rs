//! The table of mistakes: what an author of a pack sees for each of them.

use std::fs;
use std::path::Path;

use midrail_pack::{Diagnostic, DiagnosticReport, Layer, PackDocument, compile_policy, lint};

const COMMAND: &str = "MIDRAIL_WRITE=1 cargo test -p midrail-pack --test packs mistakes";

/// A mistake: its title, the pack, and the expected report.
struct Mistake<'t> {
    title: &'t str,
    pack: &'t str,
    report: &'t str,
}

impl<'t> Mistake<'t> {
    fn parse(section: &'t str) -> Mistake<'t> {
        let (title, rest) = section.split_once('\n').unwrap();
        let block = |language: &str| {
            let (_, rest) = rest.split_once(&format!("```{language}\n")).unwrap();
            rest.split_once("```").unwrap().0
        };
        Mistake { title, pack: block("yaml"), report: block("text") }
    }

    /// The report as `midrail lint` prints it.
    fn lint(&self) -> String {
        let documents = match PackDocument::read("pack.yaml", self.pack, None) {
            Ok(documents) => documents,
            Err(report) => return report.render(false),
        };
        let documents: Vec<_> = documents.into_iter().map(|document| (Layer::Project, document)).collect();
        if let Err(reports) = compile_policy(&documents) {
            return reports.iter().map(|report| report.render(false)).collect();
        }
        let problem = |lint: midrail_pack::LintFinding| Diagnostic {
            message: format!("{} [{}]", lint.message, lint.code),
            ..lint.problem
        };
        let problems = lint(&documents).into_iter().map(problem).collect();
        DiagnosticReport::new("pack.yaml", self.pack, problems).render(false)
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the test reads its table, and writes it if asked to")]
fn every_mistake_has_a_report_that_teaches() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/packs/mistakes.md");
    let text = fs::read_to_string(&path).unwrap();
    let (intro, sections) = text.split_once("\n## ").unwrap();
    let mistakes: Vec<Mistake<'_>> = sections.split("\n## ").map(Mistake::parse).collect();
    assert!(mistakes.len() >= 60, "{} mistakes", mistakes.len());

    let is_written = std::env::var_os("MIDRAIL_WRITE").is_some();
    let mut page = intro.to_owned();
    let mut faults = Vec::new();
    for mistake in &mistakes {
        let (title, pack, report) = (mistake.title, mistake.pack, mistake.lint());
        page.push_str(&format!("\n## {title}\n\n```yaml\n{pack}```\n\n```text\n{report}```\n"));
        if report.is_empty() {
            faults.push(format!("## {title}\nno report for\n{pack}"));
        } else if !is_written && report != mistake.report {
            faults.push(format!("## {title}\n{pack}\nexpected\n{}\nfound\n{report}", mistake.report));
        }
        if ["struct ", "variant", "u64", "untagged", "did not match"].iter().any(|word| report.contains(word))
        {
            faults.push(format!("## {title}\na word of the implementation:\n{report}"));
        }
        let is_head =
            |line: &&str| ["error: ", "warning: ", "note: "].iter().any(|head| line.starts_with(head));
        if report.lines().filter(is_head).count() != report.matches("= help: ").count() {
            faults.push(format!("## {title}\na finding without help:\n{report}"));
        }
    }
    if is_written {
        fs::write(path, page).unwrap();
    }
    assert!(faults.is_empty(), "{}\n\n{COMMAND}", faults.join("\n"));
}
