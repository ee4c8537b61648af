import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import type { Report } from './child.ts'

/** Timeout of a measuring process, in ms. */
const TIMEOUT_MS = 5 * 60_000

let running: ChildProcess | undefined
process.on('exit', () => running?.kill())
for (const [signal, code] of [
  ['SIGHUP', 129],
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  process.on(signal, () => process.exit(code))
}

/** Measures one contender once, in a new process. */
export function measureInChild(suite: string, benchmark: string, contender: string, quick: boolean): Promise<Report> {
  return new Promise(done => {
    const child = fork(join(import.meta.dirname, 'child.ts'), [suite, benchmark, contender, quick ? 'quick' : 'full'], {
      // Contenders run in production mode. Output of peers is dropped from the tables.
      env: { ...process.env, NODE_ENV: 'production' },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      execArgv: process.execArgv,
    })
    running = child
    let report: Report | undefined
    let stderr = ''
    const timer = setTimeout(() => {
      report = { error: `no result within ${TIMEOUT_MS / 1000} s` }
      child.kill('SIGKILL')
    }, TIMEOUT_MS)
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-4000)
    })
    child.on('message', message => {
      report = message as Report
    })
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      running = undefined
      done(report ?? { error: `the process ended with ${signal ?? code}\n${stderr}` })
    })
  })
}
