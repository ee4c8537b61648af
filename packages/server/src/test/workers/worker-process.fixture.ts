// A worker process: `worker-process.fixture.ts <file>`. It prints a line when it is ready and exits when its input ends.

import { openStore } from '@millrace/log'
import { createWorker } from '@millrace/runtime'
import { pidAgent } from './pid-agent.fixture.ts'

const store = await openStore(`sqlite:${process.argv[2]}`)
const worker = createWorker({ store, agents: [pidAgent], engine: { pollMs: 20 } })
console.log('ready')
process.stdin.resume().once('end', async () => {
  await worker.stop()
  await store.close()
})
