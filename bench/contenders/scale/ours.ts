// Our server as an application has it, which drives as many runs at once as are asked for.
import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { Run, Runtime } from '@millrace/runtime'
import { atEnd, opened } from '../../harness/closing.ts'
import { OWN_FILE, openStore } from '../log/ours.ts'
import type { Backend } from '../log/target.ts'

/** More than any benchmark has. */
const MOST = 1_000_000

export interface Serving {
  readonly runtime: Runtime
  readonly port: number
  /** Starts a run of that model in a session of the same name, for as long as it is used. */
  withRun<T>(runId: string, model: LanguageModelV4, use: (run: Run) => Promise<T>): Promise<T>
}

/** A server on such a store, one for a process, whose agent has the tool `echo`, which waits for approval. */
export const openServing = opened(async (backend: Backend): Promise<Serving> => {
  const { agent, tool } = await import('@millrace/runtime')
  const { millrace } = await import('@millrace/server')
  const { z } = await import('zod')
  const models = new Map<string, LanguageModelV4>()
  const echo = tool({ name: 'echo', input: z.object({ text: z.string() }), approval: true, execute: said => said })
  const program = agent({
    name: 'bench',
    model: ({ runId }) => {
      const model = models.get(runId)
      if (model === undefined) throw new Error(`nobody said how ${runId} answers`)
      return model
    },
    tools: [echo],
    budget: { tokens: Number.POSITIVE_INFINITY },
  })
  const app = millrace({
    store: await openStore(backend, OWN_FILE),
    agents: [program],
    engine: { concurrency: MOST },
    limits: { streams: MOST, requestsPerMinute: 1e9 },
    logger: { warn: () => {}, error: (...said: unknown[]) => console.error(...said) },
  })
  const { port, close } = await app.listen({ port: 0 })
  atEnd(close)
  const runtime = await app.runtime()
  return {
    runtime,
    port,
    async withRun(runId, model, use) {
      models.set(runId, model)
      try {
        return await use(await runtime.start({ session: runId, agent: program, runId, input: 'Go.' }))
      } finally {
        models.delete(runId)
      }
    },
  }
})
