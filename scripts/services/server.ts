import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { accessSync, constants, realpathSync, statfsSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { compileCache } from '../compile-cache.ts'

/** A running server. It ends with the process that started it, however that ends. */
export type Service = {
  url: string
  stop(): Promise<void>
  /** Kills the server and all its processes at once, like a crash. Resolves when they are gone. */
  kill(): Promise<void>
  /** Restarts it on its port with its data. Resolves when it answers. */
  restart(): Promise<void>
  /** Suspends its processes: connections stay open without an answer. */
  freeze(): Promise<void>
  /** Resumes a frozen server. */
  thaw(): Promise<void>
  /** Copies its data on disk, including all acknowledged writes. A running server is only paused meanwhile. */
  copy(): Promise<Copy>
  /** Ends the server, restores the data of the copy, and starts it again. Resolves when it answers. */
  restore(copy: Copy): Promise<void>
}

/** Handle of a copy. It can be restored several times, by its own server only. */
type Copy = { readonly folder: string; readonly name: string }

export type ProgramCommand = { program: string; args: string[] }

/** How to run a server. */
export type ServerSpec = {
  /** Fills the data folder before the first start. */
  prepare?: ProgramCommand
  /** Cache folder for the result of `prepare`. The next server copies it instead. */
  cache?: string
  server: ProgramCommand
  /** The user that the commands run as, if not the current one. */
  user?: { uid: number; gid: number }
  /** Files to remove before each start. */
  staleFiles?: string[]
  /** Removes what a killed server left in the system, when it is not started again. */
  cleanUp?: ProgramCommand
}

/** A command to a supervisor and its reply, one line each. */
export type SupervisorCommand = {
  verb: 'start' | 'end' | 'kill' | 'freeze' | 'thaw' | 'copy' | 'restore'
  copy?: string
}
export type SupervisorReply = { error?: string }

/** Options of all kinds of servers. */
export type ServiceOptions = {
  /** Settings that differ from the defaults. */
  settings?: Record<string, string>
  /** Stores the data on disk instead of in memory, for benchmarks. @default false */
  isOnDisk?: boolean
}

/** A kind of server. It gets a temporary folder with a folder `data` in it, and a free loopback port. */
export type ServerKind = {
  name: string
  isOnDisk?: boolean
  spec(folder: string, port: number): ServerSpec
  /** Whether the server of this folder answers at this port. Another process may have taken the port. */
  isReady(folder: string, port: number): Promise<boolean>
  /** Flushes acknowledged writes to disk. */
  flush?(port: number): Promise<void>
  url(port: number): string
}

const MAX_PORT_TRIES = 3
const START_TIMEOUT_MS = 120_000

const RAM_DISK = '/dev/shm'
const MIN_RAM_DISK_BYTES = 2 ** 31
/** Additional free memory that the tests themselves need. */
const MIN_MEMORY_BYTES = 2 ** 32

/**
 * Folder for the data of servers: in memory if there is room. Only a power cut would show the difference, and Postgres copies and
 * restarts there in a tenth of the CPU time. `TMPDIR` takes precedence.
 */
export function dataFolder(): string {
  return process.env['TMPDIR'] === undefined && hasRamDisk() ? RAM_DISK : realpathSync(tmpdir())
}

function hasRamDisk(): boolean {
  try {
    accessSync(RAM_DISK, constants.W_OK)
    const { bavail, bsize } = statfsSync(RAM_DISK)
    return bavail * bsize >= MIN_RAM_DISK_BYTES && process.availableMemory() >= MIN_MEMORY_BYTES
  } catch {
    return false
  }
}

/** Starts a server and resolves when it answers. Rejects with the server's log if it does not answer in time. */
export async function startServer(kind: ServerKind, timeoutMs = START_TIMEOUT_MS): Promise<Service> {
  for (let tries = 1; ; tries++) {
    const port = await freePort()
    // Short, because the path of a socket in it is limited to about a hundred characters.
    const folder = join(
      kind.isOnDisk ? realpathSync(tmpdir()) : dataFolder(),
      `millrace-${kind.name}-${randomUUID().slice(0, 8)}`,
    )
    const supervisor = supervise(folder, kind.spec(folder, port))
    const failure = await supervisor.failure(() => kind.isReady(folder, port), timeoutMs)
    if (failure === undefined) return service(kind, folder, port, supervisor, timeoutMs)
    // Another process can take the port before the server does. Only that failure is retried.
    if (tries === MAX_PORT_TRIES || !/address already in use/i.test(failure)) throw new Error(`${kind.name} ${failure}`)
  }
}

function service(kind: ServerKind, folder: string, port: number, supervisor: Supervisor, timeoutMs: number): Service {
  let copies = 0
  let isAnswering = true
  let turn: Promise<unknown> = Promise.resolve()
  /** One call at a time, because a call consists of several commands. */
  function serialized<Args extends unknown[], Result>(act: (...args: Args) => Promise<Result>) {
    return (...args: Args): Promise<Result> => {
      const done = turn.then(() => act(...args))
      turn = done.catch(() => {})
      return done.catch(error => {
        throw new Error(`${kind.name} ${error instanceof Error ? error.message : error}`)
      })
    }
  }
  async function begin(): Promise<void> {
    await supervisor.send({ verb: 'start' })
    const failure = await supervisor.failure(() => kind.isReady(folder, port), timeoutMs)
    if (failure !== undefined) throw new Error(failure)
    isAnswering = true
  }
  return {
    url: kind.url(port),
    stop: supervisor.stop,
    kill: serialized(async () => {
      await supervisor.send({ verb: 'kill' })
      isAnswering = false
    }),
    restart: serialized(async () => {
      await supervisor.send({ verb: 'end' })
      await begin()
    }),
    freeze: serialized(async () => {
      await supervisor.send({ verb: 'freeze' })
      isAnswering = false
    }),
    thaw: serialized(async () => {
      await supervisor.send({ verb: 'thaw' })
      isAnswering = true
    }),
    copy: serialized(async () => {
      if (isAnswering) await kind.flush?.(port)
      const name = `copy-${++copies}`
      await supervisor.send({ verb: 'copy', copy: name })
      return { folder, name }
    }),
    restore: serialized(async ({ folder: copied, name }: Copy) => {
      if (copied !== folder)
        throw new Error('expected a copy of this server, found a copy of another server: restore it with that server')
      await supervisor.send({ verb: 'restore', copy: name })
      await begin()
    }),
  }
}

type Supervisor = {
  /** Waits until the server answers. Otherwise returns the reason, and the server is gone. */
  failure(isReady: () => Promise<boolean>, timeoutMs: number): Promise<string | undefined>
  /** Resolves when the supervisor has executed the command. */
  send(command: SupervisorCommand): Promise<void>
  stop(): Promise<void>
}

function supervise(folder: string, spec: ServerSpec): Supervisor {
  const supervisor = spawn(
    process.execPath,
    [join(import.meta.dirname, 'supervisor.ts'), folder, JSON.stringify(spec)],
    {
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...compileCache },
    },
  )
  let log = ''
  supervisor.stderr.setEncoding('utf8').on('data', text => {
    log += text
  })
  const waiting: ((answer: SupervisorReply) => void)[] = []
  createInterface(supervisor.stdout).on('line', line => waiting.shift()?.(JSON.parse(line) as SupervisorReply))
  // The caller of a command gets the failure below.
  supervisor.stdin.on('error', () => {})
  const end = once(supervisor, 'close').then(() => 'ended at its start')
  const hold = refCounter([supervisor, supervisor.stdin, supervisor.stdout, supervisor.stderr] as Handle[])
  const stop = async () => {
    // Keeps the process alive while it waits for the end.
    hold()
    supervisor.stdin.end()
    await end
  }
  return {
    stop,
    async send(command) {
      const release = hold()
      const answer = new Promise<SupervisorReply>(resolve => waiting.push(resolve))
      supervisor.stdin.write(`${JSON.stringify(command)}\n`)
      const { error } = await Promise.race([answer, end.then(() => ({ error: `has ended:\n${log}` }))])
      release()
      if (error !== undefined) throw new Error(error)
    },
    async failure(isReady, timeoutMs) {
      const release = hold()
      const starting = new AbortController()
      const late = sleep(timeoutMs, `did not answer within ${timeoutMs / 1000} s`, { signal: starting.signal })
      const up = async () => {
        while (!starting.signal.aborted && !(await isReady())) await sleep(20)
        return undefined
      }
      const failure = await Promise.race([up(), end, late]).catch(error => `cannot be checked: ${error}`)
      starting.abort()
      if (failure !== undefined) {
        await stop()
        return `${failure}:\n${log}`
      }
      // The server does not keep an otherwise finished process alive.
      release()
      return undefined
    },
  }
}

type Handle = { ref?(): void; unref?(): void }

/** Refs these handles while at least one caller holds them. */
function refCounter(handles: Handle[]): () => () => void {
  let holders = 0
  return () => {
    if (holders++ === 0) for (const handle of handles) handle.ref?.()
    return () => {
      if (--holders === 0) for (const handle of handles) handle.unref?.()
    }
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (address === null || typeof address === 'string') throw new Error('expected a free loopback port, found none')
  return address.port
}
