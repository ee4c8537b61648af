// What a backend gives to whoever uses it without us: rows, or elements of a list, one an entry, with no fence, no proof and no ticket.
import type { Backend, FollowedTarget } from './target.ts'

/** Logs by number, used as directly as the backend's client allows. */
export interface Raw {
  /** Appends entries in one go: a transaction, a pipeline, a statement. */
  append(log: number, texts: readonly string[]): void | Promise<void>
  /** All that a log holds. */
  read(log: number): Promise<string[]>
  /** Hands out what is appended from now on to so many logs. */
  follow(logs: number, take: (log: number, texts: readonly string[]) => void): Promise<void>
}

/** So many logs of the raw client of a backend. */
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
    follow: take =>
      raw.follow(logs, (log, texts) =>
        take(
          log,
          texts.map(text => JSON.parse(text)),
        ),
      ),
  }
}

async function openRaw(backend: Backend): Promise<Raw> {
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
