// Options of an app that differ in a dev host.

import type { LogStore } from '@millrace/log'
import { consoleLogger } from '@millrace/runtime'
import type { MillraceOptions } from '@millrace/server'
import { AUTHORIZE_MISSING } from '@millrace/server/internal'

const GRACE_MS = 1_000

/** Drops the warning about a missing `authorize`: a dev host is local, and would log it on every restart. */
export function withoutAuthorizeWarning({ logger = consoleLogger, ...options }: MillraceOptions): MillraceOptions {
  return {
    ...options,
    logger: {
      warn: (message, fields) => {
        if (fields['code'] !== AUTHORIZE_MISSING) logger.warn(message, fields)
      },
      error: (message, fields) => logger.error(message, fields),
    },
  }
}

/** Shortens the grace period, so that a developer does not wait for a stopped worker. */
export function withShortGrace({ engine, ...options }: MillraceOptions): MillraceOptions {
  const isEngineOfApp = engine !== undefined && engine !== false && 'start' in engine
  return {
    ...options,
    engine: isEngineOfApp ? engine : { graceMs: GRACE_MS, ...engine },
  }
}

/** Whether a store is in the memory of one process, invisible to other processes. */
export async function isMemoryStore(store: MillraceOptions['store']): Promise<boolean> {
  if (store === undefined) return false
  if (typeof store === 'string') return /^memory:/i.test(store)
  // The app may use another copy of the package, so compare the name of the class instead of `instanceof`.
  const opened: LogStore = await store
  return opened.constructor.name === 'MemoryStore'
}
