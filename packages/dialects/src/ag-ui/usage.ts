import type { Usage } from '@millrace/protocol'
import type { AgUiUsage } from './event.ts'

const NAMES = {
  inputTokens: 'inputTokens',
  outputTokens: 'outputTokens',
  totalTokens: 'totalTokens',
  reasoningTokens: 'reasoningTokens',
  cachedTokens: 'cachedInputTokens',
  cacheWriteTokens: 'cacheWriteInputTokens',
} as const satisfies Record<keyof Usage, keyof AgUiUsage>

/** What a run used, by model. */
export class UsageByModel {
  readonly #byModel = new Map<string | undefined, AgUiUsage>()

  add(usage: Usage, model: string | undefined): void {
    const sum: Record<string, unknown> = { ...(this.#byModel.get(model) ?? (model !== undefined && { model })) }
    for (const [ours, theirs] of Object.entries(NAMES) as [keyof Usage, string][]) {
      const count = usage[ours]
      if (count !== undefined) sum[theirs] = Math.min(((sum[theirs] as number) ?? 0) + count, Number.MAX_SAFE_INTEGER)
    }
    this.#byModel.set(model, sum)
  }

  get all(): AgUiUsage[] {
    return [...this.#byModel.values()]
  }
}
