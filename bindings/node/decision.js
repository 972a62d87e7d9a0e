// Decisions, approvals, and the error for a call that is not allowed.

const ALLOWED = ['allow', 'warn', 'redact'];
const ANSWERS = {
  approved: 'approved',
  override: 'approved',
  denied: 'denied',
  'timed out': 'timed_out',
  expired: 'timed_out',
  used: 'used',
};
const INTERVAL_MS = 250;

export class Decision {
  #backend;
  #text;
  #data;

  constructor(text, backend) {
    this.#text = text;
    this.#backend = backend;
  }

  toJSON() {
    return (this.#data ??= JSON.parse(this.#text));
  }

  get effect() {
    return this.toJSON().effect;
  }

  get allowed() {
    // A contained call may happen only with the arguments that start its sandbox.
    return ALLOWED.includes(this.effect) || (this.effect === 'contain' && this.content !== undefined);
  }

  get by() {
    return this.toJSON().by;
  }

  get reason() {
    return this.toJSON().reason ?? '';
  }

  get advice() {
    return this.toJSON().advice ?? undefined;
  }

  get content() {
    return this.toJSON().content ?? undefined;
  }

  get feedback() {
    return this.toJSON().feedback ?? [];
  }

  get userMessage() {
    return this.toJSON().user_message ?? undefined;
  }

  get message() {
    const { reason, retry, advice } = this.toJSON();
    return [...new Set([reason, retry?.message, advice].filter(Boolean))].join(' ');
  }

  get notes() {
    const warning = this.effect === 'warn' ? [`Warning of \`${this.by}\`: ${this.message}`] : [];
    return [...warning, ...this.feedback].filter(Boolean).join('\n') || undefined;
  }

  get approval() {
    const request = this.toJSON().approval;
    return request ? new Approval(request, this.#backend) : undefined;
  }
}

export class Approval {
  #backend;

  constructor(request, backend) {
    this.#backend = backend;
    this.id = request.id;
    this.approver = request.approver;
    this.expires = request.expires ?? undefined;
  }

  async status() {
    return ANSWERS[(await this.#backend.approval(this.id)).status] ?? 'pending';
  }

  async wait(timeoutMs = 120_000) {
    const end = Date.now() + timeoutMs;
    for (;;) {
      const answer = await this.status();
      const left = end - Date.now();
      if (answer !== 'pending' || left <= 0) return answer;
      await new Promise((resolve) => setTimeout(resolve, Math.min(INTERVAL_MS, left)));
    }
  }
}

export class Stopped extends Error {
  constructor(decision, options) {
    super(decision.message, options);
    this.name = 'Stopped';
    this.decision = decision;
  }
}

export class ToolFailed extends Error {
  constructor(message) {
    super(message);
    this.name = 'ToolFailed';
  }
}

/** The decision if none could be made: a block. */
export function refusal(why) {
  const text = why instanceof Error ? why.message : String(why);
  const reason = `the decision could not be made and recorded, so this does not happen: ${text}`;
  return JSON.stringify({ effect: 'block', by: 'midrail', reason, mode: 'enforce', policy: '' });
}
