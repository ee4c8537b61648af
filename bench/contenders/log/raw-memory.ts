import type { Raw } from './raw.ts'

/** An array a log. */
export function rawMemory(): Raw {
  const logs: string[][] = []
  const of = (log: number): string[] => {
    logs[log] ??= []
    return logs[log]
  }
  let tell: ((log: number, texts: readonly string[]) => void) | undefined
  return {
    append(log, texts) {
      of(log).push(...texts)
      tell?.(log, texts)
    },
    read: async log => of(log),
    async follow(_logs, take) {
      tell = take
    },
  }
}
