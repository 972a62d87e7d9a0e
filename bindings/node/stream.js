// Guarded streams of text from a model.

import { randomUUID } from 'node:crypto';

import { Stopped } from './decision.js';

export class Stream {
  #decide;
  #maxBytes;
  #collected = '';
  #stopped;
  #finished = false;
  /** Chunks are decided one after the other, in the order in which they were pushed. */
  #last = Promise.resolve();

  constructor(decide, maxBytes) {
    this.#decide = decide;
    this.#maxBytes = maxBytes;
    this.id = `stream-${randomUUID().slice(0, 12)}`;
  }

  push(text) {
    return this.#inOrder(() => {
      this.#collected += text;
      return Buffer.byteLength(this.#collected) >= this.#maxBytes ? this.#step(false) : '';
    });
  }

  flush() {
    return this.#inOrder(() => (this.#collected ? this.#step(false) : ''));
  }

  finish() {
    return this.#inOrder(() => this.#step(true));
  }

  #inOrder(act) {
    const done = this.#last.then(() => {
      if (this.#stopped) throw new Stopped(this.#stopped);
      if (this.#finished) throw new Error('the stream is finished');
      return act();
    });
    this.#last = done.catch(() => {});
    return done;
  }

  async #step(last) {
    const text = this.#collected;
    this.#collected = '';
    const decision = await this.#decide({ kind: 'model_chunk', text, stream: this.id, last });
    if (!decision.allowed) {
      this.#stopped = decision;
      throw new Stopped(decision);
    }
    this.#finished = last;
    // The decision about an allowed chunk has the text that may be passed on.
    return decision.content ?? '';
  }
}
