// A child process of a test, and the channel between them, in lines of JSON: messages of the test go to the child's standard
// input, events of the child to its standard output. The test uses `child()`, the child `reportEvent()` and `messages()`.
import { spawn } from 'node:child_process'
import { basename } from 'node:path'
import { createInterface } from 'node:readline'
import { compileCache } from '../compile-cache.ts'

/** Name and fields of an event. */
type ChildEvent<Fields> = { event: string } & Fields

type Fields = Record<string, unknown>

/** Exit of a child, and the end of its other output. */
type Exit = { code: number | null; signal: NodeJS.Signals | null; output: string }

/** A process that a test has started. It ends with the test's own process, however that ends. */
export type Child = {
  pid: number
  /**
   * Takes the next event of this name, also of a child that has ended since. Rejects with the output of the child if it
   * ends, or has ended, without one.
   */
  event<Of extends object = Fields>(name: string): Promise<ChildEvent<Of>>
  /** Takes all events of this name that have arrived. */
  events<Of extends object = Fields>(name: string): ChildEvent<Of>[]
  /** Resolves when the message is written. Rejects if the child is gone. */
  send(message: object): Promise<void>
  /** Kills it with SIGKILL. Resolves when it is gone and all its events have arrived. */
  kill9(): Promise<void>
  /** Resolves when it has ended and all its events have arrived. Never rejects. */
  exited: Promise<Exit>
}

/** Maximum number of untaken events, and of characters in one. A child that exceeds them is killed, and its test fails with the reason. */
const MAX_EVENTS = 10_000
const MAX_LINE_LENGTH = 1024 * 1024
const MAX_OUTPUT_LENGTH = 10_000

// The shell becomes the child. It first starts a guard that waits on descriptor 3 for a line, which is written when the child has ended. If
// descriptor 3 closes without a line, the test's process has died, and the guard kills the child, which may be frozen or too busy to notice.
const GUARDED = '(read -r line <&3 || kill -9 $$) </dev/null >/dev/null 2>&1 & exec 3<&- && exec "$0" "$@"'

/** Starts `node` on this file, with the packages of the workspace as their sources. `env` is added to the environment. */
export function startChildProcess(
  file: string,
  args: readonly string[] = [],
  env: Record<string, string> = compileCache,
): Child {
  const command = [process.execPath, '--conditions=@millrace/source', file, ...args]
  const running = spawn('sh', ['-c', GUARDED, ...command], {
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  const guard = running.stdio[3] as typeof running.stdin
  const untaken: ChildEvent<Fields>[] = []
  const waiting: { name: string; resolve(event: ChildEvent<Fields>): void; reject(error: Error): void }[] = []
  let output = ''
  let end: Exit | undefined

  function addOutput(text: string): void {
    output = (output + text).slice(-MAX_OUTPUT_LENGTH)
  }
  function killBecause(reason: string): void {
    addOutput(`\nkilled, because ${reason}`)
    running.stdout.destroy()
    running.kill('SIGKILL')
  }
  function take(line: string): void {
    const event = parse(line)
    if (event === undefined) {
      addOutput(`${line}\n`)
      return
    }
    const index = waiting.findIndex(({ name }) => name === event.event)
    if (index >= 0) waiting.splice(index, 1)[0]?.resolve(event)
    else if (untaken.push(event) > MAX_EVENTS) killBecause(`it sent ${untaken.length} events that were not taken`)
  }
  function failure(does: string): Error {
    const how = end === undefined ? 'is about to end' : `ended with ${end.signal ?? `code ${end.code}`}`
    return new Error(`${basename(file)} ${how} ${does}:\n${output}`)
  }

  let rest = ''
  running.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (!running.stdout.destroyed) take(line)
    if (rest.length > MAX_LINE_LENGTH) killBecause(`a line of its output has more than ${MAX_LINE_LENGTH} characters`)
  })
  running.stderr.setEncoding('utf8').on('data', addOutput)
  running.on('error', error => addOutput(String(error)))
  // Errors reach the sender of a message. Errors of the guard's pipe mean that the child is gone.
  for (const stream of [running.stdin, guard]) stream.on('error', () => {})
  running.on('exit', () => guard.end('\n'))
  const exited = new Promise<Exit>(resolve => {
    running.on('close', (code, signal) => {
      end = { code, signal, output }
      resolve(end)
      for (const { name, reject } of waiting.splice(0)) reject(failure(`before it sent '${name}'`))
    })
  })

  return {
    pid: running.pid ?? 0,
    exited,
    event<Of extends object>(name: string) {
      const event = new Promise<ChildEvent<Fields>>((resolve, reject) => {
        const index = untaken.findIndex(found => found.event === name)
        const [found] = index < 0 ? [] : untaken.splice(index, 1)
        if (found) resolve(found)
        else if (end) reject(failure(`before it sent '${name}'`))
        else waiting.push({ name, resolve, reject })
      })
      // The caller no longer waits.
      event.catch(() => {})
      return event as Promise<ChildEvent<Of>>
    },
    events<Of extends object>(name: string) {
      const events = untaken.filter(({ event }) => event === name)
      untaken.splice(0, untaken.length, ...untaken.filter(({ event }) => event !== name))
      return events as ChildEvent<Of>[]
    },
    send: message =>
      new Promise((resolve, reject) => {
        running.stdin.write(`${JSON.stringify(message)}\n`, error =>
          error ? reject(failure('and takes no message')) : resolve(),
        )
      }),
    async kill9() {
      running.kill('SIGKILL')
      await exited
    },
  }
}

/** Parses an event. Returns undefined for other output, for example of a library. */
function parse(line: string): ChildEvent<Fields> | undefined {
  try {
    const parsed: unknown = JSON.parse(line)
    const isEvent =
      typeof parsed === 'object' && parsed !== null && 'event' in parsed && typeof parsed.event === 'string'
    return isEvent ? (parsed as ChildEvent<Fields>) : undefined
  } catch {
    return undefined
  }
}

/** In a child: sends an event to the test. Resolves when it is written, so that a `kill -9` cannot lose it. */
export function reportEvent(event: string, fields: object = {}): Promise<void> {
  const line = `${JSON.stringify({ ...fields, event })}\n`
  return new Promise((resolve, reject) => {
    process.stdout.write(line, error => (error ? reject(error) : resolve()))
  })
}

/** In a child: messages of the test, until the test's process is gone or the loop is left. */
export async function* messagesOfTest<Message extends object = Fields>(): AsyncGenerator<Message> {
  try {
    for await (const line of createInterface(process.stdin)) yield JSON.parse(line) as Message
  } finally {
    // Otherwise a finished child would keep waiting for messages.
    process.stdin.destroy()
  }
}
