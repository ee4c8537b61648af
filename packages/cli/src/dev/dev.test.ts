import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { foldLog } from '@millrace/protocol'
import { describe, expect, test, vi } from 'vitest'
import { millraceCommand, runToEnd, workFolder } from '../millrace-command.fixture.ts'
import {
  appFile,
  devHost,
  fault,
  followEntries,
  HostFollower,
  isEnd,
  PAGE,
  requestRun,
  WORDS,
} from './dev-host.fixture.ts'

const COUNTED = Array.from({ length: WORDS }, (_, at) => at + 1).join(' ')

/** The text of all agents after folding. */
function replyText(entries: Parameters<typeof foldLog>[0]): string {
  const message = foldLog(entries)
    .view()
    .messages.findLast(({ role }) => role === 'assistant')
  return (message?.parts ?? []).map(part => (part.type === 'text' ? part.text : '')).join('')
}

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('serves the app with the studio and drives runs in a worker process', async () => {
  const { url, command } = await devHost(appFile())
  const host = new HostFollower(url)
  const { server, worker, delays } = await host.until(({ worker }) => worker.state === 'up')
  expect(worker.pid).not.toBe(server.pid)
  expect([server.starts, worker.starts, delays]).toEqual([1, 1, {}])
  await requestRun(url, 's', 'echo', 'Hello')
  expect(replyText(await followEntries(url, 's', isEnd))).toBe('You said: Hello')
  for (const path of ['/', '/inspect/s', '/inspect/any/where?a=1']) {
    expect(await (await fetch(url + path)).text()).toContain('<title>Studio')
  }
  command.kill('SIGINT')
  const { exitStatus, stderr } = await command.ended
  // The host is local, so the warning about `authorize` is not printed.
  expect([exitStatus, stderr]).toEqual([0, expect.not.stringContaining('authorize')])
  expect([isRunning(server.pid), isRunning(worker.pid ?? 0)]).toEqual([false, false])
})

describe('after kill -9', () => {
  test('restarts the worker during a run without losing entries', async () => {
    const { url, command } = await devHost(appFile())
    const host = new HostFollower(url)
    const { worker } = await host.until(({ worker }) => worker.state === 'up')
    await requestRun(url, 's', 'count', 'Count')
    let deltas = 0
    const entries = await followEntries(url, 's', isEnd, ({ chunk }) => {
      if (chunk.type === 'text-delta' && ++deltas === 5) process.kill(worker.pid ?? 0, 'SIGKILL')
    })
    expect(replyText(entries)).toBe(COUNTED)
    expect(entries.map(({ chunk }) => chunk.type)).toContain('executor-superseded')
    const sequences = entries.map(({ sequence }) => sequence)
    expect(sequences).toEqual([...new Set(sequences)].sort((a, b) => a - b))
    await host.until(({ worker }) => worker.state === 'down' && worker.pid === undefined)
    expect((await host.until(({ worker: { state, starts } }) => state === 'up' && starts === 2)).server.starts).toBe(1)
    await command.output(/The worker exited by SIGKILL\. Restarting in 0\.5 s\./)
  })

  test('restarts the server while a reader follows, without losing entries', async () => {
    const { url, command } = await devHost(appFile())
    const host = new HostFollower(url)
    const { server } = await host.until(({ worker }) => worker.state === 'up')
    await requestRun(url, 's', 'count', 'Count')
    let deltas = 0
    const entries = await followEntries(url, 's', isEnd, ({ chunk }) => {
      if (chunk.type === 'text-delta' && ++deltas === 5) process.kill(server.pid, 'SIGKILL')
    })
    expect(replyText(entries)).toBe(COUNTED)
    // No takeover: the worker was not affected.
    expect(entries.map(({ chunk }) => chunk.type)).not.toContain('executor-superseded')
    const after = await host.until(({ server }) => server.starts === 2)
    expect([after.server.pid === server.pid, after.worker.starts]).toEqual([false, 1])
    await command.output(/The server exited by SIGKILL/)
  })

  test('restarts a worker that the page killed after 1.5 s, and a server at once', async () => {
    const { url, command } = await devHost(appFile())
    const host = new HostFollower(url)
    const before = await host.until(({ worker }) => worker.state === 'up')
    const killed = await fault(url, { fault: 'kill-worker' })
    expect([killed.status, await killed.json()]).toEqual([202, {}])
    await command.output(/The worker exited by SIGKILL\. Restarting in 1\.5 s\./)
    // Only unexpected exits are reported.
    expect(isRunning(before.worker.pid ?? 0)).toBe(false)
    const second = await host.until(({ worker: { state, starts } }) => state === 'up' && starts === 2)
    expect(second.worker.pid).not.toBe(before.worker.pid)
    expect((await fault(url, { fault: 'restart-server' })).status).toBe(202)
    await command.output(/The server exited by SIGKILL\. Restarting\.$/m)
    expect(isRunning(before.server.pid)).toBe(false)
    await command.output(/The server is running again\./)
    const { worker } = await host.until(({ server }) => server.starts === 2)
    expect(worker.starts).toBe(2)
  })
})

test('ends the server and the worker when the supervisor is killed -9', async () => {
  const { url, command } = await devHost(appFile())
  const { server, worker } = await new HostFollower(url).until(({ worker }) => worker.state === 'up')
  command.kill('SIGKILL')
  await vi.waitFor(() => expect([isRunning(server.pid), isRunning(worker.pid ?? 0)]).toEqual([false, false]), {
    timeout: 60_000,
  })
})

test('a second Ctrl-C kills the worker without waiting for its run', async () => {
  const longGrace = 'engine: { graceMs: 60_000 }'
  const { url, command } = await devHost(appFile(longGrace).replace('paceMs: 10', 'paceMs: 1_000'))
  const { server, worker } = await new HostFollower(url).until(({ worker }) => worker.state === 'up')
  await requestRun(url, 's', 'count', 'Count')
  await followEntries(url, 's', ({ chunk }) => chunk.type === 'text-delta')
  command.kill('SIGINT')
  // The server stops at once: its exit shows that the first signal was handled.
  await vi.waitFor(() => expect(isRunning(server.pid)).toBe(false), { timeout: 60_000 })
  expect(isRunning(worker.pid ?? 0)).toBe(true)
  await vi.waitFor(
    () => {
      command.kill('SIGINT')
      expect(isRunning(worker.pid ?? 0)).toBe(false)
    },
    { timeout: 60_000, interval: 200 },
  )
  expect((await command.ended).exitStatus).toBe(130)
})

describe('when code changes', () => {
  test('restarts, and prints why a file does not load and waits for a change', async () => {
    const { url, command, cwd } = await devHost(appFile())
    const agents = async () => JSON.stringify(await (await fetch(`${url}/api/agents`)).json())
    expect(await agents()).toContain('"echo"')
    let mark = command.mark
    writeFileSync(join(cwd, 'app.ts'), appFile('', 'parrot'))
    await command.output(/app\.ts changed\. Restarting\./, mark)
    await command.output(/The server is running again\./, mark)
    expect(await agents()).toContain('"parrot"')

    mark = command.mark
    writeFileSync(join(cwd, 'app.ts'), "const one = 1\nthrow new Error('the mill is closed')\n")
    const [broken] = await command.output(/app\.ts does not load[\s\S]*?Waiting for changes\./, mark)
    expect(broken).toBe('app.ts does not load: Error: the mill is closed\n  at app.ts:2:7\nWaiting for changes.')
    mark = command.mark
    writeFileSync(join(cwd, 'app.ts'), 'const = 1\n')
    const [wrong] = await command.output(/app\.ts does not load[\s\S]*?Waiting for changes\./, mark)
    expect(wrong).toContain('SyntaxError')
    expect(wrong).not.toMatch(/loading\.ts|node:internal|node_modules/)

    mark = command.mark
    writeFileSync(join(cwd, 'app.ts'), appFile('', 'echo'))
    await command.output(/The server is running again\./, mark)
    await requestRun(url, 's', 'echo', 'Still there')
    expect(replyText(await followEntries(url, 's', isEnd))).toBe('You said: Still there')
  })

  test('restarts for imports in subfolders, not for installed, hidden or non-code files', async () => {
    const { command, cwd } = await devHost(appFile(), [], {
      'node_modules/x/index.js': '',
      '.cache/a.js': '',
      'a.db': '',
    })
    const mark = command.mark
    writeFileSync(join(cwd, 'page/last.ts'), 'export {}')
    // Only the last of several changes is reported. None of these counts as a change.
    for (const quiet of ['node_modules/x/index.js', '.cache/a.js', 'a.db', 'page/notes.md', 'data.json', '.env']) {
      writeFileSync(join(cwd, quiet), 'changed')
    }
    const [, first] = await command.output(/^(\S+) changed\./m, mark)
    expect(first).toBe(join('page', 'last.ts'))
  })

  test('ignores files that the app writes while it loads', async () => {
    // Loading takes longer than the debounce. If the write counted as a change, the file would never finish loading.
    const writes = `import { writeFileSync } from 'node:fs'
writeFileSync('data.json', String(Math.random()))
await new Promise(resolve => setTimeout(resolve, 1_000))`
    const { command } = await devHost(`${writes}\n${appFile()}`)
    command.kill('SIGINT')
    const { stderr } = await command.ended
    expect(stderr).not.toContain('changed. Restarting')
  })

  test('fails for a file that does not load with --no-reload', async () => {
    const cwd = workFolder({ 'app.ts': 'export const app = 5', ...PAGE })
    const args = ['dev', 'app.ts', '--no-reload', '--page', 'page', '--port', '0']
    const { exitStatus, stderr } = await runToEnd(cwd, args)
    expect([exitStatus, stderr]).toEqual([
      1,
      'app.ts exports no app: write `export const app = millrace({ agents })` in it.\n',
    ])
  })
})

test('fails for a missing file, with and without --no-reload', async () => {
  const cwd = workFolder(PAGE)
  const more = ['--page', 'page', '--port', '0', '--json']
  const calls = [['nodir/agent.ts'], ['nope.ts'], ['nope.ts', '--no-reload'], ['page']]
  const results = await Promise.all(calls.map(args => runToEnd(cwd, ['dev', ...args, ...more])))
  expect(results.map(({ exitStatus }) => exitStatus)).toEqual([3, 3, 3, 3])
  expect(results.map(({ stderr }) => JSON.parse(stderr).error)).toEqual(
    [
      'There is no file nodir/agent.ts: check the path.',
      'There is no file nope.ts: check the path.',
      'There is no file nope.ts: check the path.',
      'Expected a file, found the folder page: choose a file in it.',
    ].map(message => ({ code: 'file_missing', message })),
  )
})

test('prints a hint when a file takes 5 s to load', async () => {
  const cwd = workFolder({ 'app.ts': 'await new Promise(() => {})', ...PAGE })
  const command = millraceCommand(cwd, ['dev', 'app.ts', '--page', 'page', '--port', '0'])
  await command.output(/^app\.ts is still loading\. Check for a top-level await/m)
  writeFileSync(join(cwd, 'app.ts'), appFile())
  await command.output(/^Millrace is running/m)
})

test('names the package to install for a store whose package is missing', async () => {
  const hooks = `import { registerHooks } from 'node:module'
registerHooks({ resolve(name, context, next) {
  if (name !== 'pg') return next(name, context)
  throw Object.assign(new Error("Cannot find package 'pg' imported from somewhere"), { code: 'ERR_MODULE_NOT_FOUND' })
} })`
  const cwd = workFolder({ 'app.ts': `${hooks}\n${appFile("store: 'postgres://127.0.0.1:1/db'")}`, ...PAGE })
  const { exitStatus, stderr } = await runToEnd(cwd, ['dev', 'app.ts', '--no-reload', '--page', 'page', '--port', '0'])
  expect([exitStatus, stderr]).toEqual([1, expect.stringContaining('npm install pg')])
})

test('fails for a file that listens by itself', async () => {
  const free = createServer().listen(0, '127.0.0.1')
  await once(free, 'listening')
  const { port } = free.address() as { port: number }
  free.close()
  await once(free, 'close')
  const listens = `${appFile("store: 'memory:'")}\n`
  const cwd = workFolder({
    'now.ts': `${listens}await app.listen({ port: ${port} })`,
    'soon.ts': `${listens}void app.listen({ port: ${port} })`,
    ...PAGE,
  })
  for (const name of ['now.ts', 'soon.ts']) {
    const { exitStatus, stderr } = await runToEnd(cwd, [
      'dev',
      name,
      '--no-reload',
      '--page',
      'page',
      '--port',
      String(port),
    ])
    expect([exitStatus, stderr]).toEqual([
      1,
      `${name} does not load: it listens on port ${port} itself.\n  Remove the call of listen(): millrace dev loads the file in a server and a worker process, and listens itself.\n`,
    ])
  }
})

test('backs off when a child keeps exiting', async () => {
  const text = `if (process.argv[1].includes('worker')) process.exit(3)\n${appFile()}`
  const { command } = await devHost(text)
  await command.output(/The worker exited with code 3\. Restarting in 0\.5 s\./)
  await command.output(/The worker exited with code 3\. Restarting in 1\.0 s\./)
  await command.output(/The worker exited with code 3\. Restarting in 2\.0 s\./)
})

test('runs server and worker in one process with a memory store, and prints that it does', async () => {
  const { url, command } = await devHost(appFile("store: 'memory:'"))
  await command.output(/server and worker run in one process\.$/m)
  const { server, worker } = await new HostFollower(url).until(() => true)
  expect(worker).toEqual({ state: 'up', ...server })
  await requestRun(url, 's', 'echo', 'Hello')
  expect(replyText(await followEntries(url, 's', isEnd))).toBe('You said: Hello')
  const refused = await fault(url, { fault: 'kill-worker' })
  expect(refused.status).toBe(400)
  expect(JSON.stringify(await refused.json())).toContain('one process')
})

test('opens a store that the file opens in each process', async () => {
  const text = `import { openStore } from 'millrace'\n${appFile("store: openStore('sqlite:own.db')")}`
  const { url, cwd } = await devHost(text)
  await requestRun(url, 's', 'echo', 'Hello')
  expect(replyText(await followEntries(url, 's', isEnd))).toBe('You said: Hello')
  expect(readFileSync(join(cwd, 'own.db')).length).toBeGreaterThan(0)
})

test('serves the studio on a second port when the app has its own page', async () => {
  const customPage = { 'own/index.html': '<title>Own</title>' }
  const { url, command } = await devHost(appFile("static: 'own'"), [], customPage)
  const [, studio = ''] = await command.output(/^The studio is at (\S+)$/m)
  expect(await (await fetch(url)).text()).toContain('Own')
  expect(await (await fetch(studio)).text()).toContain('Studio')
  expect([(await fetch(`${url}/studio/host`)).status, (await fault(url, { fault: 'kill-worker' })).status]).toEqual([
    404, 404,
  ])
  await requestRun(url, 's', 'echo', 'Hello')
  expect(replyText(await followEntries(studio, 's', isEnd))).toBe('You said: Hello')
})

test('names another port when the port is in use', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as { port: number }
  const cwd = workFolder({ 'app.ts': appFile(), ...PAGE })
  const { exitStatus, stderr } = await runToEnd(cwd, ['dev', 'app.ts', '--page', 'page', '--port', String(port)])
  expect(exitStatus).toBe(1)
  expect(stderr).toContain(`Port ${port} is in use.`)
  expect(stderr).toContain(`millrace dev app.ts --port ${port + 1}`)
  expect(stderr).not.toContain('    at ')
  taken.close()
})

test('fails when the page of the studio is not built', async () => {
  const cwd = workFolder({ 'app.ts': appFile() })
  const { exitStatus, stderr } = await runToEnd(cwd, ['dev', 'app.ts', '--page', 'nowhere'])
  expect([exitStatus, stderr]).toEqual([3, 'Expected the studio in nowhere, found no index.html: build it first.\n'])
})

test('prints every event as JSON with --json', async () => {
  const cwd = workFolder({ 'app.ts': `console.log('the file says so')\n${appFile()}`, ...PAGE })
  const command = millraceCommand(cwd, ['dev', 'app.ts', '--page', 'page', '--port', '0', '--json'])
  const [line] = await command.output(/^\{.*"up".*\}$/m)
  const { url, studio } = JSON.parse(line)
  expect(studio).toBe(url)
  await fault(url, { fault: 'restart-server' })
  await command.output(/^\{"event":"ended","process":"server","how":"SIGKILL","againMs":0\}$/m)
  await command.output(/^\{"event":"back"\}$/m)
  await command.output(/^the file says so$/m)
  command.kill('SIGINT')
  const { stdout } = await command.ended
  const events = stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line).event)
  // A loaded machine needs more than 5 s for a start, and then also prints `loading`.
  expect(events.filter(event => event !== 'loading')).toEqual(['up', 'ended', 'back'])
})
