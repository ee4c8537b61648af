import type { RawLogs } from './raw.ts'

/** One array per log. */
export function rawMemory(): RawLogs {
  const logs: string[][] = []
  const logOf = (log: number): string[] => {
    logs[log] ??= []
    return logs[log]
  }
  let notify: ((log: number, texts: readonly string[]) => void) | undefined
  return {
    append(log, texts) {
      logOf(log).push(...texts)
      notify?.(log, texts)
    },
    read: async log => logOf(log),
    async follow(_logs, onTexts) {
      notify = onTexts
    },
  }
}
