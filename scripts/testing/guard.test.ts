import { expect, test } from 'vitest'
import { runFile } from './run-file.fixture.ts'

const LEFT: [what: string, text: string, named: RegExp][] = [
  [
    'an interval',
    'setInterval(() => {}, 1000)',
    /left behind:\n(?:.*\n)*.*setInterval of 1000 ms, started at .*a\.test\.ts/,
  ],
  [
    'a long timeout',
    'setTimeout(() => {}, 60_000)',
    /left behind:\n(?:.*\n)*.*setTimeout of 60000 ms, started at .*a\.test\.ts/,
  ],
  [
    'a child process',
    "const { spawn } = await import('node:child_process'); spawn('sleep', ['60'])",
    /left behind:\n(?:.*\n)*.*a child process \(pid \d+: sleep 60\)/,
  ],
  [
    'a server that listens',
    "const { createServer } = await import('node:http'); await new Promise(done => createServer().listen(0, '127.0.0.1', done))",
    /left behind:\n(?:.*\n)*.*a server that listens on .*127\.0\.0\.1/,
  ],
  [
    'a worker thread',
    "const { Worker } = await import('node:worker_threads'); new Worker('setInterval(() => {}, 1000)', { eval: true })",
    /left behind:\n(?:.*\n)*.*a worker thread/,
  ],
  [
    'an open connection',
    `const net = await import('node:net')
     const server = net.createServer().listen(0, '127.0.0.1')
     await new Promise(done => server.on('listening', done))
     const socket = net.connect(server.address().port, '127.0.0.1')
     await new Promise(done => socket.on('connect', done))
     server.close()`,
    /left behind:\n(?:.*\n)*.*a connection to 127\.0\.0\.1/,
  ],
]

test(`fails a test that leaves behind ${LEFT.map(([resource]) => resource).join(', ')}, and names each`, async () => {
  const { code, output } = await runFile(
    `test('leaves it', async () => {\n${LEFT.map(([, text]) => `{ ${text} }`).join('\n')}\n})`,
  )
  expect(code).toBe(1)
  expect(output).toContain('FAILED a.test.ts: leaves it')
  for (const [, , named] of LEFT) expect(output).toMatch(named)
})

test('fails a file if a concurrent test leaves something behind', async () => {
  const { code, output } = await runFile(
    "test.concurrent('b', async () => { const { spawn } = await import('node:child_process'); spawn('sleep', ['60']) })",
  )
  expect(code).toBe(1)
  expect(output).toMatch(/FAILED a\.test\.ts\n.*left behind:\n.*sleep 60/)
})

test('fails a file that leaves something behind from a hook', async () => {
  const { code, output } = await runFile(
    "beforeAll(async () => { const { spawn } = await import('node:child_process'); spawn('sleep', ['60']) })",
  )
  expect(code).toBe(1)
  expect(output).toMatch(/FAILED a\.test\.ts\n.*left behind:\n.*sleep 60/)
})

test('passes tests that close what they open, in themselves or in hooks', async () => {
  const { code, output } = await runFile(`
    const { spawn } = await import('node:child_process')
    const { createServer } = await import('node:http')
    let shared
    beforeAll(() => { shared = spawn('sleep', ['60']) })
    afterAll(() => shared.kill())
    let child
    afterEach(() => child?.kill('SIGKILL'))
    test('by afterEach', () => { child = spawn('sleep', ['60']) })
    test('timers', async () => {
      clearTimeout(setTimeout(() => {}, 60_000))
      clearInterval(setInterval(() => {}, 1000))
      setInterval(() => {}, 1000).unref()
      await new Promise(done => setTimeout(done, 1))
    })
    test('by onTestFinished', async ({ onTestFinished }) => {
      const server = createServer((_, reply) => reply.end('hello'))
      await new Promise(done => server.listen(0, '127.0.0.1', done))
      onTestFinished(() => server.close())
      expect(await (await fetch('http://127.0.0.1:' + server.address().port)).text()).toBe('hello')
    })`)
  expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/4 passed/) })
})
