// A process whose observers hang, or close the runtime that calls them. It closes the runtime and prints what follows.

import { memoryStore, systemTimers, type Timers } from '@millrace/log'
import { agent, createRuntime, type Observer, type Runtime, scriptedModel } from '../index.ts'

const [, , scenario] = process.argv

/** Fast timers. */
const timers: Timers = {
  now: () => systemTimers.now(),
  after: (ms, call, isIdle) => systemTimers.after(ms / 20, call, isIdle),
}
const never = () => new Promise<never>(() => {})
let runtime: Runtime | undefined
let closings = 0
const close = async () => {
  await runtime?.close()
  if (++closings === 2) console.log('closed by both observers')
}
const observers: Record<string, Observer[]> = {
  hangs: [{ onFinished: never }],
  closes: [{ onFinished: close }, { onFinished: close }],
}

const testAgent = agent({ name: 'clerk', model: scriptedModel([{ text: 'Done.' }]) })
const store = memoryStore()
const logger = { warn: () => {}, error: () => {} }
runtime = createRuntime({ store, agents: [testAgent], timers, logger, observers: observers[scenario ?? ''] ?? [] })
const first = await runtime.start({ session: 's', agent: testAgent, input: 'Hello' })
await first.result()
await runtime.close()
await store.close()
console.log('the last line')
