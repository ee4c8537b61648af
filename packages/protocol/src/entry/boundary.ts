/**
 * Chunks that open, commit and end lanes and runs. They change which writes are accepted, so no merge crosses them, in
 * any lane, and they are never internal (law 10).
 */
export const BOUNDARY_TYPES: ReadonlySet<string> = new Set([
  'checkpoint-created',
  'step-discarded',
  'subagent-start',
  'subagent-end',
  'run-started',
  'run-paused',
  'run-resumed',
  'run-finished',
  'executor-superseded',
  'rewind',
])
