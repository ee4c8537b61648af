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

/** A server that runs: where it is, and how to end it. It ends by itself when the process that started it does, however. */
export type Service = {
  url: string
  stop(): Promise<void>
  /** Kills the server and all its processes at one moment, as a crash does; resolves when they are gone. */
  kill(): Promise<void>
  /** Starts it again on its port with its data, after ending it if it runs; resolves when it answers. */
  restart(): Promise<void>
  /** Stops its processes where they stand: connections stay open, and nobody answers. */
  freeze(): Promise<void>
  /** Lets a frozen server go on. */
  thaw(): Promise<void>
  /** Keeps a copy of its data as they are on the disk, with all that was acknowledged before. A server that runs is held up, no more. */
  copy(): Promise<Copy>
  /** Ends the server, puts its data back as they were at the copy, and starts it again; resolves when it answers. */
  restore(copy: Copy): Promise<void>
}

/** What stands for a copy of a server's data, for that server alone, as often as wanted. */
type Copy = { readonly of: string; readonly name: string }

export type Command = { program: string; args: string[] }

/** How to run a server. */
export type ServerSpec = {
  /** Fills the data folder before the first start. */
  before?: Command
  /** A folder that caches what `before` made. The next server copies it instead. */
  cache?: string
  server: Command
  /** The user that the commands run as, if not the current one. */
  user?: { uid: number; gid: number }
  /** Files to remove before each start. */
  stale?: string[]
  /** Removes what a killed server left in the system, when it is not started again. */
  sweep?: Command
}

/** What a keeper is told in a line, and how it answers. */
export type Order = { verb: 'start' | 'end' | 'kill' | 'freeze' | 'thaw' | 'copy' | 'restore'; copy?: string }
export type Answer = { error?: string }

/** What the callers of all kinds of servers may ask for. */
export type ServiceOptions = {
  /** Settings that differ from the defaults. */
  settings?: Record<string, string>
  /** Keeps the data on the disk and not in memory, as for measurements. @default false */
  isOnDisk?: boolean
}

/** A kind of server. It gets a folder of its own that goes when it goes, with a folder `data` in it, and a free loopback port. */
export type Kind = {
  name: string
  isOnDisk?: boolean
  spec(folder: string, port: number): ServerSpec
  /** Whether the server of this folder answers at this port: another may have taken it meanwhile. */
  answers(folder: string, port: number): Promise<boolean>
  /** Brings what was acknowledged to the disk, if it may not be there. */
  settle?(port: number): Promise<void>
  url(port: number): string
}

const PORT_TRIES = 3
const START_MS = 120_000

const RAM_DISK = '/dev/shm'
const RAM_DISK_BYTES = 2 ** 31
/** Memory that must be free besides, for the tests themselves. */
const MEMORY_BYTES = 2 ** 32

/**
 * Where servers keep their data: in memory where there is room, since only a power cut tells it from a disk, and Postgres copies and
 * restarts there in a tenth of the CPU time. `TMPDIR` goes first.
 */
export function placeForData(): string {
  return process.env['TMPDIR'] === undefined && hasRamDisk() ? RAM_DISK : realpathSync(tmpdir())
}

function hasRamDisk(): boolean {
  try {
    accessSync(RAM_DISK, constants.W_OK)
    const { bavail, bsize } = statfsSync(RAM_DISK)
    return bavail * bsize >= RAM_DISK_BYTES && process.availableMemory() >= MEMORY_BYTES
  } catch {
    return false
  }
}

/** Starts a server and resolves when it answers; rejects with the server's own words when it does not within that time. */
export async function start(kind: Kind, withinMs = START_MS): Promise<Service> {
  for (let tries = 1; ; tries++) {
    const port = await freePort()
    // Short: the path of a socket in it may have about a hundred characters.
    const folder = join(
      kind.isOnDisk ? realpathSync(tmpdir()) : placeForData(),
      `millrace-${kind.name}-${randomUUID().slice(0, 8)}`,
    )
    const keeper = keep(folder, kind.spec(folder, port))
    const failure = await keeper.failure(() => kind.answers(folder, port), withinMs)
    if (failure === undefined) return service(kind, folder, port, keeper, withinMs)
    // Between our finding a port and the server's taking it, another may; nothing else gets better by trying again.
    if (tries === PORT_TRIES || !/address already in use/i.test(failure)) throw new Error(`${kind.name} ${failure}`)
  }
}

function service(kind: Kind, folder: string, port: number, keeper: Keeper, withinMs: number): Service {
  let copies = 0
  let answers = true
  let turn: Promise<unknown> = Promise.resolve()
  /** One verb at a time: they are of several orders. */
  function verb<Args extends unknown[], Result>(act: (...args: Args) => Promise<Result>) {
    return (...args: Args): Promise<Result> => {
      const done = turn.then(() => act(...args))
      turn = done.catch(() => {})
      return done.catch(error => {
        throw new Error(`${kind.name} ${error instanceof Error ? error.message : error}`)
      })
    }
  }
  async function begin(): Promise<void> {
    await keeper.order({ verb: 'start' })
    const failure = await keeper.failure(() => kind.answers(folder, port), withinMs)
    if (failure !== undefined) throw new Error(failure)
    answers = true
  }
  return {
    url: kind.url(port),
    stop: keeper.stop,
    kill: verb(async () => {
      await keeper.order({ verb: 'kill' })
      answers = false
    }),
    restart: verb(async () => {
      await keeper.order({ verb: 'end' })
      await begin()
    }),
    freeze: verb(async () => {
      await keeper.order({ verb: 'freeze' })
      answers = false
    }),
    thaw: verb(async () => {
      await keeper.order({ verb: 'thaw' })
      answers = true
    }),
    copy: verb(async () => {
      if (answers) await kind.settle?.(port)
      const name = `copy-${++copies}`
      await keeper.order({ verb: 'copy', copy: name })
      return { of: folder, name }
    }),
    restore: verb(async ({ of, name }: Copy) => {
      if (of !== folder) throw new Error('was given a copy of the data of another server')
      await keeper.order({ verb: 'restore', copy: name })
      await begin()
    }),
  }
}

type Keeper = {
  /** Waits until the server answers; otherwise tells why it does not, and then it is gone. */
  failure(answers: () => Promise<boolean>, withinMs: number): Promise<string | undefined>
  /** Resolves when the order is carried out. */
  order(order: Order): Promise<void>
  stop(): Promise<void>
}

function keep(folder: string, spec: ServerSpec): Keeper {
  const keeper = spawn(process.execPath, [join(import.meta.dirname, 'keeper.ts'), folder, JSON.stringify(spec)], {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...compileCache },
  })
  let log = ''
  keeper.stderr.setEncoding('utf8').on('data', text => {
    log += text
  })
  const waiting: ((answer: Answer) => void)[] = []
  createInterface(keeper.stdout).on('line', line => waiting.shift()?.(JSON.parse(line) as Answer))
  // Whoever gives an order is told of the end below.
  keeper.stdin.on('error', () => {})
  const end = once(keeper, 'close').then(() => 'ended at its start')
  const hold = holder([keeper, keeper.stdin, keeper.stdout, keeper.stderr] as Handle[])
  const stop = async () => {
    // Who waits for the end must live to see it.
    hold()
    keeper.stdin.end()
    await end
  }
  return {
    stop,
    async order(order) {
      const release = hold()
      const answer = new Promise<Answer>(resolve => waiting.push(resolve))
      keeper.stdin.write(`${JSON.stringify(order)}\n`)
      const { error } = await Promise.race([answer, end.then(() => ({ error: `has ended:\n${log}` }))])
      release()
      if (error !== undefined) throw new Error(error)
    },
    async failure(answers, withinMs) {
      const release = hold()
      const starting = new AbortController()
      const late = sleep(withinMs, `did not answer within ${withinMs / 1000} s`, { signal: starting.signal })
      const up = async () => {
        while (!starting.signal.aborted && !(await answers())) await sleep(20)
        return undefined
      }
      const failure = await Promise.race([up(), end, late]).catch(error => `cannot be asked: ${error}`)
      starting.abort()
      if (failure !== undefined) {
        await stop()
        return `${failure}:\n${log}`
      }
      // A process that has nothing left to do may end, and the server with it.
      release()
      return undefined
    },
  }
}

type Handle = { ref?(): void; unref?(): void }

/** Keeps the process alive by these handles while anyone holds them. */
function holder(handles: Handle[]): () => () => void {
  let holding = 0
  return () => {
    if (holding++ === 0) for (const handle of handles) handle.ref?.()
    return () => {
      if (--holding === 0) for (const handle of handles) handle.unref?.()
    }
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (address === null || typeof address === 'string') throw new Error('no free loopback port')
  return address.port
}
