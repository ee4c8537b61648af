import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { foldLog } from '@millrace/protocol'
import { describe, expect, test, vi } from 'vitest'
import { millraceCommand, place, ran } from '../command.fixture.ts'
import { ask, devHost, fault, file, followed, HostFollower, isEnd, PAGE, WORDS } from './host.fixture.ts'

const COUNTED = Array.from({ length: WORDS }, (_, at) => at + 1).join(' ')

/** What agents have said, once all of it is folded. */
function answerOf(entries: Parameters<typeof foldLog>[0]): string {
  const message = foldLog(entries)
    .view()
    .messages.findLast(({ role }) => role === 'assistant')
  return (message?.parts ?? []).map(part => (part.type === 'text' ? part.text : '')).join('')
}

const isThere = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('an app is served with the studio, and driven by a process of its own', async () => {
  const { url, command } = await devHost(file())
  const host = new HostFollower(url)
  const { server, worker, delays } = await host.until(({ worker }) => worker.state === 'up')
  expect(worker.pid).not.toBe(server.pid)
  expect([server.starts, worker.starts, delays]).toEqual([1, 1, {}])
  await ask(url, 's', 'echo', 'Hello')
  expect(answerOf(await followed(url, 's', isEnd))).toBe('You said: Hello')
  for (const path of ['/', '/inspect/s', '/inspect/any/where?a=1']) {
    expect(await (await fetch(url + path)).text()).toContain('<title>Studio')
  }
  command.kill('SIGINT')
  const { how, stderr } = await command.ended
  // It is on this machine alone, and that is not said at every start.
  expect([how, stderr]).toEqual([0, expect.not.stringContaining('authorize')])
  expect([isThere(server.pid), isThere(worker.pid ?? 0)]).toEqual([false, false])
})

describe('what is killed -9 is started again, and nothing is lost', () => {
  test('the worker, in the midst of a run', async () => {
    const { url, command } = await devHost(file())
    const host = new HostFollower(url)
    const { worker } = await host.until(({ worker }) => worker.state === 'up')
    await ask(url, 's', 'count', 'Count')
    let killed = 0
    const entries = await followed(url, 's', isEnd, ({ chunk }) => {
      if (chunk.type === 'text-delta' && ++killed === 5) process.kill(worker.pid ?? 0, 'SIGKILL')
    })
    expect(answerOf(entries)).toBe(COUNTED)
    expect(entries.map(({ chunk }) => chunk.type)).toContain('executor-superseded')
    const sequences = entries.map(({ sequence }) => sequence)
    expect(sequences).toEqual([...new Set(sequences)].sort((a, b) => a - b))
    await host.until(({ worker }) => worker.state === 'down' && worker.pid === undefined)
    expect((await host.until(({ worker: { state, starts } }) => state === 'up' && starts === 2)).server.starts).toBe(1)
    await command.said(/The worker was ended by SIGKILL\. It is started again in 0\.5 s\./)
  })

  test('the server, while somebody follows', async () => {
    const { url, command } = await devHost(file())
    const host = new HostFollower(url)
    const { server } = await host.until(({ worker }) => worker.state === 'up')
    await ask(url, 's', 'count', 'Count')
    let seen = 0
    const entries = await followed(url, 's', isEnd, ({ chunk }) => {
      if (chunk.type === 'text-delta' && ++seen === 5) process.kill(server.pid, 'SIGKILL')
    })
    expect(answerOf(entries)).toBe(COUNTED)
    // Nobody took over: who drives it was not touched.
    expect(entries.map(({ chunk }) => chunk.type)).not.toContain('executor-superseded')
    const after = await host.until(({ server }) => server.starts === 2)
    expect([after.server.pid === server.pid, after.worker.starts]).toEqual([false, 1])
    await command.said(/The server was ended by SIGKILL/)
  })

  test('by the page: the worker after a while, the server at once', async () => {
    const { url, command } = await devHost(file())
    const host = new HostFollower(url)
    const before = await host.until(({ worker }) => worker.state === 'up')
    const killed = await fault(url, { fault: 'kill-worker' })
    expect([killed.status, await killed.json()]).toEqual([202, {}])
    await command.said(/The worker was ended by SIGKILL\. It is started again in 1\.5 s\./)
    // It is said of who is gone, and not of who is meant to go.
    expect(isThere(before.worker.pid ?? 0)).toBe(false)
    const second = await host.until(({ worker: { state, starts } }) => state === 'up' && starts === 2)
    expect(second.worker.pid).not.toBe(before.worker.pid)
    expect((await fault(url, { fault: 'restart-server' })).status).toBe(202)
    await command.said(/The server was ended by SIGKILL\. It is started again\.$/m)
    expect(isThere(before.server.pid)).toBe(false)
    await command.said(/The server is back\./)
    const { worker } = await host.until(({ server }) => server.starts === 2)
    expect(worker.starts).toBe(2)
  })
})

test('when the supervisor is killed -9, server and worker go', async () => {
  const { url, command } = await devHost(file())
  const { server, worker } = await new HostFollower(url).until(({ worker }) => worker.state === 'up')
  command.kill('SIGKILL')
  await vi.waitFor(() => expect([isThere(server.pid), isThere(worker.pid ?? 0)]).toEqual([false, false]), {
    timeout: 60_000,
  })
})

test('a second Ctrl-C does not wait for good order', async () => {
  const stubborn = 'engine: { graceMs: 60_000 }'
  const { url, command } = await devHost(file(stubborn).replace('paceMs: 10', 'paceMs: 1_000'))
  const { server, worker } = await new HostFollower(url).until(({ worker }) => worker.state === 'up')
  await ask(url, 's', 'count', 'Count')
  await followed(url, 's', ({ chunk }) => chunk.type === 'text-delta')
  command.kill('SIGINT')
  // The server has nothing to wait for: when it is gone, the first has been heard.
  await vi.waitFor(() => expect(isThere(server.pid)).toBe(false), { timeout: 60_000 })
  expect(isThere(worker.pid ?? 0)).toBe(true)
  await vi.waitFor(
    () => {
      command.kill('SIGINT')
      expect(isThere(worker.pid ?? 0)).toBe(false)
    },
    { timeout: 60_000, interval: 200 },
  )
  expect((await command.ended).how).toBe(130)
})

describe('when code changes', () => {
  test('all starts anew, and a file that does not load says why and waits', async () => {
    const { url, command, cwd } = await devHost(file())
    const agents = async () => JSON.stringify(await (await fetch(`${url}/api/agents`)).json())
    expect(await agents()).toContain('"echo"')
    let mark = command.mark
    writeFileSync(join(cwd, 'app.ts'), file('', 'parrot'))
    await command.said(/app\.ts has changed: starting anew\./, mark)
    await command.said(/The server is back\./, mark)
    expect(await agents()).toContain('"parrot"')

    mark = command.mark
    writeFileSync(join(cwd, 'app.ts'), "const one = 1\nthrow new Error('the mill is closed')\n")
    const [broken] = await command.said(/app\.ts does not load[\s\S]*?Waiting for a change\./, mark)
    expect(broken).toBe('app.ts does not load: Error: the mill is closed\n  at app.ts:2:7\nWaiting for a change.')
    mark = command.mark
    writeFileSync(join(cwd, 'app.ts'), 'const = 1\n')
    const [wrong] = await command.said(/app\.ts does not load[\s\S]*?Waiting for a change\./, mark)
    expect(wrong).toContain('SyntaxError')
    expect(wrong).not.toMatch(/loading\.ts|node:internal|node_modules/)

    mark = command.mark
    writeFileSync(join(cwd, 'app.ts'), file('', 'echo'))
    await command.said(/The server is back\./, mark)
    await ask(url, 's', 'echo', 'Still there')
    expect(answerOf(await followed(url, 's', isEnd))).toBe('You said: Still there')
  })

  test('also what it imports, in a folder that is new; not what is installed, hidden, or no code', async () => {
    const { command, cwd } = await devHost(file(), [], { 'node_modules/x/index.js': '', '.cache/a.js': '', 'a.db': '' })
    const mark = command.mark
    writeFileSync(join(cwd, 'page/last.ts'), 'export {}')
    // Of several changes in a go the last is told: none of these is one.
    for (const quiet of ['node_modules/x/index.js', '.cache/a.js', 'a.db', 'page/notes.md', 'data.json', '.env']) {
      writeFileSync(join(cwd, quiet), 'changed')
    }
    const [, first] = await command.said(/^(\S+) has changed/m, mark)
    expect(first).toBe(join('page', 'last.ts'))
  })

  test('what a file itself writes beside it while it loads is none', async () => {
    // It loads for longer than a change waits to be told: were it one, the file would never come to its end.
    const writes = `import { writeFileSync } from 'node:fs'
writeFileSync('data.json', String(Math.random()))
await new Promise(resolve => setTimeout(resolve, 1_000))`
    const { command } = await devHost(`${writes}\n${file()}`)
    command.kill('SIGINT')
    const { stderr } = await command.ended
    expect(stderr).not.toContain('has changed')
  })

  test('unless that is not wanted: then a file that does not load is an error', async () => {
    const cwd = place({ 'app.ts': 'export const app = 5', ...PAGE })
    const args = ['dev', 'app.ts', '--no-reload', '--page', 'page', '--port', '0']
    const { how, stderr } = await ran(cwd, args)
    expect([how, stderr]).toEqual([
      1,
      'app.ts exports no app: write `export const app = millrace({ agents })` in it.\n',
    ])
  })
})

test('a file that is not there is an error, whether changes are waited for or not', async () => {
  const cwd = place(PAGE)
  const more = ['--page', 'page', '--port', '0', '--json']
  const calls = [['nodir/agent.ts'], ['nope.ts'], ['nope.ts', '--no-reload'], ['page']]
  const ends = await Promise.all(calls.map(args => ran(cwd, ['dev', ...args, ...more])))
  expect(ends.map(({ how }) => how)).toEqual([3, 3, 3, 3])
  expect(ends.map(({ stderr }) => JSON.parse(stderr).error)).toEqual(
    [
      'There is no file nodir/agent.ts.',
      'There is no file nope.ts.',
      'There is no file nope.ts.',
      'page is a folder: name the file in it.',
    ].map(message => ({ code: 'file_missing', message })),
  )
})

test('a file that loads for long is told of', async () => {
  const cwd = place({ 'app.ts': 'await new Promise(() => {})', ...PAGE })
  const command = millraceCommand(cwd, ['dev', 'app.ts', '--page', 'page', '--port', '0'])
  await command.said(/^app\.ts still loads: is something awaited/m)
  writeFileSync(join(cwd, 'app.ts'), file())
  await command.said(/^Millrace is up/m)
})

test('a store whose package is not there says how to get it', async () => {
  const hooks = `import { registerHooks } from 'node:module'
registerHooks({ resolve(name, context, next) {
  if (name !== 'pg') return next(name, context)
  throw Object.assign(new Error("Cannot find package 'pg' imported from somewhere"), { code: 'ERR_MODULE_NOT_FOUND' })
} })`
  const cwd = place({ 'app.ts': `${hooks}\n${file("store: 'postgres://127.0.0.1:1/db'")}`, ...PAGE })
  const { how, stderr } = await ran(cwd, ['dev', 'app.ts', '--no-reload', '--page', 'page', '--port', '0'])
  expect([how, stderr]).toEqual([1, expect.stringContaining('npm install pg')])
})

test('a file that listens itself is told that it need not', async () => {
  const free = createServer().listen(0, '127.0.0.1')
  await once(free, 'listening')
  const { port } = free.address() as { port: number }
  free.close()
  await once(free, 'close')
  const listens = `${file("store: 'memory:'")}\n`
  const cwd = place({
    'now.ts': `${listens}await app.listen({ port: ${port} })`,
    'soon.ts': `${listens}void app.listen({ port: ${port} })`,
    ...PAGE,
  })
  for (const name of ['now.ts', 'soon.ts']) {
    const { how, stderr } = await ran(cwd, ['dev', name, '--no-reload', '--page', 'page', '--port', String(port)])
    expect([how, stderr]).toEqual([
      1,
      `${name} does not load: it listens on port ${port} itself.\n  A file for the dev host exports its app and does not listen itself: both the server and the worker load it.\n`,
    ])
  }
})

test('children that end again and again are started later and later', async () => {
  const text = `if (process.argv[1].includes('worker')) process.exit(3)\n${file()}`
  const { command } = await devHost(text)
  await command.said(/The worker was ended with code 3\. It is started again in 0\.5 s\./)
  await command.said(/The worker was ended with code 3\. It is started again in 1\.0 s\./)
  await command.said(/The worker was ended with code 3\. It is started again in 2\.0 s\./)
})

test('a memory is seen by one process: then server and worker are one, and it is said', async () => {
  const { url, command } = await devHost(file("store: 'memory:'"))
  await command.said(/server and worker are one process\.$/m)
  const { server, worker } = await new HostFollower(url).until(() => true)
  expect(worker).toEqual({ state: 'up', ...server })
  await ask(url, 's', 'echo', 'Hello')
  expect(answerOf(await followed(url, 's', isEnd))).toBe('You said: Hello')
  const refused = await fault(url, { fault: 'kill-worker' })
  expect(refused.status).toBe(400)
  expect(JSON.stringify(await refused.json())).toContain('one process')
})

test('an open store works, since each process opens it by the file', async () => {
  const text = `import { openStore } from 'millrace'\n${file("store: openStore('sqlite:own.db')")}`
  const { url, cwd } = await devHost(text)
  await ask(url, 's', 'echo', 'Hello')
  expect(answerOf(await followed(url, 's', isEnd))).toBe('You said: Hello')
  expect(readFileSync(join(cwd, 'own.db')).length).toBeGreaterThan(0)
})

test('an app with a page of its own keeps it, and the studio is beside it', async () => {
  const own = { 'own/index.html': '<title>Own</title>' }
  const { url, command } = await devHost(file("static: 'own'"), [], own)
  const [, studio = ''] = await command.said(/^The studio is at (\S+)$/m)
  expect(await (await fetch(url)).text()).toContain('Own')
  expect(await (await fetch(studio)).text()).toContain('Studio')
  expect([(await fetch(`${url}/studio/host`)).status, (await fault(url, { fault: 'kill-worker' })).status]).toEqual([
    404, 404,
  ])
  await ask(url, 's', 'echo', 'Hello')
  expect(answerOf(await followed(studio, 's', isEnd))).toBe('You said: Hello')
})

test('a port that is taken is said, and which to take', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as { port: number }
  const cwd = place({ 'app.ts': file(), ...PAGE })
  const { how, stderr } = await ran(cwd, ['dev', 'app.ts', '--page', 'page', '--port', String(port)])
  expect(how).toBe(1)
  expect(stderr).toContain(`Port ${port} is in use.`)
  expect(stderr).toContain(`millrace dev app.ts --port ${port + 1}`)
  expect(stderr).not.toContain('    at ')
  taken.close()
})

test('without its page it says what to do', async () => {
  const cwd = place({ 'app.ts': file() })
  const { how, stderr } = await ran(cwd, ['dev', 'app.ts', '--page', 'nowhere'])
  expect([how, stderr]).toEqual([3, 'The page of the studio is not in nowhere: build it first.\n'])
})

test('all that happens, for programs', async () => {
  const cwd = place({ 'app.ts': `console.log('the file says so')\n${file()}`, ...PAGE })
  const command = millraceCommand(cwd, ['dev', 'app.ts', '--page', 'page', '--port', '0', '--json'])
  const [line] = await command.said(/^\{.*"up".*\}$/m)
  const { url, studio } = JSON.parse(line)
  expect(studio).toBe(url)
  await fault(url, { fault: 'restart-server' })
  await command.said(/^\{"event":"ended","process":"server","how":"SIGKILL","againMs":0\}$/m)
  await command.said(/^\{"event":"back"\}$/m)
  await command.said(/^the file says so$/m)
  command.kill('SIGINT')
  const { stdout } = await command.ended
  const events = stdout.trim().split('\n')
  expect(events.map(line => JSON.parse(line).event)).toEqual(['up', 'ended', 'back'])
})
