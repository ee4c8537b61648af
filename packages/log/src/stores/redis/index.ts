import * as redis from 'redis'
import type { LogStore } from '../../store/log-store.ts'
import { createRedisStore, type RedisOptions } from './redis-store.ts'

export type { RedisOptions } from './redis-store.ts'

/**
 * Opens a store in Redis, which several processes may share. It connects at the first call.
 *
 * @throws LogError `invalid` if an option is invalid.
 */
export const redisStore = (options: RedisOptions): LogStore => createRedisStore(redis, options)
