// People and clients that answer as `APPROVALS` and `RESULTS` define, from any available process. They also make
// mistakes: wrong kind, other input, other session, other principal, duplicates, late answers and expired claims.

import { LogError } from '@millrace/log'
import { type Entry, isGuest, type Json } from '@millrace/protocol'
import type { Answer } from '../../api/answer.ts'
import type { Runtime } from '../../api/runtime.ts'
import { approvalIdOf } from '../../define/approval.ts'
import { MillraceError } from '../../error/error.ts'
import type { ErrorCode } from '../../error/error-codes.ts'
import { APPROVALS, APPROVALS_RUN, OTHER_SESSION, PRINCIPAL, RESULTS } from './approvals-program.fixture.ts'
import { SESSION } from './tools-program.fixture.ts'

/** A process that submits answers. If it dies, another one submits them again. */
export interface SubmittingProcess {
  readonly runtime: Runtime
  readonly exited?: Promise<unknown>
}

export interface AnsweringClientsOptions {
  readonly pickProcess: () => SubmittingProcess
  /** When to answer: as soon as it is asked; one at each pause; or on request, and all at a pause. */
  readonly when?: 'asked' | 'paused' | 'told'
  /** Whether it makes mistakes. */
  readonly errs?: boolean
  /** Duration of a client's claim, in ms. The call takes longer. */
  readonly claimMs?: number
  readonly sleep?: (ms: number) => Promise<void>
}

/** Answers the pendings in the entries that it gets. */
export interface Answerer {
  readonly submitted: readonly SubmittedAnswer[]
  /** Unexpected results. */
  readonly problems: readonly string[]
  /** Whether it has nothing to submit. */
  readonly isIdle: boolean
  /** Waits until everything is submitted. */
  idle(): Promise<void>
  /** Answers all pendings. */
  answer(): void
  /** Reads the next entry of the log. */
  onEntry(entry: Entry): void
}

/** A submitted answer and its result. */
export interface SubmittedAnswer {
  readonly description: string
  readonly guest: string
  /** Sequence of an accepted answer. */
  readonly sequence: number | undefined
  /** Error code of a rejected answer. */
  readonly code: ErrorCode | undefined
}

/** The guest of all answers that must never count. */
export const ROGUE = 'rogue'
/** The guest that approves, and the tabs that execute client tools. */
const PERSON = 'ada'
const [TAB, OTHER_TAB] = ['tab-1', 'tab-2']
const CLAIM_MS = 20
const RETRY_MS = 20

/** Error codes after which an answer is submitted again. */
const RETRYABLE_CODES: ReadonlySet<string> = new Set(['store_unavailable', 'runtime_closed'])

export class AnsweringClients implements Answerer {
  readonly submitted: SubmittedAnswer[] = []
  /** Unexpected results. */
  readonly problems: string[] = []
  readonly #options: Required<AnsweringClientsOptions>
  /** Unanswered pendings in the order of their requests. */
  readonly #open = new Map<string, () => Promise<void>>()
  readonly #busy = new Set<Promise<void>>()
  #isStopping = false

  constructor(options: AnsweringClientsOptions) {
    const sleep = (ms: number) => new Promise<void>(done => setTimeout(done, ms))
    this.#options = { when: 'asked', errs: true, claimMs: CLAIM_MS, sleep, ...options }
  }

  /** Whether it has nothing to submit. */
  get isIdle(): boolean {
    return this.#busy.size === 0
  }

  /** Waits until everything is submitted. */
  async idle(): Promise<void> {
    while (this.#busy.size > 0) await Promise.all(this.#busy)
  }

  /** Answers all pendings, or the first one. */
  answer(count: number = Number.POSITIVE_INFINITY): void {
    for (const [key, give] of [...this.#open].slice(0, count)) {
      this.#open.delete(key)
      this.#begin(give())
    }
  }

  /** Reads the next entry of the log. */
  onEntry({ chunk, timestamp, origin }: Entry): void {
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
      .catch(error => void this.problems.push(`the clients failed: ${error?.stack ?? error}`))
      .then(() => void this.#busy.delete(done))
    this.#busy.add(done)
  }

  /** Answers an approval as defined. */
  async #approve(toolCallId: string): Promise<void> {
    const { approved, input } = APPROVALS[toolCallId] as (typeof APPROVALS)[string]
    const id = approvalIdOf(APPROVALS_RUN, toolCallId)
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
      await this.#refused('answer_unknown', { ...right, approved: true }, OTHER_SESSION)
      await this.#refused('answer_forbidden', { ...right, approved: true }, SESSION, 'somebody else')
    }
    await this.#settle(right, { ...right, approved: !approved })
  }

  /** Executes a client call in one tab, or in two tabs one after the other. */
  async #run(toolCallId: string): Promise<void> {
    const { output } = RESULTS[toolCallId] as (typeof RESULTS)[string]
    const right: Answer = { kind: 'tool-result', id: toolCallId, output }
    if (this.#options.errs) {
      await this.#refused('answer_wrong_kind', { kind: 'approval', id: toolCallId, approved: true })
      await this.#refused('answer_invalid', { ...right, output: { seen: 7 } })
      await this.#refused('answer_unknown', { ...right, id: `${toolCallId}.` })
      await this.#refused('answer_unknown', right, OTHER_SESSION)
      await this.#refused('answer_forbidden', right, SESSION, 'somebody else')
      // A claim may expire before it is in the log.
      const taken = [undefined, 'answer_late'] as const
      await this.#claim(taken, toolCallId, TAB)
      // The other tab waits and claims the call after the claim expires. The first tab's result still counts.
      await this.#claim(['answer_claimed', ...taken], toolCallId, OTHER_TAB)
      await this.#options.sleep(this.#options.claimMs)
      await this.#claim(taken, toolCallId, OTHER_TAB)
    }
    await this.#settle(right, { kind: 'tool-result', id: toolCallId, error: 'it did not work' })
    if (this.#options.errs) await this.#claim('answer_already_settled', toolCallId, ROGUE)
  }

  /** Submits a late approval. */
  async #comeLate(toolCallId: string, deadline: number, askedAt: number): Promise<void> {
    await this.#options.sleep(Math.max(0, deadline - askedAt))
    for (;;) {
      const { clock = 0 } = (await this.#with(({ manager }) => manager.getInfo(SESSION))) ?? {}
      if (clock >= deadline) break
      await this.#options.sleep(deadline - clock)
    }
    const id = approvalIdOf(APPROVALS_RUN, toolCallId)
    await this.#refused(['answer_late', 'answer_already_settled'], { kind: 'approval', id, approved: true })
  }

  /** Submits an answer twice at once and then again: that is one answer. A different answer is rejected. */
  async #settle(right: Answer, other: Answer): Promise<void> {
    const give = () => this.#give(PERSON, undefined, right)
    const sequences = await Promise.all(this.#options.errs ? [give(), give()] : [give()])
    if (!this.#options.errs) return
    sequences.push(await give())
    if (new Set(sequences).size > 1)
      this.problems.push(`${right.id} was answered once, and is in the log at ${sequences.join()}`)
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
    code: ExpectedCode,
    answer: Answer,
    sessionId: string = SESSION,
    principal: string = PRINCIPAL,
  ): Promise<number | undefined> {
    const description = `${JSON.stringify(answer)} to ${sessionId} for ${principal}`
    return this.#say(description, guest, code, async runtime => {
      return (await runtime.answer(sessionId, answer, { guest, principal })).sequence
    })
  }

  async #claim(code: ExpectedCode, toolCallId: string, by: string): Promise<void> {
    await this.#say(`claim of ${toolCallId} by ${by}`, by === ROGUE ? ROGUE : PERSON, code, async runtime => {
      const guest = by === ROGUE ? ROGUE : PERSON
      await runtime.claim(SESSION, toolCallId, { forMs: this.#options.claimMs, by, guest, principal: PRINCIPAL })
      return undefined
    })
  }

  async #say(
    description: string,
    guest: string,
    expected: ExpectedCode,
    act: (runtime: Runtime) => Promise<number | undefined>,
  ): Promise<number | undefined> {
    const result = await this.#with(async runtime => {
      try {
        return { sequence: await act(runtime), code: undefined }
      } catch (error) {
        if (!MillraceError.isInstance(error)) throw error
        return { sequence: undefined, code: error.code }
      }
    })
    this.submitted.push({ description, guest, ...result })
    const wanted: readonly (ErrorCode | undefined)[] = Array.isArray(expected) ? expected : [expected]
    // After a stop it is unknown what a run waits for.
    const isEnded = this.#isStopping && result.code?.startsWith('answer_')
    if (!wanted.includes(result.code) && !isEnded) {
      this.problems.push(`${description} by ${guest}: ${result.code ?? 'taken'}, expected ${wanted.join(' or ')}`)
    }
    return result.sequence
  }

  /** Runs an action in any available process, and repeats it until the result is known. */
  async #with<T>(act: (runtime: Runtime) => Promise<T>): Promise<T> {
    for (;;) {
      const { runtime, exited } = this.#options.pickProcess()
      const done = act(runtime).then(
        value => ({ value }),
        (error: unknown) => ({ error }),
      )
      const result = await Promise.race([done, ...(exited ? [exited.then(() => undefined)] : [])])
      if (result === undefined) continue
      if ('value' in result) {
        const { code } = Object(result.value) as { code?: string }
        if (code === undefined || !RETRYABLE_CODES.has(code)) return result.value
      } else if (!(result.error instanceof LogError) || result.error.code !== 'unavailable') throw result.error
      await this.#options.sleep(RETRY_MS)
    }
  }
}

type ExpectedCode = ErrorCode | undefined | readonly (ErrorCode | undefined)[]
