import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgres } from '../../scripts/services/postgres.ts'
import { redis } from '../../scripts/services/redis.ts'

/** What a benchmark may need beside its own process: a server, or a folder on a disk. */
export type ServiceName = 'redis' | 'postgres' | 'folder'

interface Running {
  url: string
  stop(): Promise<void>
}

// What is acknowledged is in Redis's file within a second and on Postgres's disk at once, for everybody. Redis does not rewrite its file, which
// would fall on whoever is measured then.
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

/** Starts each service when it is first needed, once for a run; the processes that measure find it by `serviceUrl`. */
export class Services {
  readonly #running = new Map<ServiceName, Promise<Running>>()

  async need(names: readonly ServiceName[]): Promise<void> {
    for (const name of names) {
      const started = this.#running.get(name) ?? starts[name]()
      this.#running.set(name, started)
      process.env[variable(name)] = (await started).url
    }
  }

  /** Ends all that was started. */
  async stop(): Promise<void> {
    for (const [name, started] of this.#running) {
      delete process.env[variable(name)]
      await (await started).stop()
    }
    this.#running.clear()
  }
}

/** Where a service is that this process, or the one that started it, needs. */
export function serviceUrl(name: ServiceName): string {
  const url = process.env[variable(name)]
  if (url === undefined) throw new Error(`the benchmark does not say that it needs '${name}'`)
  return url
}
