import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sqliteStore } from '@millrace/log/sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cachedEnv } from '../child-env.fixture.ts'
import { createRuntime } from '../index.ts'

let folder = ''
const children: ChildProcess[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-drive-'))
})

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await rm(folder, { recursive: true, force: true })
})

/** Starts a process and waits until it is ready. */
async function begun(scenario: 'runtime' | 'waiter' | 'worker', path: string): Promise<ChildProcess> {
  const program = fileURLToPath(new URL('runtime-process.fixture.ts', import.meta.url))
  const child = spawn(process.execPath, ['--conditions=@millrace/source', program, scenario, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: cachedEnv(),
  })
  children.push(child)
  const ended = once(child, 'exit').then(([code]) => {
    if (code !== 0) throw new Error(`it ended with ${code} before it was ready`)
  })
  await Promise.race([once(child.stdout as NonNullable<typeof child.stdout>, 'data'), ended])
  return child
}

async function exited(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

test('an idle runtime does not keep its process alive', async () => {
  const child = await begun('runtime', join(folder, 'idle.db'))
  await exited(child)
  expect(child.exitCode).toBe(0)
})

test('a worker drives runs that a server requests on the same file, and exits when stopped', async () => {
  const path = join(folder, 'shared.db')
  const worker = await begun('worker', path)
  const store = sqliteStore({ path })
  const server = createRuntime({ store, engine: false })
  const run = await server.start({ session: 's', agent: 'agent:clerk@1', input: 'Who are you?' })
  const result = await run.result()
  expect(result).toMatchObject({ status: 'completed', text: 'Wait. Done.' })
  const outputs = (result.message?.parts ?? []).flatMap(part => ('output' in part ? [part.output] : []))
  expect(outputs).toEqual([worker.pid])
  expect(worker.exitCode).toBeNull()
  worker.kill('SIGTERM')
  await exited(worker)
  expect([worker.exitCode, worker.signalCode]).toEqual([0, null])

  // Without a worker the request waits. Another worker takes it.
  const next = await server.start({ session: 's', agent: 'agent:clerk@1', input: 'And now?' })
  expect(await server.status('s')).toEqual({ status: 'waiting' })
  const other = await begun('worker', path)
  expect((await next.result()).status).toBe('completed')
  other.kill('SIGTERM')
  await exited(other)
  await server.close()
  await store.close()
})

test('waiting for a run keeps the process alive until it ends, with any driver', async () => {
  const path = join(folder, 'waited.db')
  const waiter = await begun('waiter', path)
  const warnings: string[] = []
  waiter.stdout?.on('data', data => warnings.push(String(data).trim()))
  const closed = once(waiter, 'close')
  const worker = await begun('worker', path)
  await closed
  expect([waiter.exitCode, warnings]).toEqual([0, ['completed']])
  worker.kill('SIGTERM')
  await exited(worker)
})
