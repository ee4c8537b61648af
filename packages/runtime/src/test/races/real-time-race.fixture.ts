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
import { agentsOf, RUN, SESSION, waitingOf } from './waiting-program.fixture.ts'

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
  readonly #ahead: Set<GuestAction>
  readonly #underWay = new Set<Promise<void>>()
  readonly #results: ActionResult[] = []
  readonly #notes: ToolOperation[] = []
  readonly #entries: Entry[] = []
  readonly #leaving = new AbortController()
  #seen = Promise.withResolvers<void>()

  constructor(plan: Plan, handles: Handles) {
    this.#plan = plan
    this.#handles = handles
    this.#ahead = new Set(plan.doings)
    this.#guests = createRuntime({ store: handles[2], engine: false, logger: SILENT })
  }

  async run(): Promise<string[]> {
    const { manager } = this.#guests
    await manager.deleteStream(SESSION)
    await this.#guests.start({ session: SESSION, agent: 'agent:root@1', runId: RUN, messageId: 'asks', input: 'Pay.' })
    const isRead = this.#read()
    const drivers = this.#handles.slice(0, 2).map((store, index) => this.#drive(store, `p${index + 1}`))
    try {
      await Promise.race([this.#over(), isRead])
      for (const doing of this.#ahead) this.#fire(doing, 0)
      await Promise.race([this.#over(), isRead])
    } finally {
      this.#leaving.abort()
      await Promise.all(drivers.map(driver => driver.close()))
    }
    await isRead
    const { view, ticket } = await manager.view(SESSION)
    const entries = await manager.entries(SESSION, 0, view.head)
    await this.#guests.close()
    const happened = { plan: this.#plan, entries, view, ticket, results: this.#results, notes: this.#notes }
    return verdict(happened)
  }

  #drive(store: LogStore, process: string): Runtime {
    const { kind, timeoutMs, paceMs } = this.#plan
    const note = (toolCallId: string, phase: 'start' | 'end') => {
      const least = this.#head
      // A tool that continues after its run may find no log.
      const info = this.#guests.manager.getInfo(SESSION).catch(() => null)
      const done = info.then(info => {
        if (info) this.#notes.push({ process, toolCallId, phase, least, maxStarts: info.head })
        this.#underWay.delete(done)
        this.#look()
      })
      this.#underWay.add(done)
    }
    const agents = agentsOf({ kind, timeoutMs, paceMs, timers: systemTimers, note })
    return createRuntime({ store, agents, engine: { pollMs: 15 }, log: { owner: process }, logger: SILENT })
  }

  get #head(): number {
    return this.#entries.at(-1)?.sequence ?? 0
  }

  /** Reads all entries. @throws if they are not consistent. */
  async #read(): Promise<void> {
    const story = new ReaderChecks()
    const { signal } = this.#leaving
    const reading = { after: 0, follow: true, whole: true, internal: true, signal }
    try {
      for await (const entry of await this.#guests.manager.createResumableReader(SESSION, reading)) {
        story.onEntry(entry)
        this.#entries.push(entry)
        const now = (await this.#info()).clock
        for (const doing of this.#ahead) {
          const ms = startDelayMs(doing, this.#callOf(doing), entry.chunk, now)
          if (ms !== undefined) this.#fire(doing, ms)
        }
        this.#look()
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  #look(): void {
    const { resolve } = this.#seen
    this.#seen = Promise.withResolvers()
    resolve()
  }

  /**
   * Waits until all actions are done and no run is open or queued. Answers the remaining pendings without deadlines.
   */
  async #over(): Promise<void> {
    for (;;) {
      const { promise } = this.#seen
      if (this.#underWay.size === 0) {
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
    return waitingOf(this.#plan.kind)[call] as string
  }

  #fire(doing: GuestAction, ms: number): void {
    this.#ahead.delete(doing)
    const done = this.#do(doing, ms).then(() => {
      this.#underWay.delete(done)
      this.#look()
    })
    this.#underWay.add(done)
  }

  async #do(doing: GuestAction, ms: number): Promise<void> {
    await pause(Math.max(0, ms))
    const guest = `g${this.#plan.doings.indexOf(doing)}`
    const toolCallId = this.#callOf(doing)
    const head = this.#head
    const { outcome, sequence } = await performAction(this.#guests, doing, guest, toolCallId)
    const now = await this.#info()
    this.#results.push({ guest, doing, toolCallId, outcome, sequence, head, until: { head: now.head, at: now.clock } })
  }

  async #info(): Promise<StreamInfo> {
    return (await this.#guests.manager.getInfo(SESSION)) as StreamInfo
  }
}
