import * as redis from 'redis'
import type { LogStore } from '../../store/log-store.ts'
import { createRedisStore, type RedisOptions } from './redis-store.ts'

export type { RedisOptions } from './redis-store.ts'

/** A store in Redis. It connects at the first call; several processes may use one. */
export const redisStore = (options: RedisOptions): LogStore => createRedisStore(redis, options)
