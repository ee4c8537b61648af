import type { Engine, InProcessOptions } from '../drive/engine.ts'
import { createRuntime, type Runtime } from './runtime.ts'
import type { RuntimeOptions } from './runtime-options.ts'

/** A process that only drives: it stays alive until it is stopped. */
export interface Worker {
  readonly runtime: Runtime
  /** Hands over what is driven here. */
  stop(): Promise<void>
}

/** Drives what others ask for, on the same store. */
export function createWorker(
  options: Omit<RuntimeOptions, 'engine'> & { readonly engine?: Engine | InProcessOptions },
): Worker {
  const engine = options.engine ?? {}
  const runtime = createRuntime({ ...options, engine: 'start' in engine ? engine : { keepsAlive: true, ...engine } })
  return { runtime, stop: () => runtime.close() }
}
