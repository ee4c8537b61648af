import { type ChildProcess, spawn } from 'node:child_process'
import { delimiter, dirname, join, resolve } from 'node:path'

/** The root folder of the workspace. */
export const root = resolve(import.meta.dirname, '..')

/** How a command ended: its exit code, how long it took, and what it said if it was run quietly. */
export type Outcome = { code: number; ms: number; output: string }

export type CommandOptions = {
  cwd?: string
  env?: Record<string, string>
  /** Keeps the output for the caller instead of printing it. @default false */
  quiet?: boolean
  /** Ends the command with SIGTERM after so many ms. @default none */
  timeoutMs?: number
}

/** Runs a command, or a tool of node_modules/.bin, to its end. Quiet ones keep their output for the caller to show. */
export async function command(name: string, args: string[], options: CommandOptions = {}): Promise<Outcome> {
  const from = performance.now()
  const child = spawn(name, args, {
    cwd: options.cwd ?? root,
    env: { ...process.env, PATH: path, ...options.env },
    ...(options.timeoutMs !== undefined && { timeout: options.timeoutMs }),
    stdio: options.quiet ? ['ignore', 'pipe', 'pipe'] : 'inherit',
    // npm's and pnpm's commands are .cmd files there, which only a shell runs.
    shell: process.platform === 'win32',
  })
  running.add(child)
  let output = ''
  const keep = (text: string) => {
    output += text
  }
  child.stdout?.setEncoding('utf8').on('data', keep)
  child.stderr?.setEncoding('utf8').on('data', keep)
  const code = await new Promise<number>(done => {
    child.on('error', error => {
      output += error.message
      done(127)
    })
    child.on('close', status => done(status ?? 1))
  })
  running.delete(child)
  if (ending) end(ending)
  return { code, ms: performance.now() - from, output }
}

/** Milliseconds as people read them. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

const path = [join(root, 'node_modules', '.bin'), dirname(process.execPath), process.env['PATH']].join(delimiter)
const running = new Set<ChildProcess>()
let ending: NodeJS.Signals | undefined
const CTRL_C_MS = 5_000

// A signal ends what runs now, lets it clean up, and starts nothing more.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    ending = signal
    if (running.size === 0) end(signal)
    // A terminal sends Ctrl-C to the whole group, so the children have it already; if they do not end, someone else sent it to us.
    const wait = signal === 'SIGINT' && process.stdin.isTTY ? CTRL_C_MS : 0
    setTimeout(() => running.forEach(child => void child.kill(signal)), wait)
  })
}

function end(signal: NodeJS.Signals): void {
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
}
