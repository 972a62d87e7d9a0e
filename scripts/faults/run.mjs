// The fault campaign: kills, failing system calls, damaged files, clock jumps and suspended processes.
//
// Two things must hold whatever happens: no allow without a record, and no acknowledged record is lost without a report.
// Usage: node run.mjs --midrail PROGRAM --preload LIBRARY [--seconds 300] [--seed NUMBER] [--keep]
import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

const { values: options } = parseArgs({
  options: {
    midrail: { type: "string" },
    preload: { type: "string" },
    seconds: { type: "string", default: "300" },
    seed: { type: "string", default: String(Date.now() % 2 ** 31) },
    keep: { type: "boolean", default: false },
  },
});
const seconds = Number(options.seconds);

/** A small generator of random numbers, so that a run can be repeated. */
let state = Number(options.seed) >>> 0;
const random = (limit) => {
  state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
  return ((state ^ (state >>> 13)) >>> 0) % limit;
};
const pick = (list) => list[random(list.length)];

const root = mkdtempSync(join(tmpdir(), "midrail-faults-"));
const COMMANDS = ["ls", "cargo test", "git status", "rm -rf /", "cat .env", "echo hello"];

/** A machine with one store. */
class Machine {
  static count = 0;
  constructor() {
    this.home = join(root, `machine-${(Machine.count += 1)}`);
    this.project = join(this.home, "project");
    this.state = join(this.home, "state");
    mkdirSync(this.project, { recursive: true });
    mkdirSync(this.state, { recursive: true });
    /** Acknowledged decisions: number of the record to its hash. */
    this.acknowledged = new Map();
    this.calls = 0;
  }

  /** The same machine with a copy of its files. */
  copy() {
    const copy = new Machine();
    rmSync(copy.home, { recursive: true });
    cpSync(this.home, copy.home, { recursive: true });
    copy.acknowledged = new Map(this.acknowledged);
    return copy;
  }

  environment(more = {}) {
    return {
      PATH: process.env.PATH,
      HOME: this.home,
      XDG_STATE_HOME: this.state,
      XDG_CONFIG_HOME: join(this.home, "config"),
      XDG_CACHE_HOME: join(this.home, "cache"),
      NO_COLOR: "1",
      ...more,
    };
  }

  event() {
    this.calls += 1;
    const args = { command: pick(COMMANDS) };
    const tool = { name: "Bash", call_id: `c-${this.calls}`, args };
    return JSON.stringify({ kind: "before_tool", session: `s-${this.calls % 3}`, cwd: this.project, tool });
  }

  run(args, { input = "", env = {}, timeout = 120_000 } = {}) {
    const start = Date.now();
    const result = spawnSync(options.midrail, args, {
      cwd: this.project, input, env: this.environment(env), encoding: "utf8", timeout, maxBuffer: 1 << 28,
    });
    return { ...result, took: Date.now() - start };
  }

  /** Decides one event, and notes what was acknowledged. */
  check(env = {}) {
    const result = this.run(["check", "--json", "-"], { input: this.event(), env });
    const decision = parse(result.stdout);
    if (decision?.audit) this.acknowledged.set(decision.audit.seq, decision.audit.hash);
    return { ...result, decision };
  }

  /** The records that the store has now, or `undefined` if it reports a fault. */
  records() {
    const result = this.run(["audit", "list", "--json", "--limit", "1000000"]);
    if (result.status !== 0) return undefined;
    const rows = result.stdout.trim().split("\n").flatMap((line) => parse(line) ?? []);
    return new Map(rows.map((row) => [row.seq ?? row.audit?.seq, row.hash ?? row.audit?.hash]));
  }

  verify() {
    return this.run(["audit", "verify", "--json"]);
  }

  /** Acknowledged records that are gone. */
  lost() {
    const records = this.records();
    if (!records) return { reported: true, lost: [] };
    const lost = [...this.acknowledged].filter(([seq, hash]) => records.get(seq) !== hash).map(([seq]) => seq);
    return { reported: false, lost };
  }

  files() {
    const list = (folder) => readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? list(path) : [path];
    });
    return existsSync(this.state) ? list(this.state).filter((file) => statSync(file).size > 0) : [];
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const ALLOWING = ["allow", "warn", "redact"];
const summary = {};
const violations = [];
const note = (kind, what) => {
  summary[kind] ??= { runs: 0, allowed: 0, stopped: 0, reported: 0 };
  summary[kind][what] += 1;
};
const violation = (kind, message) => {
  violations.push(`${kind}: ${message}`);
  console.log(`VIOLATION ${kind}: ${message}`);
};

/** Notes the answer of a check under a fault. */
function judge(kind, machine, result) {
  const effect = result.decision?.effect;
  const allows = result.status === 0 && ALLOWING.includes(effect);
  note(kind, allows ? "allowed" : "stopped");
  if (allows && !result.decision.audit) violation(kind, `an allow without a record: ${result.stdout}`);
  if (result.status === 0 && !effect) violation(kind, `exit code 0 without a decision: ${result.stderr}`);
  if (result.signal || /panicked/.test(result.stderr)) violation(kind, `ended badly: ${result.signal} ${result.stderr}`);
}

/** Nothing that was acknowledged may be gone, and the log is intact. */
function settle(kind, machine) {
  const { reported, lost } = machine.lost();
  const intact = machine.verify();
  if (reported || intact.status !== 0) note(kind, "reported");
  if (lost.length > 0 && intact.status === 0) violation(kind, `records ${lost} are gone, and verify succeeds`);
  const message = intact.stdout + intact.stderr;
  // A process was killed before it had created the store.
  const isNew = lost.length === 0 && message.includes("it is not a store yet");
  return { lost, intact: (intact.status === 0 || isNew) && !reported, message };
}

const faults = {
  /** Processes are killed while they decide. */
  async kill(machine) {
    const child = spawn(options.midrail, ["check", "--stream", "--json"], {
      cwd: machine.project, env: machine.environment(), stdio: ["pipe", "pipe", "ignore"],
    });
    let output = "";
    child.stdout.on("data", (data) => (output += data));
    const end = new Promise((resolve) => child.on("close", resolve));
    child.stdin.on("error", () => {});
    for (let i = 0; i < 40; i += 1) child.stdin.write(`${machine.event()}\n`);
    setTimeout(() => child.kill("SIGKILL"), 20 + random(400));
    await end;
    for (const line of output.split("\n").slice(0, -1)) {
      const decision = parse(line);
      if (!decision) continue;
      note("kill", ALLOWING.includes(decision.effect) ? "allowed" : "stopped");
      if (ALLOWING.includes(decision.effect) && !decision.audit) violation("kill", `an allow without a record: ${line}`);
      if (decision.audit) machine.acknowledged.set(decision.audit.seq, decision.audit.hash);
    }
    const { intact, message } = settle("kill", machine);
    if (!intact) violation("kill", `the store is reported as damaged after a kill: ${message.slice(0, 300)}`);
  },

  /** The process that creates the store is killed at one of its calls. */
  async first() {
    const call = "write,pwrite,fsync,open,rename,ftruncate,mmap";
    const machine = new Machine();
    const env = { LD_PRELOAD: options.preload, FAULT_CALL: call, FAULT_AFTER: String(random(110)), FAULT_ERRNO: "kill" };
    machine.check(env);
    judge("first", machine, machine.check());
    const { intact, message } = settle("first", machine);
    if (!intact) violation("first", `killed after ${env.FAULT_AFTER} calls, the store is damaged: ${message.slice(0, 300)}`);
    rmSync(machine.home, { recursive: true, force: true });
  },

  /** System calls fail: no space, no medium, no permission. */
  async io(machine) {
    const call = pick(["write", "pwrite", "fsync", "open", "rename", "ftruncate", "mmap", "write,pwrite", "write,pwrite,fsync"]);
    const env = {
      LD_PRELOAD: options.preload, FAULT_CALL: call, FAULT_AFTER: String(random(40)),
      FAULT_ERRNO: String(pick([28, 5, 13, 30])), FAULT_FOLDER: machine.state,
    };
    judge("io", machine, machine.check(env));
    judge("io", machine, machine.check());
    const { intact, message } = settle("io", machine);
    if (!intact) violation("io", `${call} left a damaged store: ${message.slice(0, 300)}`);
  },

  /** Bits flip and files are cut, also in the write-ahead log and the keys. */
  async corruption(machine) {
    const copy = machine.copy();
    // A process that was killed leaves a write-ahead log behind.
    const child = spawn(options.midrail, ["check", "--stream", "--json"], {
      cwd: copy.project, env: copy.environment(), stdio: ["pipe", "pipe", "ignore"],
    });
    let output = "";
    const enough = new Promise((resolve) => {
      child.stdout.on("data", (data) => {
        output += data;
        if (output.split("\n").length > 10) resolve();
      });
      child.on("close", resolve);
    });
    child.stdin.on("error", () => {});
    for (let i = 0; i < 10; i += 1) child.stdin.write(`${copy.event()}\n`);
    await enough;
    child.kill("SIGKILL");
    await new Promise((resolve) => (child.exitCode !== null || child.signalCode ? resolve() : child.on("close", resolve)));
    for (const line of output.split("\n")) {
      const audit = parse(line)?.audit;
      if (audit) copy.acknowledged.set(audit.seq, audit.hash);
    }
    const file = pick(copy.files());
    if (!file) return;
    const size = statSync(file).size;
    const how = random(10);
    if (how === 0) rmSync(file);
    else if (how === 1) truncateSync(file, random(size));
    else {
      const bytes = readFileSync(file);
      for (let i = 0; i <= random(4); i += 1) bytes[random(size)] ^= 1 << random(8);
      writeFileSync(file, bytes);
    }
    const name = file.slice(copy.state.length + 1);
    const result = copy.check();
    const blocked = result.status !== 0;
    judge("corruption", copy, result);
    const { lost, intact } = settle("corruption", copy);
    if (lost.length > 0 && intact && !blocked) {
      violation("corruption", `${name} (${["deleted", "cut"][how] ?? "bits"}): ${lost.length} records are gone without a report`);
    }
    if (!options.keep) rmSync(copy.home, { recursive: true });
  },

  /** The clock jumps. */
  async clock(machine) {
    const shift = pick([-1e9, -86_400, 3_600, 86_400 * 365 * 5, 1e11, 2 ** 40, "4611686018427387904"]);
    judge("clock", machine, machine.check({ LD_PRELOAD: options.preload, CLOCK_SHIFT: String(shift) }));
    judge("clock", machine, machine.check());
    const { intact, message } = settle("clock", machine);
    if (!intact) violation("clock", `a jump of ${shift} s damaged the store: ${message.slice(0, 300)}`);
  },

  /** A writer is suspended while others decide. */
  async suspended(machine) {
    const child = spawn(options.midrail, ["check", "--stream", "--json"], {
      cwd: machine.project, env: machine.environment(), stdio: ["pipe", "pipe", "ignore"],
    });
    let output = "";
    child.stdout.on("data", (data) => (output += data));
    child.stdin.on("error", () => {});
    for (let i = 0; i < 200; i += 1) child.stdin.write(`${machine.event()}\n`);
    await new Promise((resolve) => setTimeout(resolve, 30 + random(150)));
    child.kill("SIGSTOP");
    for (let i = 0; i < 2; i += 1) {
      const result = machine.check();
      judge("suspended", machine, result);
      if (result.took > 12_000) violation("suspended", `a decision waited ${result.took} ms for a suspended process`);
    }
    child.kill("SIGCONT");
    child.stdin.end();
    await new Promise((resolve) => child.on("close", resolve));
    for (const line of output.split("\n")) {
      const audit = parse(line)?.audit;
      if (audit) machine.acknowledged.set(audit.seq, audit.hash);
    }
    const { intact, message } = settle("suspended", machine);
    if (!intact) violation("suspended", `the store is reported as damaged: ${message.slice(0, 300)}`);
  },
};

console.log(`faults for ${seconds} s, seed ${options.seed}`);
const end = Date.now() + seconds * 1_000;
let machine = new Machine();
const first = machine.check();
if (first.status === null || !first.decision?.audit) throw new Error(`the program does not decide: ${first.stderr}${first.stdout}`);
const kinds = Object.keys(faults);
let last = Date.now();
for (let round = 0; Date.now() < end; round += 1) {
  const kind = kinds[round % kinds.length];
  note(kind, "runs");
  await faults[kind](machine);
  // A fresh machine now and then: the log of one that lives long takes long to verify.
  if (machine.acknowledged.size > 600) machine = new Machine();
  if (Date.now() - last > 30_000) {
    last = Date.now();
    console.log(`${Math.round((end - last) / 1_000)} s left, ${round + 1} faults, ${violations.length} violations`);
  }
}
console.table(summary);
if (!options.keep) rmSync(root, { recursive: true, force: true });
if (violations.length > 0) {
  console.error(`${violations.length} violations; repeat with --seed ${options.seed}`);
  process.exit(1);
}
console.log("no allow without a record, and no acknowledged record lost without a report");
