// The demo for whoever speaks HTTP: `npm start` in the root of the project runs this, and the page at its address shows the rest.

import { join } from 'node:path'
import { millrace } from 'millrace'
import { agents, workflows } from './agents.ts'

const app = millrace({
  agents,
  workflows,
  static: join(import.meta.dirname, 'public'),
  // Somebody waits in front of it: killed and started again it takes its runs up this soon, and stopped it lets them go this soon.
  log: { leaseMs: 5_000 },
  engine: { graceMs: 1_000 },
})
const { url, close } = await app.listen({ port: Number(process.env['PORT'] || 4400) })
console.log(`Millrace is up at ${url}`)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, close)
