// A runtime with the agents and workflows of the demo, without pauses.

import './offline.fixture.ts'
import { type Chunk, createRuntime, memoryStore, type Part, type Run } from 'millrace'
import { afterEach, beforeEach, vi } from 'vitest'
import { agents, workflows } from './agents.ts'

/** A session of the demo, with a new runtime in each test. */
export function demoRuntime() {
  let runtime: ReturnType<typeof createRuntime>
  beforeEach(() => {
    vi.stubEnv('DEMO_PACE', '0')
    const logger = { warn: () => {}, error: console.error }
    runtime = createRuntime({ store: memoryStore(), agents, workflows, backoff: { firstMs: 1 }, logger })
  })
  afterEach(async () => {
    vi.unstubAllEnvs()
    await runtime.close()
  })
  return {
    session: 'session',
    get runtime() {
      return runtime
    },
    /** Sends a message to an agent, in the one session. */
    ask: (agent: string, input: string): Promise<Run> => runtime.start({ session: 'session', agent, input }),
    /** The view of the session. */
    view: async () => (await runtime.view('session')).view,
  }
}

/** All chunks of a run, to its end or pause. */
export async function chunksOf(run: Run): Promise<Chunk[]> {
  const chunks: Chunk[] = []
  for await (const { chunk } of run.stream()) chunks.push(chunk as Chunk)
  return chunks
}

/** Parts without `key` and `at`, and without step starts. */
export const partsWithoutPosition = (parts: readonly Part[] = []) =>
  parts.filter(({ type }) => type !== 'step-start').map(({ key, at, ...part }) => part)
