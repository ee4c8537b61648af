import { EventEmitter, once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import type { SchemaCheck } from './perform-check.ts'
import {
  MAX_WAITING_CHECKS,
  SchemaWorker,
  type SchemaWorkerOptions,
  startSchemaWorker,
  type WorkerCheck,
} from './schema-worker.ts'

const EVIL: SchemaCheck = { schema: { pattern: '^(a+)+$' }, value: `${'a'.repeat(60)}!` }
const GOOD: SchemaCheck = { schema: { pattern: '^a$' }, value: 'a' }
const VALID = { problems: [] }

/** A worker that the test closes, and its threads. */
function schemaWorker({ start = startSchemaWorker, ...options }: SchemaWorkerOptions = {}) {
  const threads: Worker[] = []
  const worker = new SchemaWorker({
    ...options,
    start: memoryMib => {
      const thread = start(memoryMib)
      threads.push(thread)
      return thread
    },
  })
  onTestFinished(() => worker.close())
  const run = (check: SchemaCheck, others: Partial<WorkerCheck> = {}) => {
    const hooks = { beforeStart: () => {}, afterEnd: () => {} }
    return worker.run({ check, timeoutMs: 50, caller: 'a', maxWaiting: 5000, ...hooks, ...others })
  }
  return { worker, run, threads }
}

/** Starts a thread with other code the first time, and the real one from then on. */
function startFirstWith(code: string): NonNullable<SchemaWorkerOptions['start']> {
  let starts = 0
  return memoryMib => (starts++ === 0 ? new Worker(code, { eval: true }) : startSchemaWorker(memoryMib))
}

const REPORT_START =
  "const { parentPort } = require('node:worker_threads'); parentPort.postMessage({ kind: 'started' });"

test('starts no thread before the first check, and one thread for all checks', async () => {
  const { run, threads } = schemaWorker()
  expect(threads).toHaveLength(0)
  expect(await Promise.all([run(GOOD), run({ ...GOOD, value: 'b' }), run(GOOD, { caller: 'b' })])).toEqual([
    VALID,
    { problems: ['String does not match pattern'] },
    VALID,
  ])
  expect(threads).toHaveLength(1)
})

test('aborts a check at its deadline, reports its CPU time, and performs the next check in the same thread', async () => {
  const { run, threads } = schemaWorker()
  const cpuMs: number[] = []
  const evil = run(EVIL, { afterEnd: ms => void cpuMs.push(ms) })
  const next = run(GOOD)
  expect(await evil).toEqual({ failure: 'it cannot be checked within 50 ms' })
  expect(cpuMs[0]).toBeGreaterThanOrEqual(25)
  expect(await next).toEqual(VALID)
  expect(threads).toHaveLength(1)
})

test('lets callers take turns', async () => {
  const { run } = schemaWorker()
  const order: string[] = []
  const ask = (caller: string) => run(GOOD, { caller, afterEnd: () => void order.push(caller) })
  await Promise.all(['a', 'a', 'a', 'b', 'b', 'c'].map(ask))
  expect(order).toEqual(['a', 'a', 'b', 'c', 'a', 'b'])
})

test('keeps this thread free during checks that take long', async () => {
  const { run } = schemaWorker()
  let areDone = false
  const evil = Promise.all(Array.from({ length: 10 }, () => run(EVIL))).then(outcomes => {
    areDone = true
    return outcomes
  })
  let turns = 0
  while (!areDone) {
    await new Promise(setImmediate)
    turns++
  }
  expect(await evil).toHaveLength(10)
  // A blocked thread would have a few turns: one for each check.
  expect(turns).toBeGreaterThan(100)
})

test('terminates and replaces a thread that does not abort its check', async () => {
  const { run, threads } = schemaWorker({ start: startFirstWith(`${REPORT_START} for (;;);`) })
  const stuck = run(GOOD, { timeoutMs: 1 })
  const next = run(GOOD, { timeoutMs: 1000 })
  expect(await stuck).toEqual({ failure: 'it cannot be checked within 1 ms' })
  expect(await next).toEqual(VALID)
  expect(threads.map(({ threadId }) => threadId > 0)).toEqual([false, true])
})

test('repeats a check whose thread was killed', async () => {
  const { run, threads } = schemaWorker({ start: startFirstWith(`${REPORT_START} process.exit()`) })
  expect(await run(GOOD)).toEqual(VALID)
  await threads[1]?.terminate()
  // A thread that ended without a check is replaced too.
  expect(await run(GOOD)).toEqual(VALID)
  expect(threads).toHaveLength(3)
})

test('fails a check during which two threads end, and performs the next one', async () => {
  const first = startFirstWith(`${REPORT_START} process.exit()`)
  const second = startFirstWith(`${REPORT_START} process.exit()`)
  let starts = 0
  const { run } = schemaWorker({ start: memoryMib => (starts++ === 0 ? first : second)(memoryMib) })
  const failed = run(GOOD)
  const next = run(GOOD)
  expect(await failed).toEqual({ failure: 'it cannot be checked: its check ended the worker thread' })
  expect(await next).toEqual(VALID)
})

test('fails a check that needs too much memory, and replaces the thread', async () => {
  const { run, threads } = schemaWorker({ memoryMib: 16 })
  const value = Array.from({ length: 300_000 }, (_, n) => ({ n, text: `${n}` }))
  expect(await run({ schema: {}, value }, { timeoutMs: 5000 })).toEqual({
    failure: 'it cannot be checked with 16 MiB of memory',
  })
  expect(await run(GOOD)).toEqual(VALID)
  expect(threads).toHaveLength(2)
})

test('close rejects the check in flight, waiting and later ones, and leaves no thread', async () => {
  const { worker, run, threads } = schemaWorker()
  const evil = run(EVIL, { timeoutMs: 60_000 })
  const waiting = run(GOOD)
  await once(threads[0] as Worker, 'message')
  const checks = Promise.allSettled([evil, waiting])
  await worker.close()
  expect(threads[0]?.threadId).toBe(-1)
  const closed = { code: 'runtime_closed' }
  expect(await checks).toMatchObject([{ reason: closed }, { reason: closed }])
  await expect(run(GOOD)).rejects.toMatchObject(closed)
  expect(threads).toHaveLength(1)
})

test('close before the first check starts nothing', async () => {
  const { worker, run, threads } = schemaWorker()
  await worker.close()
  await expect(run(GOOD)).rejects.toMatchObject({ code: 'runtime_closed' })
  expect(threads).toHaveLength(0)
})

test('law 8: rejects checks above the limit of a caller, and above the limit of all callers', async () => {
  const { worker, run } = schemaWorker()
  const own = Array.from({ length: 1000 }, () => run(EVIL, { timeoutMs: 60_000, maxWaiting: 64 }))
  const others = Array.from({ length: 1000 }, (_, n) => run(GOOD, { caller: `b${n}` }))
  const settled = Promise.allSettled([...own, ...others])
  // 64 wait, and one is in the worker.
  const reasons = await Promise.allSettled(own.slice(65))
  expect(reasons).toHaveLength(935)
  for (const each of reasons) {
    expect(each).toMatchObject({ reason: { code: 'checks_limit', retryable: true, retryAfterMs: expect.any(Number) } })
  }
  await expect(others[MAX_WAITING_CHECKS - 64]).rejects.toMatchObject({ code: 'checks_limit' })
  await worker.close()
  await settled
})

test('keeps the process alive only during a check', async () => {
  const calls: string[] = []
  const thread = Object.assign(new EventEmitter(), {
    ref: () => calls.push('ref'),
    unref: () => calls.push('unref'),
    terminate: async () => 0,
    postMessage: () => {
      thread.emit('message', { kind: 'started' })
      thread.emit('message', { kind: 'done', outcome: VALID, cpuMs: 1 })
    },
  })
  const { run } = schemaWorker({ start: () => thread as never })
  await run(GOOD)
  expect(calls).toEqual(['ref', 'unref'])
})
