import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgres } from '../../scripts/services/postgres.ts'
import { redis } from '../../scripts/services/redis.ts'

/** Services that a benchmark can require: a server, or a folder on disk. */
export type ServiceName = 'redis' | 'postgres' | 'folder'

interface Running {
  url: string
  stop(): Promise<void>
}

// All contenders get the same durability: Redis flushes its append-only file every second, Postgres at each commit. Redis never rewrites its
// file, because a rewrite would slow down the contender that is being measured.
const starts: Record<ServiceName, () => Promise<Running>> = {
  redis: () =>
    redis({
      settings: { appendonly: 'yes', appendfsync: 'everysec', 'auto-aof-rewrite-percentage': '0' },
      isOnDisk: true,
    }),
  postgres: () => postgres({ settings: { synchronous_commit: 'on' }, isOnDisk: true }),
  folder: async () => {
    const url = mkdtempSync(join(tmpdir(), 'millrace-bench-'))
    const remove = () => rmSync(url, { recursive: true, force: true })
    process.once('exit', remove)
    return {
      url,
      stop: async () => {
        process.off('exit', remove)
        remove()
      },
    }
  },
}

const variable = (name: ServiceName): string => `MILLRACE_BENCH_${name.toUpperCase()}`

/** Starts each service on first use, once per run. Measuring processes find it with `serviceUrl`. */
export class Services {
  readonly #running = new Map<ServiceName, Promise<Running>>()

  async need(names: readonly ServiceName[]): Promise<void> {
    for (const name of names) {
      const started = this.#running.get(name) ?? starts[name]()
      this.#running.set(name, started)
      process.env[variable(name)] = (await started).url
    }
  }

  /** Stops all started services. */
  async stop(): Promise<void> {
    for (const [name, started] of this.#running) {
      delete process.env[variable(name)]
      await (await started).stop()
    }
    this.#running.clear()
  }
}

/** Returns the URL or path of a service that this process or its parent started. */
export function serviceUrl(name: ServiceName): string {
  const url = process.env[variable(name)]
  if (url === undefined) throw new Error(`service '${name}' was not started: add it to the benchmark's needs`)
  return url
}
