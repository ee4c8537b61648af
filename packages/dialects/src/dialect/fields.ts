import type { FinishReason } from '@millrace/protocol'

/** The fields that are there. */
export const defined = <T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } => {
  const found = {} as Record<string, unknown>
  for (const key in fields) if (fields[key] !== undefined) found[key] = fields[key]
  return found as { [K in keyof T]: Exclude<T[K], undefined> }
}

const FINISH_REASONS: ReadonlySet<unknown> = new Set<FinishReason>([
  'stop',
  'length',
  'tool-calls',
  'content-filter',
  'error',
  'other',
])

/** Why a message or a step ended, in our words, as most dialects have them; any other reason is another. */
export const finishReasonOf = (said: unknown): FinishReason | undefined =>
  said === undefined || FINISH_REASONS.has(said) ? (said as FinishReason | undefined) : 'other'
