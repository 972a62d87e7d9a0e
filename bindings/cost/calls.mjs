// Decides ordinary calls through the Node package: PACK STORE COUNT.

import { Guard } from 'midrail';

const [pack, store, count] = process.argv.slice(2);
const guard = new Guard({ packs: [pack], store });
for (let number = 0; number < Number(count); number += 1) {
  const run = guard.session(`s-${Math.floor(number / 100)}`);
  const decision = await run.beforeTool('Read', { file_path: `/tmp/none/${number}.txt` });
  if (decision.effect !== 'allow') throw new Error(`the call ${number} was not allowed: ${decision.reason}`);
}
