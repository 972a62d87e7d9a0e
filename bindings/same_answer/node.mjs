// Decides events through the Node package: one JSON object per line in, one decision per line out.

import { createInterface } from 'node:readline';

import { Guard } from 'midrail';

const guard = new Guard({ packs: process.argv.slice(2), store: ':memory:' });
for await (const line of createInterface({ input: process.stdin })) {
  const event = JSON.parse(line);
  console.log(JSON.stringify(await guard.session(event.session).decide(event)));
}
