// The worker thread for checks with untrusted schemas. It has one check at a time, so that a deadline concerns one check.

import { parentPort } from 'node:worker_threads'
import { performCheck, type SchemaCheck } from './perform-check.ts'
import { runWithTimeout } from './run-with-timeout.ts'
import type { WorkerAnswer, WorkerTask } from './schema-worker.ts'

const port = parentPort as NonNullable<typeof parentPort>

port.on('message', ({ checkJson, timeoutMs }: WorkerTask) => {
  answer({ kind: 'started' })
  const { value, cpuMs } = runWithTimeout(timeoutMs, () => performCheck(JSON.parse(checkJson) as SchemaCheck))
  answer({ kind: 'done', outcome: value ?? { failure: `it cannot be checked within ${timeoutMs} ms` }, cpuMs })
})

function answer(message: WorkerAnswer): void {
  port.postMessage(message)
}
