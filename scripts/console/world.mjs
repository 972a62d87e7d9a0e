// A service with a store of its own and a browser, for the tests of the console.
import { spawn, spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, mkdirSync, openSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const can = Boolean(process.env.CHROMIUM && process.env.MIDRAIL && process.env.PLAYWRIGHT_CORE);
export const skip = can ? false : "run scripts/console/run.sh, which brings a browser";

const PACK = `pack: shop
extends: midrail:default
guardrails:
  - {id: releases, tools: [deploy, "<*"], effect: escalate, reason: "Deployments need a reviewer. <b>bold</b>"}
`;

// Starts a service with two projects and two approvers: `ann`, and `root`, who may go to all projects.
export const serve = async (pack = PACK) => {
  const folder = mkdtempSync(join(tmpdir(), "midrail-console-"));
  const shop = join(folder, "shop");
  mkdirSync(join(shop, ".midrail"), { recursive: true });
  writeFileSync(join(shop, ".midrail/pack.yaml"), pack);
  const env = { PATH: process.env.PATH, HOME: folder, XDG_STATE_HOME: join(folder, "state"), XDG_CONFIG_HOME: join(folder, "config"), XDG_DATA_HOME: join(folder, "data"), XDG_CACHE_HOME: join(folder, "cache") };
  const run = (...args) => {
    const ended = spawnSync(process.env.MIDRAIL, args, { cwd: shop, env, encoding: "utf8" });
    if (ended.status !== 0) throw new Error(`midrail ${args.join(" ")}: ${ended.stderr}`);
    return ended.stdout;
  };
  const key = run("approver", "add", "ann", "--role", "human_operator").match(/mrk_[0-9a-f]+/)[0];
  const keyFile = join(folder, "ann.key");
  writeFileSync(keyFile, key);
  const fd = openSync(keyFile, "r");
  const added = spawnSync(process.env.MIDRAIL, ["approver", "add", "root", "--role", "human_operator", "--role", "admin", "--as", "ann", "--key-fd", "3"], { cwd: shop, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe", fd] });
  closeSync(fd);
  const rootKey = added.stdout.match(/mrk_[0-9a-f]+/)?.[0];
  if (!rootKey) throw new Error(`no second approver: ${added.stderr}`);
  const service = spawn(process.env.MIDRAIL, ["serve", "--listen", "127.0.0.1:0", "--project", `web=${shop}`, "--json"], { cwd: shop, env, stdio: ["ignore", "pipe", "inherit"] });
  const url = await new Promise((done, failed) => {
    let text = "";
    service.stdout.on("data", (data) => {
      text += data;
      const line = text.split("\n").find((line) => line.includes('"url"'));
      if (line) done(JSON.parse(line).url);
    });
    service.on("exit", (code) => failed(new Error(`the service ended with ${code}`)));
  });
  return {
    url, key, rootKey, shop, run,
    decide: async (event, project = "default") => {
      const response = await fetch(`${url}/v1/decide`, { method: "POST", headers: { "content-type": "application/json", "midrail-project": project }, body: JSON.stringify({ cwd: shop, ...event }) });
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
      return response.json();
    },
    get: async (path) => (await fetch(`${url}${path}`)).json(),
    stop: async () => {
      service.removeAllListeners("exit");
      const ended = new Promise((done) => service.on("exit", done));
      service.kill("SIGTERM");
      const code = await ended;
      rmSync(folder, { recursive: true, force: true });
      return code;
    },
  };
};

export const call = (name, args, more = {}) => ({ kind: "before_tool", session: "s-1", agent: { id: "agent-1" }, tool: { name, args }, ...more });

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

// Opens a browser whose pages note whatever they should not do.
export const browse = async () => {
  const { chromium } = createRequire(join(process.env.PLAYWRIGHT_CORE, "package.json"))("playwright-core");
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS });
  return {
    page: async (world, options = {}) => {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
      const page = await context.newPage();
      const wrong = [];
      page.on("dialog", (dialog) => { wrong.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
      page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
      // A violation of the content security policy is an error on the console, too.
      page.on("console", (message) => { if (message.type() === "error" && !/status of (400|404|409|422)/.test(message.text())) wrong.push(`console: ${message.text()}`); });
      page.on("request", (request) => { if (!request.url().startsWith(world.url) && !request.url().startsWith("data:")) wrong.push(`request: ${request.url()}`); });
      page.wrong = wrong;
      page.login = async (next = "/", name = "ann", key = world.key) => {
        await page.goto(`${world.url}/login?next=${encodeURIComponent(next)}`);
        await page.fill("[name=name]", name);
        await page.fill("[name=key]", key);
        await page.click("button[type=submit]");
        await page.waitForURL(`${world.url}${next}`);
      };
      page.sideways = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      return page;
    },
    close: () => browser.close(),
  };
};
