// All connections to MCP servers of a process share one checker, and so at most one worker thread.

import { SchemaChecker } from '../schema/schema-checker.ts'

let shared: { readonly checker: SchemaChecker; users: number } | undefined

/** The shared checker, as one of its users uses it. */
export interface CheckerLease {
  readonly checker: SchemaChecker
  /** Closes the checker after its last user. */
  release(): Promise<void>
}

/** Uses the shared checker. */
export function acquireChecker(): CheckerLease {
  shared ??= { checker: new SchemaChecker({ now: () => performance.now() }), users: 0 }
  const used = shared
  used.users++
  let released: Promise<void> | undefined
  const release = async () => {
    used.users--
    if (used.users > 0) return
    if (shared === used) shared = undefined
    await used.checker.close()
  }
  return {
    checker: used.checker,
    release() {
      released ??= release()
      return released
    },
  }
}
