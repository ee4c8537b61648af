import { checkObject } from '../error/check-object.ts'
import { ValidationError } from '../error/error.ts'

/** Limits of one model answer. `Infinity` means no limit. */
export interface ModelLimits {
  /**
   * Maximum time from the request until the first part of the answer, in ms. With `stream: false` of `useReason`, until
   * the whole answer.
   * @default 300_000
   */
  readonly firstPartMs: number
  /** Maximum time between two parts of the answer, in ms. @default 180_000 */
  readonly idleMs: number
  /**
   * Maximum size of the answer as the provider sends it, in bytes: text, reasoning, tool input, files, sources, results
   * of provider tools and metadata, and 64 bytes for each part.
   * @default 33_554_432
   */
  readonly answerBytes: number
  /**
   * Maximum number of output tokens, estimated while the answer streams: one for each 4 bytes of text, reasoning and tool
   * input.
   * @default 1_000_000
   */
  readonly answerTokens: number
}

export const DEFAULT_MODEL_LIMITS: ModelLimits = {
  firstPartMs: 300_000,
  idleMs: 180_000,
  answerBytes: 32 * 1024 * 1024,
  answerTokens: 1_000_000,
}

/**
 * Adds `defaults` to limits. `owner` names them in error messages.
 * @throws {ValidationError} if a limit is unknown or not above 0.
 */
export function modelLimitsOf(
  owner: string,
  limits: Partial<ModelLimits> = {},
  defaults: ModelLimits = DEFAULT_MODEL_LIMITS,
): ModelLimits {
  checkObject(owner, limits)
  for (const [limit, value] of Object.entries(limits)) {
    if (!Object.hasOwn(DEFAULT_MODEL_LIMITS, limit)) {
      const names = Object.keys(DEFAULT_MODEL_LIMITS).join(', ')
      throw new ValidationError(`${owner}: expected ${names}, found ${limit.slice(0, 60)}`)
    }
    if (typeof value === 'number' && value > 0) continue
    throw new ValidationError(`${owner}: ${limit}: expected a number above 0, found ${value}`)
  }
  return { ...defaults, ...limits }
}
