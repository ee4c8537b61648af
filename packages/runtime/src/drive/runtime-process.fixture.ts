// A process with a SQLite file that runs an idle runtime, a runtime that waits for others, or a worker.

import { sqliteStore } from '@millrace/log/sqlite'
import { z } from 'zod'
import { agent, createRuntime, createWorker, scriptedModel, tool } from '../index.ts'

const [, , scenario, path = ''] = process.argv

const testAgent = agent({
  name: 'clerk',
  model: scriptedModel(({ answers }) =>
    answers === 0 ? { text: 'Wait.', calls: [{ name: 'pid', input: {} }] } : { text: ' Done.' },
  ),
  tools: [tool({ name: 'pid', inputSchema: z.object({}), execute: () => process.pid })],
})

const options = { store: sqliteStore({ path }), agents: [testAgent] }
if (scenario === 'runtime') createRuntime(options)
else if (scenario === 'waiter') {
  const run = await createRuntime({ ...options, engine: false }).start({
    session: 'w',
    agent: testAgent,
    input: 'Hello',
  })
  run.result().then(({ status }) => console.log(status))
} else {
  const worker = createWorker(options)
  process.once('SIGTERM', async () => {
    await worker.stop()
    await options.store.close()
  })
}
console.log('ready')
