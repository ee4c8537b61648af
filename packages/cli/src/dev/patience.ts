import type { MillraceOptions } from '@millrace/server'

/** Somebody waits in front of a dev host: a worker that was killed is missed this soon, and one that goes lets its runs go this soon. */
export function impatient({ log, engine, ...options }: MillraceOptions): MillraceOptions {
  const isOwn = engine !== undefined && engine !== false && 'start' in engine
  return {
    ...options,
    log: { leaseMs: LEASE_MS, ...log },
    engine: isOwn ? engine : { graceMs: GRACE_MS, ...engine },
  }
}

const LEASE_MS = 3_000
const GRACE_MS = 1_000
