// The demo for whoever speaks HTTP: `npm start` in the root of the project runs this, and the page at its address shows the rest.

import { join } from 'node:path'
import { millrace } from 'millrace'
import { agents, workflows } from './agents.ts'

const app = millrace({
  agents,
  workflows,
  static: join(import.meta.dirname, 'public'),
  // Killed and started again, it takes its runs up after this long; the usual time is for processes that share a store.
  log: { leaseMs: 5_000 },
})
const { url, close } = await app.listen({ port: Number(process.env['PORT'] || 4400) })
console.log(`Millrace is up at ${url}`)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void close())
