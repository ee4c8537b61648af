// Runs one server for a parent process that can die at any moment. server.ts starts it in its own process group, so that Ctrl-C does
// not reach it. When its standard input closes, also after a kill -9 of the parent, it ends the server
// and removes its folder. It creates the folder itself, so that no folder is left without a supervisor. Until then, the lines
// of its standard input are commands. The supervisor answers each with a line when it is done.
import { type ChildProcess, spawn } from 'node:child_process'
import { chownSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DataCache } from './data-cache.ts'
import type { ProgramCommand, ServerSpec, SupervisorCommand, SupervisorReply } from './server.ts'
import { freeze, kill, thaw } from './tree.ts'

const END_TIMEOUT_MS = 30_000
/** Number of characters from the end of the server's log that are reported. */
const LOG_LENGTH = 10_000

const [, , folder = '', spec = ''] = process.argv
const { prepare, cache, server, staleFiles = [], cleanUp, user } = JSON.parse(spec) as ServerSpec
const data = join(folder, 'data')

/** All running child processes. `up` is the server process, unless its end was ordered. */
const running = new Set<ChildProcess>()
let up: ChildProcess | undefined
/** Ids of the server's frozen processes. */
let frozen: number[] = []
/** Whether the server was killed and may have left system resources. */
let killed = false
let isStopRequested = false
let reason = ''
let finish = () => {}
const over = new Promise<void>(resolve => {
  finish = resolve
})

const commands: Record<SupervisorCommand['verb'], (copy: string) => Promise<void>> = {
  async start() {
    if (up) throw new Error('is already running: end it first')
    start()
  },
  end,
  async kill() {
    const child = down()
    frozen = []
    await Promise.all([kill(child.pid ?? 0), ended(child)])
  },
  freeze: freezeServer,
  async thaw() {
    if (up === undefined) throw new Error('is not running')
    resumeServer()
  },
  async copy(copy) {
    const freezesForCopy = up !== undefined && frozen.length === 0
    if (freezesForCopy) await freezeServer()
    const done = await run({ program: 'cp', args: ['-a', data, join(folder, copy)] })
    if (freezesForCopy) resumeServer()
    if (!done) throw new Error('could not copy its data')
  },
  async restore(copy) {
    await end()
    await clear()
    rmSync(data, { recursive: true, force: true })
    const done = await run({ program: 'cp', args: ['-a', join(folder, copy), data] })
    if (!done) throw new Error('could not restore its data')
  },
}

let turn = Promise.resolve()
createInterface(process.stdin)
  .on('line', line => {
    turn = turn
      .then(() => {
        const { verb, copy = '' } = JSON.parse(line) as SupervisorCommand
        return commands[verb](copy)
      })
      .then(() => answer({}))
      .catch(error => answer({ error: error instanceof Error ? error.message : String(error) }))
  })
  .on('close', stop)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop)
// The parent may be gone, so a failed write is not an error.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

for (const path of [folder, data]) {
  mkdirSync(path, { mode: 0o700 })
  if (user) chownSync(path, user.uid, user.gid)
}
const log = join(folder, 'log')
const output = openSync(log, 'a')
if (await fill()) start()
else finish()
await over
const code = isStopRequested ? 0 : 1
isStopRequested = true
await turn
await clear()
reason += readFileSync(log, 'utf8').slice(-LOG_LENGTH)
// A process that the server started may still be writing.
rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
process.stderr.write(reason, () => process.exit(code))

/** Fills the data folder. Returns whether it succeeded. */
async function fill(): Promise<boolean> {
  if (prepare === undefined) return true
  if (cache === undefined) return run(prepare)
  // Copies as the current user, which may have to be root to keep the owner and to reach the cache.
  const cached = new DataCache(cache, (from, to) => run({ program: 'cp', args: ['-a', from, to] }, null))
  if (await cached.copyTo(data)) return true
  const done = await run(prepare)
  if (done) await cached.keep(data)
  return done
}

function answer(answer: SupervisorReply): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}

function start(): void {
  if (isStopRequested) {
    finish()
    return
  }
  for (const path of staleFiles) rmSync(path, { force: true })
  const child = launch(server)
  up = child
  ended(child).then(() => {
    killed = child.signalCode !== null
    if (up !== child) return
    up = undefined
    finish()
  })
}

/** Marks the server as down, so that its end is expected. Returns its process. */
function down(): ChildProcess {
  const child = up
  if (child === undefined) throw new Error('is not running')
  up = undefined
  return child
}

/** Ends the server gracefully. */
async function end(): Promise<void> {
  if (up === undefined) return
  const child = down()
  resumeServer()
  interrupt(child)
  await ended(child)
}

/** Redis and Postgres take SIGINT as an immediate shutdown that does not wait for clients. A server that does not end is killed. */
function interrupt(child: ChildProcess): void {
  child.kill('SIGINT')
  const late = setTimeout(() => kill(child.pid ?? 0).catch(() => child.kill('SIGKILL')), END_TIMEOUT_MS)
  child.on('exit', () => clearTimeout(late))
}

function stop(): void {
  isStopRequested = true
  resumeServer()
  for (const child of running) interrupt(child)
  if (up === undefined) finish()
}

async function freezeServer(): Promise<void> {
  if (up === undefined) throw new Error('is not running')
  frozen = await freeze(up.pid ?? 0)
  if (isStopRequested) resumeServer()
}

function resumeServer(): void {
  thaw(frozen)
  frozen = []
}

/** Removes system resources of a killed server that is not started again. */
async function clear(): Promise<void> {
  if (!killed || cleanUp === undefined) return
  killed = false
  const child = launch(cleanUp)
  const late = setTimeout(() => child.kill('SIGKILL'), END_TIMEOUT_MS)
  await ended(child)
  clearTimeout(late)
}

/** Runs a command unless the end was requested. Returns whether it succeeded. */
function run(command: ProgramCommand, as: ServerSpec['user'] | null = user): Promise<boolean> {
  return isStopRequested ? Promise.resolve(false) : ended(launch(command, as))
}

function ended(child: ChildProcess): Promise<boolean> {
  return new Promise(done => {
    child.on('exit', code => done(code === 0))
    child.on('error', () => done(false))
  })
}

function launch({ program, args }: ProgramCommand, as: ServerSpec['user'] | null = user): ChildProcess {
  // English messages, because the log is searched for them.
  const env = { ...process.env, LC_ALL: 'C' }
  const child = spawn(program, args, { cwd: folder, stdio: ['ignore', output, output], env, ...as })
  running.add(child)
  child.on('exit', () => running.delete(child))
  child.on('error', error => {
    reason = `${error}\n`
  })
  return child
}
