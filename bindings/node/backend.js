// Where decisions are made: an engine in this process, or a service.

import { refusal } from './decision.js';
import { engine } from './native.js';

export class InProcess {
  #engine;

  constructor({ packs, env, store, cwd }) {
    const Engine = engine();
    const text = (path) => (path === undefined ? undefined : String(path));
    this.#engine = new Engine(JSON.stringify({ packs: (packs ?? []).map(text), env, store: text(store), cwd: text(cwd) }));
  }

  async decide(event) {
    try {
      return await this.#engine.decide(event);
    } catch (error) {
      return refusal(error);
    }
  }

  async decideConversation(events, fresh) {
    try {
      return await this.#engine.decideConversation(events, fresh);
    } catch (error) {
      return [refusal(error)];
    }
  }

  async approval(id) {
    return JSON.parse(await this.#engine.approval(id));
  }

  register(spec, answer) {
    this.#engine.register(JSON.stringify(spec), async (call, text) => {
      try {
        this.#engine.answer(call, true, JSON.stringify(await answer(JSON.parse(text))));
      } catch (error) {
        this.#engine.answer(call, false, message(error));
      }
    });
  }

  unregister(id) {
    return this.#engine.unregister(id);
  }
}

export class Service {
  #url;
  #headers;
  #timeoutMs;

  constructor({ url, key, timeoutMs = 30_000 }) {
    this.#url = String(url).replace(/\/+$/, '');
    this.#headers = { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) };
    this.#timeoutMs = timeoutMs;
  }

  async decide(event) {
    try {
      const answer = await this.#request('/v1/decide', { method: 'POST', body: event });
      if (typeof JSON.parse(answer).effect !== 'string') throw new Error('the answer of the service is not a decision');
      return answer;
    } catch (error) {
      return refusal(error);
    }
  }

  async decideConversation(events, fresh) {
    try {
      const body = `{"events": [${events.join()}], "new": ${fresh}}`;
      const { decisions } = JSON.parse(await this.#request('/v1/decide/conversation', { method: 'POST', body }));
      if (decisions.some(({ effect }) => typeof effect !== 'string')) throw new Error('the answer of the service has what is not a decision');
      return decisions.map((decision) => JSON.stringify(decision));
    } catch (error) {
      return [refusal(error)];
    }
  }

  async approval(id) {
    return JSON.parse(await this.#request(`/v1/approvals/${encodeURIComponent(id)}/wait?timeout_s=0`));
  }

  register() {
    throw new Error('a service does not run functions of this program: use a pack, or no `url`');
  }

  unregister() {
    return false;
  }

  async #request(path, options) {
    let answer;
    let text;
    try {
      const signal = AbortSignal.timeout(this.#timeoutMs);
      answer = await fetch(this.#url + path, { headers: this.#headers, signal, ...options });
      text = await answer.text();
    } catch (error) {
      const why = error.cause?.message ?? error.message;
      throw new Error(`the service at ${this.#url} cannot be reached: ${why}`, { cause: error });
    }
    if (!answer.ok) throw new Error(`the service answered ${answer.status}: ${detail(text)}`);
    return text;
  }
}

/** What a problem of the service says. */
function detail(text) {
  try {
    const { detail, help } = JSON.parse(text);
    return [detail, help].filter(Boolean).join('; ');
  } catch {
    return 'no reason';
  }
}

/** The message of whatever was thrown. */
export function message(error) {
  return error instanceof Error ? error.message || error.name : String(error);
}
