import type { Engine, InProcessOptions } from '../drive/engine.ts'
import { createRuntime, type Runtime } from './runtime.ts'
import type { RuntimeOptions } from './runtime-options.ts'

/** A process that only drives runs. It stays alive until it is stopped. */
export interface Worker {
  readonly runtime: Runtime
  /** Hands over all runs. */
  stop(): Promise<void>
}

/**
 * Creates a runtime that drives the runs of a store and keeps the process alive.
 * @throws {ValidationError} if an option is invalid.
 */
export function createWorker(
  options: Omit<RuntimeOptions, 'engine'> & { readonly engine?: Engine | InProcessOptions },
): Worker {
  const engine = options.engine ?? {}
  const runtime = createRuntime({ ...options, engine: 'start' in engine ? engine : { keepsAlive: true, ...engine } })
  return { runtime, stop: () => runtime.close() }
}
