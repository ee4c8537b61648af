import { agent, scriptedModel, tool } from '@millrace/runtime'
import { z } from 'zod'

const where = tool({ name: 'where', inputSchema: z.object({}), execute: () => process.pid })

/** Reports the process in which its tool ran. */
export const pidAgent = agent({
  name: 'pid',
  model: scriptedModel([{ calls: [{ name: 'where', input: {} }] }, { text: 'There.' }]),
  tools: [where],
})
