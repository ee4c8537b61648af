// A race on a real store in real time: two drivers and concurrent guests. The events vary, the invariants do not.

import { setTimeout as pause } from 'node:timers/promises'
import { type LogStore, type StreamInfo, systemTimers } from '@millrace/log'
import { mustStop } from '@millrace/log/internal'
import type { Entry } from '@millrace/protocol'
import type { Answer } from '../../api/answer.ts'
import { createRuntime, type Runtime } from '../../api/runtime.ts'
import { MillraceError } from '../../error/error.ts'
import { ReaderChecks } from '../crash/reader-checks.fixture.ts'
import { performAction, startDelayMs } from './guest-actions.fixture.ts'
import type { GuestAction, Plan } from './race-plan.fixture.ts'
import { type ActionResult, type ToolOperation, verdict } from './race-verdict.fixture.ts'
import { agentsOf, RUN, SESSION, waitingCallsOf } from './waiting-program.fixture.ts'

const SILENT = { warn() {}, error() {} }

/** Handles of one store, like several processes. */
export type Handles = readonly [driver: LogStore, other: LogStore, guests: LogStore]

/** Plays a plan without its faults. Returns all problems. */
export const realRace = (plan: Plan, handles: Handles): Promise<string[]> =>
  new RealRace({ ...plan, faults: [] }, handles).run()

class RealRace {
  readonly #plan: Plan
  readonly #handles: Handles
  readonly #guests: Runtime
  readonly #notStarted: Set<GuestAction>
  readonly #inFlight = new Set<Promise<void>>()
  readonly #results: ActionResult[] = []
  readonly #operations: ToolOperation[] = []
  readonly #entries: Entry[] = []
  readonly #reader = new AbortController()
  #changed = Promise.withResolvers<void>()

  constructor(plan: Plan, handles: Handles) {
    this.#plan = plan
    this.#handles = handles
    this.#notStarted = new Set(plan.actions)
    this.#guests = createRuntime({ store: handles[2], engine: false, logger: SILENT })
  }

  async run(): Promise<string[]> {
    const { manager } = this.#guests
    await manager.deleteStream(SESSION)
    await this.#guests.start({ session: SESSION, agent: 'agent:root@1', runId: RUN, messageId: 'asks', input: 'Pay.' })
    const readerDone = this.#read()
    const drivers = this.#handles.slice(0, 2).map((store, index) => this.#drive(store, `p${index + 1}`))
    try {
      await Promise.race([this.#untilEnded(), readerDone])
      for (const action of this.#notStarted) this.#scheduleAction(action, 0)
      await Promise.race([this.#untilEnded(), readerDone])
    } finally {
      this.#reader.abort()
      await Promise.all(drivers.map(driver => driver.close()))
    }
    await readerDone
    const { view, ticket } = await manager.view(SESSION)
    const entries = await manager.entries(SESSION, 0, view.head)
    await this.#guests.close()
    const record = { plan: this.#plan, entries, view, ticket, results: this.#results, operations: this.#operations }
    return verdict(record)
  }

  #drive(store: LogStore, process: string): Runtime {
    const { kind, timeoutMs, paceMs } = this.#plan
    const recordOperation = (toolCallId: string, phase: 'start' | 'end') => {
      const minHead = this.#head
      // A tool that continues after its run may find no log.
      const info = this.#guests.manager.getInfo(SESSION).catch(() => null)
      const done = info.then(info => {
        if (info) this.#operations.push({ process, toolCallId, phase, minHead, maxHead: info.head })
        this.#inFlight.delete(done)
        this.#notifyChange()
      })
      this.#inFlight.add(done)
    }
    const agents = agentsOf({ kind, timeoutMs, paceMs, timers: systemTimers, recordOperation })
    return createRuntime({ store, agents, engine: { pollMs: 15 }, log: { owner: process }, logger: SILENT })
  }

  get #head(): number {
    return this.#entries.at(-1)?.sequence ?? 0
  }

  /** Reads all entries. @throws if they are not consistent. */
  async #read(): Promise<void> {
    const readerChecks = new ReaderChecks()
    const { signal } = this.#reader
    const reading = { after: 0, follow: true, includeDiscarded: true, internal: true, signal }
    try {
      for await (const entry of await this.#guests.manager.createResumableReader(SESSION, reading)) {
        readerChecks.onEntry(entry)
        this.#entries.push(entry)
        const now = (await this.#info()).clock
        for (const action of this.#notStarted) {
          const ms = startDelayMs(action, this.#callOf(action), entry.chunk, now)
          if (ms !== undefined) this.#scheduleAction(action, ms)
        }
        this.#notifyChange()
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  #notifyChange(): void {
    const { resolve } = this.#changed
    this.#changed = Promise.withResolvers()
    resolve()
  }

  /**
   * Waits until all actions are done and no run is open or queued. Answers the remaining pendings without deadlines.
   */
  async #untilEnded(): Promise<void> {
    for (;;) {
      const { promise } = this.#changed
      if (this.#inFlight.size === 0) {
        const { ticket } = await this.#info()
        const { run, requests, pendings, ready } = ticket
        if (run === null && requests.length === 0) return
        const isWaiting = run?.paused && !ready && !mustStop(ticket)
        if (isWaiting && pendings.every(({ deadline }) => deadline === undefined)) await this.#answerAll(pendings)
      }
      await promise
    }
  }

  async #answerAll(pendings: StreamInfo['ticket']['pendings']): Promise<void> {
    for (const { kind, id } of pendings) {
      if (kind === 'approval') await this.#answer({ kind, id, approved: true })
      else if (pendings.length === 1) await this.#answer({ kind: 'tool-result', id, output: 'late' })
    }
  }

  /** Answers, unless a guest was faster or the run has ended. */
  async #answer(answer: Answer): Promise<void> {
    await this.#guests.answer(SESSION, answer).catch(error => {
      if (!(MillraceError.isInstance(error) && error.code === 'answer_already_settled')) throw error
    })
  }

  #callOf({ call }: GuestAction): string {
    return waitingCallsOf(this.#plan.kind)[call] as string
  }

  #scheduleAction(action: GuestAction, ms: number): void {
    this.#notStarted.delete(action)
    const done = this.#perform(action, ms).then(() => {
      this.#inFlight.delete(done)
      this.#notifyChange()
    })
    this.#inFlight.add(done)
  }

  async #perform(action: GuestAction, ms: number): Promise<void> {
    await pause(Math.max(0, ms))
    const guest = `g${this.#plan.actions.indexOf(action)}`
    const toolCallId = this.#callOf(action)
    const head = this.#head
    const { outcome, sequence } = await performAction(this.#guests, action, guest, toolCallId)
    const now = await this.#info()
    this.#results.push({ guest, action, toolCallId, outcome, sequence, head, until: { head: now.head, at: now.clock } })
  }

  async #info(): Promise<StreamInfo> {
    return (await this.#guests.manager.getInfo(SESSION)) as StreamInfo
  }
}
