// Holds one server for a process that may die at any moment. Run by server.ts, in a session of its own, so that Ctrl-C does
// not reach it: when the other end of its standard input closes, for whatever reason, kill -9 included, it ends the server
// and removes its folder. The folder is made here, so that there is none without someone to remove it.
import { type ChildProcess, spawn } from 'node:child_process'
import { chownSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Command, ServerSpec } from './server.ts'

const GRACE_MS = 5_000
/** The most of the server's log that is told: the end of it. */
const LOG_LENGTH = 10_000

const [, , folder = '', spec = ''] = process.argv
const { before, server, user } = JSON.parse(spec) as ServerSpec

let asked = false
let running: ChildProcess | undefined
function stop(): void {
  asked = true
  // SIGINT is what both Redis and Postgres take as "now, and do not wait for the clients".
  running?.kill('SIGINT')
  setTimeout(() => running?.kill('SIGKILL'), GRACE_MS)
}
process.stdin.on('end', stop).resume()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop)

mkdirSync(folder, { mode: 0o700 })
if (user) chownSync(folder, user.uid, user.gid)
const log = join(folder, 'log')
const output = openSync(log, 'a')
let reason = ''
if (before === undefined || (await run(before))) await run(server)
reason += readFileSync(log, 'utf8').slice(-LOG_LENGTH)
// Someone that the server started may still be writing.
rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
// Nobody may be there to read it, which is no failure.
process.stderr.on('error', () => {}).write(reason, () => process.exit(asked ? 0 : 1))

/** Runs a command to its end, unless the end was asked for; tells whether it went well. */
function run({ program, args }: Command): Promise<boolean> {
  if (asked) return Promise.resolve(false)
  // The messages of the system are looked for in the log, in English.
  const env = { ...process.env, LC_ALL: 'C' }
  const child = spawn(program, args, { cwd: folder, stdio: ['ignore', output, output], env, ...user })
  running = child
  return new Promise(done => {
    child.on('exit', code => done(code === 0))
    child.on('error', error => {
      reason = `${error}\n`
      done(false)
    })
  })
}
