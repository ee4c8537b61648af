import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'

let deno: ChildProcess
let url: string

beforeAll(async () => {
  const program = join(import.meta.dirname, '../node_modules/.bin/deno')
  const args = ['run', '--allow-all', '--node-modules-dir=manual', 'server.ts']
  // A group of its own: the program is a launcher that starts the binary.
  deno = spawn(program, args, { cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  const [port] = await Promise.race([
    once(createInterface({ input: deno.stdout as NonNullable<typeof deno.stdout> }), 'line'),
    once(deno, 'exit').then(([code]) => Promise.reject(new Error(`deno exited with ${code} before it listened`))),
  ])
  url = `http://127.0.0.1:${port}`
})
afterAll(async () => {
  if (deno.exitCode !== null || deno.signalCode !== null) return
  const exited = once(deno, 'exit')
  process.kill(-(deno.pid as number), 'SIGKILL')
  await exited
})

const start = (session: string, input: string) =>
  fetch(`${url}/api/sessions/${session}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ agent: 'echo', input }),
  })

test('serves a run as a stream, and the next turn in the same session', async () => {
  for (const input of ['hello', 'again']) {
    const frames = await (await start('talk', input)).text()
    expect(frames).toContain(`You said: ${input}`)
    expect(frames).toContain('"type":"end","status":"completed"')
  }
})

test('replays a session from its first entry', async () => {
  await (await start('replayed', 'hello')).text()
  const reply = await fetch(`${url}/api/sessions/replayed`)
  expect(reply.status).toBe(200)
  expect(await reply.text()).toContain('You said: hello')
})
