// The picture of the console in the README. `MIDRAIL_WRITE=1 bash scripts/console/run.sh` takes it, together with the text of the
// page; without the variable, this test compares the page with that text, so that the picture stays current.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { browse, call, serve, skip } from "./world.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const images = join(here, "../../docs/images");

// The text of a page without what differs from run to run: ids, times, durations.
const stable = (text) => text.replace(/\b[0-9a-f]{8,}\b/g, "ID").replace(/\d+ (ms|s|min|h)( \d+ s)?( (ago|left))?/g, "TIME").replace(/\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?Z?|\d\d:\d\d(:\d\d)?/g, "TIME").replace(/\s+/g, " ").trim();

test("the picture of the console is current", { skip }, async () => {
  const world = await serve(readFileSync(join(here, "shop.yaml"), "utf8"));
  const browser = await browse();
  const held = async (session, agent, name, args) => (await world.decide(call(name, args, { session, agent: { id: agent } }))).approval.id;
  try {
    await held("nightly-2026-11-15", "night-shift", "publish", { package: "@shop/prices", version: "2.0.0", tag: "latest" });
    await held("docs-77", "writer-1", "db_migrate", { sql: "ALTER TABLE invoices DROP COLUMN legacy_total;", database: "shop" });
    const last = await held("checkout-4812", "implementer-3", "deploy", { target: "production", version: "4.12.0" });
    const page = await browser.page(world, { viewport: { width: 1100, height: 720 }, deviceScaleFactor: 1.5 });
    await page.login("/approvals");
    await page.locator(`[data-approval="${last}"]`).waitFor();
    const text = `${stable(await page.locator("main").innerText())}\n`;
    if (process.env.MIDRAIL_WRITE) {
      mkdirSync(images, { recursive: true });
      await page.screenshot({ path: join(images, "console.png") });
      writeFileSync(join(images, "console.txt"), text);
    }
    assert.equal(text, readFileSync(join(images, "console.txt"), "utf8"), "docs/images/console.png is stale; regenerate it with `MIDRAIL_WRITE=1 bash scripts/console/run.sh`");
    assert.deepEqual(page.wrong, []);
  } finally {
    await browser.close();
    await world.stop();
  }
});
