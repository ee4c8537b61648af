// The demo for whoever speaks HTTP: `npm start` in the root of the project runs this, with the page of studio.

import { type Listening, millrace } from 'millrace'
import { agents, workflows } from './agents.ts'

/** Serves the demo, and a page beside it, until the process is told to go. */
export async function serve(page: string, port: number): Promise<Listening> {
  const app = millrace({
    agents,
    workflows,
    static: page,
    // Somebody waits in front of it: killed and started again it takes its runs up this soon, and stopped it lets them go this soon.
    log: { leaseMs: 5_000 },
    engine: { graceMs: 1_000 },
  })
  const listening = await app.listen({ port })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, listening.close)
  return listening
}
