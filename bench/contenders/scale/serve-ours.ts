// A request starts one of our runs, and the response streams it.
import type { Backend } from '../log/target.ts'
import { AGENT, openServing } from './ours.ts'
import type { AnswerServer } from './streaming.ts'

export async function serveOurs(backend: Backend): Promise<AnswerServer> {
  const { port, withModel } = await openServing(backend, 16)
  return {
    port,
    asking: name => ({
      path: `/api/sessions/${name}/runs`,
      body: JSON.stringify({ agent: AGENT, runId: name, input: 'Go.' }),
    }),
    withModel,
  }
}
