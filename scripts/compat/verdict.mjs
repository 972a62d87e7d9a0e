// Turns the runs of one behaviour into a verdict. A run is `{ reached, bad, lacks, late, output }`: whether the agent reached the
// model, the unwanted events that happened, what else is missing for a pass, whether it ran out of time, and its last output.

export const HOLDS = '✓';
export const FAILED = '✗';
export const HOST = '–';
export const UNPROVED = '!';
export const NOT_RUN = '?';

const summarise = (items) => (items.length > 4 ? `${items.slice(0, 4).join('; ')}; and ${items.length - 4} more` : items.join('; '));

/**
 * Why a pass would prove nothing, or an empty string. A behaviour that protects (`items` must not happen) needs a control without
 * Midrail and a guard that allows everything, and all its items must happen in both. A behaviour that permits (`permits`) needs a
 * control in which nothing is amiss and a guard that is too strict, with which something is.
 */
export function proof({ items, permits }, control, broken) {
  if (!control.reached) return `without Midrail, the agent does not reach the model: ${control.output}`;
  if (permits) {
    if (control.bad.length) return `without Midrail: ${summarise(control.bad)}`;
    return broken.bad.length ? '' : 'a guard that is too strict makes no difference';
  }
  const absent = (run) => items.filter((item) => !run.bad.includes(item));
  if (absent(control).length) return `without Midrail, this does not happen: ${summarise(absent(control))}`;
  if (!broken.reached) return `with a guard that allows everything, the agent does not reach the model: ${broken.output}`;
  if (absent(broken).length) return `with a guard that allows everything, this does not happen: ${summarise(absent(broken))}`;
  return '';
}

/**
 * The verdict of a guarded run. `limit` is a known limit of the host: `{ why, instead }`, and `unprovable` if the limit
 * also prevents a control or a broken guard from making a difference.
 */
export function verdict({ guarded, limit, unproved = '', mayStaySilent = false, patient = false }) {
  const known = limit && { value: HOST, why: limit.why, instead: limit.instead };
  if (unproved) return limit?.unprovable ? known : { value: UNPROVED, why: unproved };
  if (!guarded.reached && !mayStaySilent) return { value: FAILED, why: `the agent does not reach the model: ${guarded.output}` };
  const amiss = [...guarded.bad, ...guarded.lacks];
  if (amiss.length) return known ?? { value: FAILED, why: summarise(amiss) };
  if (guarded.late && !patient) return { value: FAILED, why: 'the agent did not end in time' };
  return { value: HOLDS, why: guarded.late ? 'the agent waits as long as the program' : '' };
}

/** The exit code of a run: 0 only if every cell holds or shows a known limit of its host, and at least one was run. */
export function exitCode(cells, { allowMissing = false } = {}) {
  const isFailure = ({ value, missing }) => [FAILED, UNPROVED].includes(value) || (value === NOT_RUN && !(missing && allowMissing));
  if (cells.some(isFailure)) return 1;
  return cells.some(({ value }) => value === HOLDS || value === HOST) ? 0 : 2;
}
