// The demo for whoever speaks HTTP: `npm start` in the root of the project serves it, with the studio.

import { millrace } from 'millrace'
import { agents, workflows } from './agents.ts'

export const app = millrace({
  agents,
  workflows,
  // Somebody waits in front of it: killed and started again it takes its runs up this soon, and stopped it lets them go this soon.
  log: { leaseMs: 3_000 },
  engine: { graceMs: 1_000 },
})
