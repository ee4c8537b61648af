import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-workers-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Starts a fixture process and resolves with the first line that it prints. */
async function start(program: string): Promise<{ readonly child: ChildProcess; readonly line: string }> {
  const file = join(import.meta.dirname, program)
  const child = spawn(process.execPath, ['--conditions=@millrace/source', file, join(folder, 'mill.db')], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [line] = await once(createInterface(child.stdout), 'line')
  return { child, line }
}

/** Asks a process to exit and waits for it. */
async function stopProcess(child: ChildProcess): Promise<number | null> {
  const exit = once(child, 'exit')
  child.stdin?.end()
  const [code] = await exit
  return code
}

test('a server streams runs that worker processes drive on a shared store', async () => {
  const server = await start('server-process.fixture.ts')
  const ask = (session: string) =>
    fetch(`${server.line}/api/sessions/${session}/runs`, {
      method: 'POST',
      body: JSON.stringify({ agent: 'pid', input: 'Where?' }),
      headers: { 'content-type': 'application/json' },
    })
  // Requested before a worker runs.
  const early = await ask('early')
  const worker = await start('worker-process.fixture.ts')
  const workerOutput = `"output":${worker.child.pid}`
  const frames = await early.text()
  expect(frames).toContain(workerOutput)
  expect(frames).toContain('"type":"end","status":"completed"')
  expect(await (await ask('late')).text()).toContain(workerOutput)
  // The worker exits, and another one drives the next run.
  expect(await stopProcess(worker.child)).toBe(0)
  const waiting = await ask('waiting')
  const next = await start('worker-process.fixture.ts')
  expect(await waiting.text()).toContain(`"output":${next.child.pid}`)
  expect([await stopProcess(next.child), await stopProcess(server.child)]).toEqual([0, 0])
})
