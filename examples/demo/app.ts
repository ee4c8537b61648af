// The demo. `npm start` in the root of the project serves it with the studio.

import { millrace } from 'millrace'
import { agents, workflows } from './agents.ts'

export const app = millrace({
  agents,
  workflows,
  engine: { graceMs: 1_000 },
})
