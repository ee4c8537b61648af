// The backend's own client: one row or list element per entry, without fencing, proofs or tickets.
import type { Backend, FollowedTarget } from './target.ts'

/** Logs by number, accessed directly with the backend's client. */
export interface RawLogs {
  /** Appends entries in one transaction, pipeline or statement. */
  append(log: number, texts: readonly string[]): void | Promise<void>
  /** All entries of a log. */
  read(log: number): Promise<string[]>
  /** Calls `onTexts` with the entries that are appended from now on. */
  follow(logs: number, onTexts: (log: number, texts: readonly string[]) => void): Promise<void>
}

/** Logs of the raw client of a backend. */
export async function rawTarget(backend: Backend, logs: number): Promise<FollowedTarget> {
  const raw = await openRaw(backend)
  const heads = Array.from({ length: logs }, () => 0)
  return {
    append(log, { texts }) {
      heads[log] = (heads[log] ?? 0) + texts.length
      return raw.append(log, texts)
    },
    head: log => heads[log] ?? 0,
    read: async (log, from, to) => (await raw.read(log)).slice(from, to),
    expected: ({ texts }) => texts,
    chunks: ({ texts }) => texts.map(text => JSON.parse(text).chunk),
    follow: onEntries =>
      raw.follow(logs, (log, texts) =>
        onEntries(
          log,
          texts.map(text => JSON.parse(text)),
        ),
      ),
  }
}

async function openRaw(backend: Backend): Promise<RawLogs> {
  switch (backend) {
    case 'memory':
      return (await import('./raw-memory.ts')).rawMemory()
    case 'sqlite':
      return (await import('./raw-sqlite.ts')).rawSqlite('NORMAL')
    case 'sqlite-full':
      return (await import('./raw-sqlite.ts')).rawSqlite('FULL')
    case 'redis':
      return (await import('./raw-redis.ts')).rawRedis()
    case 'postgres':
      return (await import('./raw-postgres.ts')).rawPostgres()
  }
}
