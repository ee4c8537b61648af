// One schedule: actors work on a few logs under faults, then without faults until no work remains, and then the checks run.

import type { LogStore } from '../../store/log-store.ts'
import { cleanupActor } from './cleanup-actor.fixture.ts'
import { driverActor, PROGRAMS } from './driver-actor.fixture.ts'
import { FAULTS, Faults } from './faults.fixture.ts'
import { faultyStore } from './faulty-store.fixture.ts'
import { finalChecks } from './final-checks.fixture.ts'
import { guestActor } from './guest-actor.fixture.ts'
import { Random } from './random.fixture.ts'
import { type ReaderKind, ReaderMemory, readerActor } from './reader-actor.fixture.ts'
import { RecordingStore } from './recording-store.fixture.ts'
import { Actor, type ActorMode } from './schedule-actor.fixture.ts'
import { type ScheduleStore, World } from './schedule-world.fixture.ts'
import { Process, Scheduler } from './scheduler.fixture.ts'

/** A planted bug of a schedule. */
export interface Mutation {
  /** A store with a bug. */
  readonly store?: (store: LogStore) => LogStore
  /** A manager with a bug: changes its calls to the store. */
  readonly manager?: (store: LogStore, process: Process) => LogStore
}

export interface Report {
  readonly seed: number
  readonly violations: readonly string[]
  readonly trace: readonly string[]
  readonly operations: number
  readonly steps: number
  readonly counts: Readonly<Record<string, number>>
  /** Number of injected faults, including deaths of processes. */
  readonly faults: number
  /** Number of processes that died. */
  readonly deaths: number
}

/** Operations of all actors together, while there are faults. */
const MIN_OPERATIONS = 230
const READERS: readonly ReaderKind[] = ['whole', 'run', 'surviving', 'surviving', 'merged', 'thrown', 'entries']
/** More than any schedule needs to finish. */
const MAX_STEPS = 10_000
const MAX_JUMP_MS = 2_000

/** Runs the schedule of a seed. It is the same on every store. */
export async function schedule(seed: number, scheduleStore: ScheduleStore, mutation: Mutation = {}): Promise<Report> {
  return new Schedule(seed, scheduleStore, mutation).run()
}

class Schedule {
  readonly #seed: number
  readonly #random: Random
  readonly #world: World
  readonly #stores: readonly RecordingStore[]
  readonly #mutation: Mutation
  readonly #mode: ActorMode = { isFinishing: false }
  readonly #readers: ReaderMemory[] = []
  readonly #starters = new Map<Process, (process: Process) => void>()
  readonly #names: readonly string[]
  #skew = 0
  #deaths = 0

  constructor(seed: number, scheduleStore: ScheduleStore, mutation: Mutation) {
    this.#seed = seed
    this.#random = new Random(seed)
    const scheduler = new Scheduler(this.#random.fork('scheduler'), Faults.drawn(this.#random.fork('faults')))
    this.#world = new World(scheduler, scheduleStore, `s${seed}-`)
    this.#mutation = mutation
    this.#names = ['a', 'b'].map(name => `${this.#world.prefix}${name}`)
    const stores = mutation.store ? scheduleStore.handles.map(mutation.store) : scheduleStore.handles
    this.#stores = stores.map(store => new RecordingStore(store, this.#world))
    scheduler.onDeath = process => this.#replace(process)
    scheduler.onTime = () => this.#tick()
  }

  async run(): Promise<Report> {
    const world = this.#world
    const { scheduler } = world
    this.#startActors()
    const operationTarget = MIN_OPERATIONS + this.#random.below(60)
    while (world.operations < operationTarget && this.#isLawful() && (await scheduler.step()));
    scheduler.note('faults end')
    this.#mode.isFinishing = true
    await scheduler.stopFaults(Faults.none)
    for (let quietRounds = 0; quietRounds < 3 && this.#isLawful(); ) {
      for (let i = 0; i < 25; i++) await scheduler.step()
      const remaining = await this.#remainingWork()
      if (remaining === undefined) quietRounds++
      else quietRounds = 0
      const isTooLong = remaining !== undefined && scheduler.steps > MAX_STEPS
      world.check(!isTooLong, 'quiet', () => `work remains after ${MAX_STEPS} steps: ${remaining}`)
    }
    for (const process of this.#starters.keys()) scheduler.retire(process)
    const [store] = world.scheduleStore.handles as [LogStore]
    if (world.violations.length === 0) await finalChecks(world, store, this.#readers)
    for (const streamId of world.logs.keys()) await store.remove(streamId)
    const { violations, operations } = world
    const { trace, steps, counts } = scheduler
    const faults = FAULTS.reduce((sum, fault) => sum + (counts[fault] ?? 0), 0)
    return { seed: this.#seed, violations, trace, operations, steps, counts, faults, deaths: this.#deaths }
  }

  #isLawful(): boolean {
    return this.#world.violations.length === 0
  }

  /** Starts the actors. */
  #startActors(): void {
    const random = this.#random.fork('cast')
    const { world, seed, names } = { world: this.#world, seed: this.#seed, names: this.#names }
    for (let i = 0; i < random.between(2, 3); i++)
      this.#startActor(`driver${i}`, actor => driverActor(actor, seed, this.#mode))
    for (let i = 0; i < 2; i++) {
      const memory = { principal: `user${i}` }
      this.#startActor(`guest${i}`, actor => guestActor(actor, memory, this.#mode, names))
    }
    for (let i = 0; i < 4; i++) {
      const memory = new ReaderMemory(random.pick(READERS), names[0] as string)
      this.#readers.push(memory)
      this.#startActor(`reader${i}`, actor => readerActor(actor, memory))
    }
    this.#startActor('keeper', (actor, store) => cleanupActor(actor, store, this.#mode))
    world.scheduler.note(`seed ${seed}`)
  }

  /** Starts an actor. When its process dies, the next one starts from the logs. */
  #startActor(name: string, act: (actor: Actor, store: LogStore) => Promise<unknown>): void {
    const random = this.#random.fork(name)
    const start = (process: Process) => {
      const store = this.#stores[this.#starters.size % this.#stores.length] as RecordingStore
      const faulty = faultyStore(store, this.#world, process)
      const managerStore = this.#mutation.manager?.(faulty, process) ?? faulty
      const actor = new Actor(this.#world, process, managerStore, random.fork(process.name))
      this.#starters.set(process, start)
      act(actor, managerStore).catch(error =>
        this.#world.violate('unexpected', `${process.name}: ${error?.stack ?? error}`),
      )
    }
    start(new Process(name))
  }

  #replace(dead: Process): void {
    const start = this.#starters.get(dead)
    this.#starters.delete(dead)
    start?.(new Process(`${dead.name.split('+')[0]}+${++this.#deaths}`))
  }

  /** Advances the clock of the store with the others. Sometimes it jumps. */
  #tick(): void {
    const { scheduleStore, scheduler } = this.#world
    if (scheduleStore.clock === undefined) return
    const { random, faults } = scheduler
    if (random.chance(faults.jump)) {
      this.#skew = random.between(-MAX_JUMP_MS, MAX_JUMP_MS)
      scheduler.note(`the clock jumps to ${this.#skew}`)
      scheduler.count('clock-jump')
    }
    if (faults === Faults.none) this.#skew = Math.max(this.#skew, MAX_JUMP_MS)
    scheduleStore.clock.time = scheduler.now + this.#skew
    if (scheduleStore.clock.steady !== undefined) scheduleStore.clock.steady = scheduler.now
  }

  /** Describes remaining work: a log is due or leased, a run waits for a possible answer, or a reader has not reached the head. */
  async #remainingWork(): Promise<string | undefined> {
    const { logs, scheduleStore, scheduler } = this.#world
    const [store] = this.#stores as [RecordingStore]
    const [due] = await store.due(PROGRAMS, 100)
    if (due !== undefined) return `${due} is due`
    for (const { ticket, epoch, streamId, leaseUntil } of logs.values()) {
      if (leaseUntil !== null && leaseUntil > (scheduleStore.clock?.time ?? scheduler.now))
        return `${epoch} holds ${streamId}`
      if (ticket.run && PROGRAMS.some(program => program === ticket.run?.program)) return `a run of ${streamId} waits`
    }
    const behind = this.#readers.find(({ kind, streamId, sequence, cursor }) => {
      const log = logs.get(streamId)
      if (kind === 'run' || kind === 'entries' || log === undefined) return false
      // A reader with a cursor may follow a removed log: it gets an error, also while the new log is empty.
      return cursor === undefined ? log.head > log.floor : sequence !== log.head
    })
    return behind && `a reader of ${behind.streamId} is at ${behind.sequence}`
  }
}
