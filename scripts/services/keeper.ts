// Holds one server for a process that may die at any moment. Run by server.ts, in a session of its own, so that Ctrl-C does
// not reach it: when the other end of its standard input closes, for whatever reason, kill -9 included, it ends the server
// and removes its folder.
import { spawn } from 'node:child_process'
import { openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { ServerSpec } from './server.ts'

const GRACE_MS = 5_000

const [, , folder = '', spec = ''] = process.argv
const { program, args, user } = JSON.parse(spec) as ServerSpec
const log = join(folder, 'log')
const output = openSync(log, 'a')
const server = spawn(program, args, { cwd: folder, stdio: ['ignore', output, output], ...user })

let asked = false
function stop(): void {
  asked = true
  // SIGINT is what both Redis and Postgres take as "now, and do not wait for the clients".
  server.kill('SIGINT')
  setTimeout(() => server.kill('SIGKILL'), GRACE_MS)
}

process.stdin.on('end', stop).resume()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop)

server.on('error', error => end(String(error)))
server.on('exit', () => end(readFileSync(log, 'utf8')))

function end(reason: string): void {
  rmSync(folder, { recursive: true, force: true })
  // Written only if nobody asked for the end: then someone waits at the other end of the pipe to learn why.
  if (!asked) process.stderr.write(reason)
  process.exit(asked ? 0 : 1)
}
