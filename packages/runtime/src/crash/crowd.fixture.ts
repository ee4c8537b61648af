// Those who answer: people and clients who look on, and say what `APPROVALS` and `RESULTS` say, from whichever process is at hand. And the mistakes that they make
// on the way: of the wrong kind, to another input, in another session, in another's name, twice, too late, with a claim that has lapsed.

import { LogError } from '@millrace/log'
import { type Entry, isGuest, type Json } from '@millrace/protocol'
import type { Answer } from '../api/answer.ts'
import type { Runtime } from '../api/runtime.ts'
import { approvalIdOf } from '../define/approval.ts'
import { MillraceError } from '../error/error.ts'
import type { ErrorCode } from '../error/error-codes.ts'
import { APPROVALS, ELSEWHERE, PEOPLE_RUN, PRINCIPAL, RESULTS } from './mill-program.fixture.ts'
import { SESSION } from './pond-program.fixture.ts'

/** Who speaks for the crowd, until it is gone: then what it was told to say is said again by another. */
export interface Voice {
  readonly runtime: Runtime
  readonly gone?: Promise<unknown>
}

export interface CrowdOptions {
  readonly voice: () => Voice
  /** Answers as soon as it is asked; one at each pause; or when it is told to, and all at a pause. */
  readonly when?: 'asked' | 'paused' | 'told'
  /** Whether it makes mistakes. */
  readonly errs?: boolean
  /** For how long a client takes a call upon itself, which then takes longer. */
  readonly claimMs?: number
  readonly sleep?: (ms: number) => Promise<void>
}

/** Those who answer what the entries that they are shown ask for. */
export interface Answering {
  readonly given: readonly Given[]
  /** What was told that should not have been. */
  readonly problems: readonly string[]
  /** Whether it has nothing to say at present. */
  readonly isIdle: boolean
  /** Waits until it has said all that it has to. */
  idle(): Promise<void>
  /** Answers all that waits. */
  answer(): void
  /** Looks at the next entry of the log. */
  take(entry: Entry): void
}

/** Something that was said, and what came of it. */
export interface Given {
  readonly what: string
  readonly guest: string
  /** Where it is in the log, of what was taken as an answer. */
  readonly sequence: number | undefined
  /** Why it was not taken. */
  readonly code: ErrorCode | undefined
}

/** In whose name everything is said that must never count. */
export const ROGUE = 'rogue'
/** Who approves, and the tabs that run what clients run. */
const PERSON = 'ada'
const [TAB, OTHER_TAB] = ['tab-1', 'tab-2']
const CLAIM_MS = 20
const RETRY_MS = 20

/** What says nothing about an answer: it is given again. */
const PASSING: ReadonlySet<string> = new Set(['store_unavailable', 'runtime_closed'])

export class Crowd implements Answering {
  readonly given: Given[] = []
  /** What was told that should not have been. */
  readonly problems: string[] = []
  readonly #options: Required<CrowdOptions>
  /** What waits and was not answered yet, in the order in which it was asked for. */
  readonly #open = new Map<string, () => Promise<void>>()
  readonly #busy = new Set<Promise<void>>()
  #isStopping = false

  constructor(options: CrowdOptions) {
    const sleep = (ms: number) => new Promise<void>(done => setTimeout(done, ms))
    this.#options = { when: 'asked', errs: true, claimMs: CLAIM_MS, sleep, ...options }
  }

  /** Whether it has nothing to say at present. */
  get isIdle(): boolean {
    return this.#busy.size === 0
  }

  /** Waits until it has said all that it has to. */
  async idle(): Promise<void> {
    while (this.#busy.size > 0) await Promise.all(this.#busy)
  }

  /** Answers all that waits, or the first of it. */
  answer(count: number = Number.POSITIVE_INFINITY): void {
    for (const [key, give] of [...this.#open].slice(0, count)) {
      this.#open.delete(key)
      this.#begin(give())
    }
  }

  /** Looks at the next entry of the log. */
  take({ chunk, timestamp, origin }: Entry): void {
    switch (chunk.type) {
      case 'tool-approval-request': {
        const { toolCallId, isAutomatic, deadline } = chunk
        if (isAutomatic) return
        if (deadline === undefined) this.#ask(`approval ${toolCallId}`, () => this.#approve(toolCallId))
        else this.#begin(this.#comeLate(toolCallId, deadline, timestamp))
        return
      }
      case 'tool-approval-response':
        if (chunk.approved) this.#askClient(chunk.toolCallId)
        return
      case 'tool-input-available':
        if (chunk.executor === 'client' && !(chunk.toolCallId in APPROVALS)) this.#askClient(chunk.toolCallId)
        return
      case 'stop-requested':
        this.#isStopping = true
        return
      case 'run-paused':
        if (!isGuest(origin) && this.#options.when !== 'asked')
          this.answer(this.#options.when === 'paused' ? 1 : undefined)
    }
  }

  #askClient(toolCallId: string): void {
    if (toolCallId in RESULTS) this.#ask(`result ${toolCallId}`, () => this.#run(toolCallId))
  }

  #ask(key: string, give: () => Promise<void>): void {
    this.#open.set(key, give)
    if (this.#options.when === 'asked') this.answer()
  }

  #begin(giving: Promise<void>): void {
    const done = giving
      .catch(error => void this.problems.push(`the crowd failed: ${error?.stack ?? error}`))
      .then(() => void this.#busy.delete(done))
    this.#busy.add(done)
  }

  /** A person decides, as is known of them. */
  async #approve(toolCallId: string): Promise<void> {
    const { approved, input } = APPROVALS[toolCallId] as (typeof APPROVALS)[string]
    const id = approvalIdOf(PEOPLE_RUN, toolCallId)
    const right: Answer = { kind: 'approval', id, approved, input, reason: `said of ${toolCallId}` }
    if (this.#options.errs) {
      const output: Json = { seen: 'nothing' }
      if (toolCallId in RESULTS) {
        await this.#refused('answer_unapproved', { kind: 'tool-result', id: toolCallId, output })
        await this.#claim('answer_unapproved', toolCallId, ROGUE)
      } else await this.#refused('answer_wrong_kind', { kind: 'tool-result', id: toolCallId, output })
      await this.#refused('answer_wrong_kind', { kind: 'interrupt', id, response: 'yes' })
      await this.#refused('answer_invalid', { ...right, approved: true, input: { ...input, amount: 1 } })
      await this.#refused('answer_unknown', { ...right, approved: true, id: `${id}.` })
      await this.#refused('answer_unknown', { ...right, approved: true }, ELSEWHERE)
      await this.#refused('answer_forbidden', { ...right, approved: true }, SESSION, 'somebody else')
    }
    await this.#settle(right, { ...right, approved: !approved })
  }

  /** A client runs a call, or two of them do, one after the other. */
  async #run(toolCallId: string): Promise<void> {
    const { output } = RESULTS[toolCallId] as (typeof RESULTS)[string]
    const right: Answer = { kind: 'tool-result', id: toolCallId, output }
    if (this.#options.errs) {
      await this.#refused('answer_wrong_kind', { kind: 'approval', id: toolCallId, approved: true })
      await this.#refused('answer_invalid', { ...right, output: { seen: 7 } })
      await this.#refused('answer_unknown', { ...right, id: `${toolCallId}.` })
      await this.#refused('answer_unknown', right, ELSEWHERE)
      await this.#refused('answer_forbidden', right, SESSION, 'somebody else')
      // A claim may be over before it is in the log.
      const taken = [undefined, 'answer_late'] as const
      await this.#claim(taken, toolCallId, TAB)
      // Who has it not waits, and takes it when its time is over; what the first gives counts all the same.
      await this.#claim(['answer_claimed', ...taken], toolCallId, OTHER_TAB)
      await this.#options.sleep(this.#options.claimMs)
      await this.#claim(taken, toolCallId, OTHER_TAB)
    }
    await this.#settle(right, { kind: 'tool-result', id: toolCallId, error: 'it did not work' })
    if (this.#options.errs) await this.#claim('answer_already_settled', toolCallId, ROGUE)
  }

  /** Somebody wants to approve, though the time for that is over. */
  async #comeLate(toolCallId: string, deadline: number, asked: number): Promise<void> {
    await this.#options.sleep(Math.max(0, deadline - asked))
    for (;;) {
      const { clock = 0 } = (await this.#with(({ manager }) => manager.getInfo(SESSION))) ?? {}
      if (clock >= deadline) break
      await this.#options.sleep(deadline - clock)
    }
    const id = approvalIdOf(PEOPLE_RUN, toolCallId)
    await this.#refused(['answer_late', 'answer_already_settled'], { kind: 'approval', id, approved: true })
  }

  /** Says it, twice at once and then again: that is one answer. Whoever says something else comes second. */
  async #settle(right: Answer, other: Answer): Promise<void> {
    const give = () => this.#give(PERSON, undefined, right)
    const said = await Promise.all(this.#options.errs ? [give(), give()] : [give()])
    if (!this.#options.errs) return
    said.push(await give())
    if (new Set(said).size > 1) this.problems.push(`${right.id} was answered once, and is in the log at ${said.join()}`)
    await this.#refused('answer_already_settled', right)
    await this.#refused('answer_already_settled', other)
  }

  async #refused(
    code: ErrorCode | readonly ErrorCode[],
    answer: Answer,
    sessionId: string = SESSION,
    principal: string = PRINCIPAL,
  ): Promise<void> {
    await this.#give(ROGUE, code, answer, sessionId, principal)
  }

  #give(
    guest: string,
    code: Expected,
    answer: Answer,
    sessionId: string = SESSION,
    principal: string = PRINCIPAL,
  ): Promise<number | undefined> {
    const what = `${JSON.stringify(answer)} to ${sessionId} for ${principal}`
    return this.#say(what, guest, code, async runtime => {
      return (await runtime.answer(sessionId, answer, { guest, principal })).sequence
    })
  }

  async #claim(code: Expected, toolCallId: string, by: string): Promise<void> {
    await this.#say(`claim of ${toolCallId} by ${by}`, by === ROGUE ? ROGUE : PERSON, code, async runtime => {
      const guest = by === ROGUE ? ROGUE : PERSON
      await runtime.claim(SESSION, toolCallId, { forMs: this.#options.claimMs, by, guest, principal: PRINCIPAL })
      return undefined
    })
  }

  async #say(
    what: string,
    guest: string,
    expected: Expected,
    act: (runtime: Runtime) => Promise<number | undefined>,
  ): Promise<number | undefined> {
    const told = await this.#with(async runtime => {
      try {
        return { sequence: await act(runtime), code: undefined }
      } catch (error) {
        if (!MillraceError.isInstance(error)) throw error
        return { sequence: undefined, code: error.code }
      }
    })
    this.given.push({ what, guest, ...told })
    const wanted: readonly (ErrorCode | undefined)[] = Array.isArray(expected) ? expected : [expected]
    // Of what a stop has ended nobody can tell what it waits for.
    const isEnded = this.#isStopping && told.code?.startsWith('answer_')
    if (!wanted.includes(told.code) && !isEnded) {
      this.problems.push(`${what} by ${guest}: ${told.code ?? 'taken'}, expected ${wanted.join(' or ')}`)
    }
    return told.sequence
  }

  /** Does it by whoever is at hand, again and again until somebody knows what became of it. */
  async #with<T>(act: (runtime: Runtime) => Promise<T>): Promise<T> {
    for (;;) {
      const { runtime, gone } = this.#options.voice()
      const done = act(runtime).then(
        value => ({ value }),
        (error: unknown) => ({ error }),
      )
      const told = await Promise.race([done, ...(gone ? [gone.then(() => undefined)] : [])])
      if (told === undefined) continue
      if ('value' in told) {
        const { code } = Object(told.value) as { code?: string }
        if (code === undefined || !PASSING.has(code)) return told.value
      } else if (!(told.error instanceof LogError) || told.error.code !== 'unavailable') throw told.error
      await this.#options.sleep(RETRY_MS)
    }
  }
}

type Expected = ErrorCode | undefined | readonly (ErrorCode | undefined)[]
