import type { Chunk, Entry } from '@millrace/protocol'
import { StreamManager } from '../../manager/stream-manager.ts'
import { LogError, type LogErrorCode } from '../../store/log-error.ts'
import type { Accepted, LogStore } from '../../store/log-store.ts'
import { wait } from '../../store/timers.ts'
import type { Random } from './random.fixture.ts'
import { excerptOf, same, type World } from './schedule-world.fixture.ts'
import type { Process } from './scheduler.fixture.ts'

/** Errors that a call may fail with while other actors work on the same logs and the store is sometimes unavailable. */
const EXPECTED_ERRORS: ReadonlySet<LogErrorCode> = new Set([
  'unavailable',
  'fenced',
  'regressed',
  'moved',
  'busy',
  'absent',
  'closed',
  'refused',
  'truncated',
])

/** Phase of the actors: any action while there are faults, and at the end only actions that complete open work. */
export interface ActorMode {
  isFinishing: boolean
}

/** Common state of all actors in a schedule. */
export class Actor {
  readonly world: World
  readonly process: Process
  readonly manager: StreamManager
  readonly random: Random

  constructor(world: World, process: Process, store: LogStore, random: Random) {
    const { scheduler } = world
    this.world = world
    this.process = process
    this.random = random
    this.manager = new StreamManager({
      store,
      owner: process.name,
      leaseMs: 600,
      retryTimeoutMs: random.pick([100, 1_000, 5_000]),
      blobBytes: 128,
      timers: scheduler.timersOf(process),
    })
  }

  /** The last known time of the store. */
  get clock(): number {
    return this.world.scheduleStore.clock?.time ?? this.world.clock
  }

  /** Ids of the logs that exist or existed. */
  get streams(): string[] {
    const { logs, removed } = this.world
    return [...new Set([...logs.keys(), ...removed.map(({ streamId }) => streamId)])]
  }

  recordAction(action: string): void {
    this.world.operation(this.process, action)
  }

  sleep(low: number, high: number): Promise<void> {
    return wait(this.world.scheduler.timersOf(this.process), this.random.between(low, high))
  }

  /** Runs a call that may fail with an expected error. Returns undefined then. Any other error breaks the schedule. */
  async attempt<T>(work: () => Promise<T>, alsoExpected: readonly LogErrorCode[] = []): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      const code = error instanceof LogError ? error.code : undefined
      if (code === undefined || !(EXPECTED_ERRORS.has(code) || alsoExpected.includes(code))) {
        this.world.violate('unexpected', `${this.process.name}: ${error instanceof Error ? error.stack : error}`)
      } else this.world.scheduler.note(`${this.process.name}: ${code}: ${(error as Error).message}`)
      return undefined
    }
  }

  /** Checks that an acknowledged append is in the log at its sequences: chunks in order, or a text. */
  checkAcknowledged(
    streamId: string,
    mark: string,
    { first, last }: Accepted,
    content: readonly Chunk[] | string,
  ): void {
    const logs = this.world.logsOf(streamId).filter(log => log.markAt(first) === mark)
    const found = logs.map(log => log.entries.slice(first - 1, last))
    const isStored = found.some(entries => {
      return typeof content === 'string' ? JSON.stringify(entries).includes(content) : containsChunks(entries, content)
    })
    this.world.check(isStored, 'acknowledged', () => {
      return `${excerptOf(content)} at ${first} to ${last} of ${streamId}, where the log has ${excerptOf(found)}`
    })
  }

  /** Checks that all entries of a commit are in the log. */
  checkCommitted(streamId: string, mark: string, last: number, tokens: readonly string[]): void {
    const log = this.world.logsOf(streamId).find(log => log.markAt(last) === mark)
    const lost = tokens.filter(token => token !== '' && !((log?.tokens.get(token) ?? last + 1) <= last))
    this.world.check(lost.length === 0, 'acknowledged', () => `a commit at ${last} of ${streamId} without ${lost}`)
  }
}

/** Whether the entries contain these chunks in order. A large value may be a blob. */
function containsChunks(entries: readonly Entry[], chunks: readonly Chunk[]): boolean {
  let at = 0
  for (const { chunk, blobs } of entries) {
    const next = chunks[at]
    if (next && (blobs ? next.type === chunk.type : same(next, chunk))) at++
  }
  return at === chunks.length
}
