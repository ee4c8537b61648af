import type { FinishReason } from '@millrace/protocol'

/** Copies an object without its undefined fields. */
export const defined = <T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } => {
  const copy = {} as Record<string, unknown>
  for (const key in fields) if (fields[key] !== undefined) copy[key] = fields[key]
  return copy as { [K in keyof T]: Exclude<T[K], undefined> }
}

const FINISH_REASONS: ReadonlySet<unknown> = new Set<FinishReason>([
  'stop',
  'length',
  'tool-calls',
  'content-filter',
  'error',
  'other',
])

/** Maps the finish reason of a dialect to ours. Most dialects share our values; any other value is `other`. */
export const finishReasonOf = (reason: unknown): FinishReason | undefined =>
  reason === undefined || FINISH_REASONS.has(reason) ? (reason as FinishReason | undefined) : 'other'
