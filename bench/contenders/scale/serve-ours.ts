// A request starts one of our runs, and the response streams it.
import type { Backend } from '../log/target.ts'
import { AGENT, openRunServer } from './ours.ts'
import type { AnswerServer } from './streaming.ts'

export async function serveOurs(backend: Backend): Promise<AnswerServer> {
  const { port, withModel } = await openRunServer(backend, 16)
  return {
    port,
    requestFor: name => ({
      path: `/api/sessions/${name}/runs`,
      body: JSON.stringify({ agent: AGENT, runId: name, input: 'Go.' }),
    }),
    withModel,
  }
}
