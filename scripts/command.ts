import { type ChildProcess, spawn } from 'node:child_process'
import { delimiter, dirname, join, resolve } from 'node:path'

/** The root folder of the workspace. */
export const root = resolve(import.meta.dirname, '..')

/** Result of a command: exit code, duration in ms, and the captured output if it was quiet. */
export type Outcome = { code: number; ms: number; output: string }

export type CommandOptions = {
  cwd?: string
  env?: Record<string, string>
  /** Captures the output instead of printing it. @default false */
  quiet?: boolean
  /** Sends SIGTERM after this time in ms. @default none */
  timeoutMs?: number
}

/** Runs a command or a tool of node_modules/.bin to its end. */
export async function command(name: string, args: string[], options: CommandOptions = {}): Promise<Outcome> {
  const from = performance.now()
  const child = spawn(name, args, {
    cwd: options.cwd ?? root,
    env: { ...process.env, PATH: path, ...options.env },
    ...(options.timeoutMs !== undefined && { timeout: options.timeoutMs }),
    stdio: options.quiet ? ['ignore', 'pipe', 'pipe'] : 'inherit',
    // On Windows the commands of npm and pnpm are .cmd files, which need a shell.
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

/** Formats ms as seconds. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

const path = [join(root, 'node_modules', '.bin'), dirname(process.execPath), process.env['PATH']].join(delimiter)
const running = new Set<ChildProcess>()
let ending: NodeJS.Signals | undefined
const CTRL_C_GRACE_MS = 5_000

// A signal ends the running commands, lets them clean up, and prevents new ones.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    ending = signal
    if (running.size === 0) end(signal)
    // A terminal sends Ctrl-C to all of the process group, so the children have it already. If they do not end, only this process got the signal.
    const wait = signal === 'SIGINT' && process.stdin.isTTY ? CTRL_C_GRACE_MS : 0
    setTimeout(() => running.forEach(child => void child.kill(signal)), wait)
  })
}

function end(signal: NodeJS.Signals): void {
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
}
