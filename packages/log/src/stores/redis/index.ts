import type { LogStore } from '../../store/log-store.ts'
import { type ClientSettings, serverAt, serverOf } from './connection.ts'
import { Keys } from './keys.ts'
import { RedisStore } from './store.ts'

export interface RedisOptions {
  /**
   * `redis://user:password@host:port/database`, or `rediss://` for TLS: one server of version 7 or later. What an acknowledged append survives is
   * that server's to say:
   *
   * - `appendonly no`: nothing but its next save; a restart takes the log back to the last one.
   * - `appendonly yes`, `appendfsync everysec`: an orderly end. A crash or a power cut may take the last second, or two while the disk is slow.
   * - `appendonly yes`, `appendfsync always`: a crash and a power cut, too, as far as the disk keeps its word.
   * - A failover to a replica may take what the replica had not received, whatever the setting: replication is asynchronous.
   *
   * Whatever is lost is lost from the end, and not in silence: a writer that had more acknowledged is told `regressed`, a reader that had read more
   * `truncated`. After an older copy of the data was put back, call `restored`. Let it evict nothing (`maxmemory-policy noeviction`).
   */
  readonly url?: string
  /** Instead of a url, a client of the `redis` package: the store connects as it does, with connections of its own, and leaves it alone. */
  readonly client?: ClientSettings
  /** What all its keys and channels begin with; `millrace:` unless said. It holds no brace. */
  readonly prefix?: string
  /** How many milliseconds a connection or a command may take before the call rejects as `unavailable`; 5,000 unless said. */
  readonly timeout?: number
}

/** A store in Redis. It connects at the first call; several processes may use one. */
export function redisStore({ url = '', client, prefix = 'millrace:', timeout = 5_000 }: RedisOptions): LogStore {
  return new RedisStore(client ? serverOf(client, timeout) : serverAt(url, timeout), new Keys(prefix))
}
