// Our server as an application uses it, without a limit on concurrent runs.
import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { Run, Runtime } from '@millrace/runtime'
import { onCleanup, openOnce } from '../../harness/cleanup.ts'
import { OWN_FILE, openStore } from '../log/ours.ts'
import type { Backend } from '../log/target.ts'

/** Unreachable limit on runs, streams and sessions. */
const NO_LIMIT = 1_000_000

/** Name of the agent that the server runs. */
export const AGENT = 'bench'

export interface RunServer {
  readonly runtime: Runtime
  readonly port: number
  /** Sets the model of these runs until `work` has settled. */
  withModel<T>(runIds: readonly string[], model: LanguageModelV4, work: () => Promise<T>): Promise<T>
  /** Starts a run in a session whose id is the run id. */
  start(runId: string): Promise<Run>
}

/** A server, one per process. Deltas are coalesced for `coalesceMs` ms. Its agent has the tool `echo`, which needs approval. */
export const openRunServer = openOnce(async (backend: Backend, coalesceMs: number): Promise<RunServer> => {
  const { agent, tool } = await import('@millrace/runtime')
  const { millrace } = await import('@millrace/server')
  const { z } = await import('zod')
  const models = new Map<string, LanguageModelV4>()
  const echo = tool({
    name: 'echo',
    inputSchema: z.object({ text: z.string() }),
    approval: true,
    execute: input => input,
  })
  const program = agent({
    name: AGENT,
    model: ({ runId }) => {
      const model = models.get(runId)
      if (model === undefined) throw new Error(`no model for run ${runId}: call withModel first`)
      return model
    },
    tools: [echo],
    budget: { tokens: Number.POSITIVE_INFINITY },
  })
  const app = millrace({
    store: await openStore(backend, OWN_FILE),
    agents: [program],
    engine: { concurrency: NO_LIMIT },
    log: { coalesceMs },
    limits: { streams: NO_LIMIT, sessions: NO_LIMIT, requestsPerMinute: 1e9 },
    logger: { warn: () => {}, error: (...args: unknown[]) => console.error(...args) },
  })
  const { port, close } = await app.listen({ port: 0 })
  onCleanup(close)
  const runtime = await app.runtime()
  return {
    runtime,
    port,
    async withModel(runIds, model, work) {
      for (const runId of runIds) models.set(runId, model)
      try {
        return await work()
      } finally {
        for (const runId of runIds) models.delete(runId)
      }
    },
    start: runId => runtime.start({ session: runId, agent: program, runId, input: 'Go.' }),
  }
})
