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
  readonly when?: 'asked' | 'paused' | 'on-fault'
  /** Whether it makes mistakes. */
  readonly makesMistakes?: boolean
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
  readonly #inFlight = new Set<Promise<void>>()
  #isStopping = false

  constructor(options: AnsweringClientsOptions) {
    const sleep = (ms: number) => new Promise<void>(done => setTimeout(done, ms))
    this.#options = { when: 'asked', makesMistakes: true, claimMs: CLAIM_MS, sleep, ...options }
  }

  /** Whether it has nothing to submit. */
  get isIdle(): boolean {
    return this.#inFlight.size === 0
  }

  /** Waits until everything is submitted. */
  async idle(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.all(this.#inFlight)
  }

  /** Answers all pendings, or the first one. */
  answer(count: number = Number.POSITIVE_INFINITY): void {
    for (const [key, submit] of [...this.#open].slice(0, count)) {
      this.#open.delete(key)
      this.#track(submit())
    }
  }

  /** Reads the next entry of the log. */
  onEntry({ chunk, timestamp, origin }: Entry): void {
    switch (chunk.type) {
      case 'tool-approval-request': {
        const { toolCallId, isAutomatic, deadline } = chunk
        if (isAutomatic) return
        if (deadline === undefined) this.#addPending(`approval ${toolCallId}`, () => this.#approve(toolCallId))
        else this.#track(this.#approveLate(toolCallId, deadline, timestamp))
        return
      }
      case 'tool-approval-response':
        if (chunk.approved) this.#addClientCall(chunk.toolCallId)
        return
      case 'tool-input-available':
        if (chunk.executor === 'client' && !(chunk.toolCallId in APPROVALS)) this.#addClientCall(chunk.toolCallId)
        return
      case 'stop-requested':
        this.#isStopping = true
        return
      case 'run-paused':
        if (!isGuest(origin) && this.#options.when !== 'asked')
          this.answer(this.#options.when === 'paused' ? 1 : undefined)
    }
  }

  #addClientCall(toolCallId: string): void {
    if (toolCallId in RESULTS) this.#addPending(`result ${toolCallId}`, () => this.#run(toolCallId))
  }

  #addPending(key: string, submit: () => Promise<void>): void {
    this.#open.set(key, submit)
    if (this.#options.when === 'asked') this.answer()
  }

  #track(submission: Promise<void>): void {
    const done = submission
      .catch(error => void this.problems.push(`the clients failed: ${error?.stack ?? error}`))
      .then(() => void this.#inFlight.delete(done))
    this.#inFlight.add(done)
  }

  /** Answers an approval as defined. */
  async #approve(toolCallId: string): Promise<void> {
    const { approved, input } = APPROVALS[toolCallId] as (typeof APPROVALS)[string]
    const id = approvalIdOf(APPROVALS_RUN, toolCallId)
    const correct: Answer = { kind: 'approval', id, approved, input, reason: `said of ${toolCallId}` }
    if (this.#options.makesMistakes) {
      const output: Json = { seen: 'nothing' }
      if (toolCallId in RESULTS) {
        await this.#expectRefusal('answer_unapproved', { kind: 'tool-result', id: toolCallId, output })
        await this.#claim('answer_unapproved', toolCallId, ROGUE)
      } else await this.#expectRefusal('answer_wrong_kind', { kind: 'tool-result', id: toolCallId, output })
      await this.#expectRefusal('answer_wrong_kind', { kind: 'interrupt', id, response: 'yes' })
      await this.#expectRefusal('answer_invalid', { ...correct, approved: true, input: { ...input, amount: 1 } })
      await this.#expectRefusal('answer_unknown', { ...correct, approved: true, id: `${id}.` })
      await this.#expectRefusal('answer_unknown', { ...correct, approved: true }, OTHER_SESSION)
      await this.#expectRefusal('answer_forbidden', { ...correct, approved: true }, SESSION, 'another owner')
    }
    await this.#settle(correct, { ...correct, approved: !approved })
  }

  /** Executes a client call in one tab, or in two tabs one after the other. */
  async #run(toolCallId: string): Promise<void> {
    const { output } = RESULTS[toolCallId] as (typeof RESULTS)[string]
    const correct: Answer = { kind: 'tool-result', id: toolCallId, output }
    if (this.#options.makesMistakes) {
      await this.#expectRefusal('answer_wrong_kind', { kind: 'approval', id: toolCallId, approved: true })
      await this.#expectRefusal('answer_invalid', { ...correct, output: { seen: 7 } })
      await this.#expectRefusal('answer_unknown', { ...correct, id: `${toolCallId}.` })
      await this.#expectRefusal('answer_unknown', correct, OTHER_SESSION)
      await this.#expectRefusal('answer_forbidden', correct, SESSION, 'another owner')
      // A claim may expire before it is in the log.
      const claimable = [undefined, 'answer_late'] as const
      await this.#claim(claimable, toolCallId, TAB)
      // The other tab waits and claims the call after the claim expires. The first tab's result still counts.
      await this.#claim(['answer_claimed', ...claimable], toolCallId, OTHER_TAB)
      await this.#sleepUntil((await this.#clock()) + this.#options.claimMs)
      await this.#claim(claimable, toolCallId, OTHER_TAB)
    }
    await this.#settle(correct, { kind: 'tool-result', id: toolCallId, error: 'it did not work' })
    if (this.#options.makesMistakes) await this.#claim('answer_already_settled', toolCallId, ROGUE)
  }

  /** The store's clock, in ms. */
  async #clock(): Promise<number> {
    return (await this.#inAnyProcess(({ manager }) => manager.getInfo(SESSION)))?.clock ?? 0
  }

  /** Waits until the store's clock has reached a time. It may be behind the clock of this process. */
  async #sleepUntil(timeMs: number): Promise<void> {
    for (let clock = await this.#clock(); clock < timeMs; clock = await this.#clock()) {
      await this.#options.sleep(timeMs - clock)
    }
  }

  /** Submits a late approval. */
  async #approveLate(toolCallId: string, deadline: number, askedAt: number): Promise<void> {
    await this.#options.sleep(Math.max(0, deadline - askedAt))
    await this.#sleepUntil(deadline)
    const id = approvalIdOf(APPROVALS_RUN, toolCallId)
    await this.#expectRefusal(['answer_late', 'answer_already_settled'], { kind: 'approval', id, approved: true })
  }

  /** Submits an answer twice at once and then again: that is one answer. A different answer is rejected. */
  async #settle(correct: Answer, other: Answer): Promise<void> {
    const submit = () => this.#submit(PERSON, undefined, correct)
    const sequences = await Promise.all(this.#options.makesMistakes ? [submit(), submit()] : [submit()])
    if (!this.#options.makesMistakes) return
    sequences.push(await submit())
    if (new Set(sequences).size > 1)
      this.problems.push(`${correct.id} was answered once, and is in the log at ${sequences.join()}`)
    await this.#expectRefusal('answer_already_settled', correct)
    await this.#expectRefusal('answer_already_settled', other)
  }

  async #expectRefusal(
    code: ErrorCode | readonly ErrorCode[],
    answer: Answer,
    sessionId: string = SESSION,
    principal: string = PRINCIPAL,
  ): Promise<void> {
    await this.#submit(ROGUE, code, answer, sessionId, principal)
  }

  #submit(
    guest: string,
    code: ExpectedCode,
    answer: Answer,
    sessionId: string = SESSION,
    principal: string = PRINCIPAL,
  ): Promise<number | undefined> {
    const description = `${JSON.stringify(answer)} to ${sessionId} for ${principal}`
    return this.#attempt(description, guest, code, async runtime => {
      return (await runtime.answer(sessionId, answer, { guest, principal })).sequence
    })
  }

  async #claim(code: ExpectedCode, toolCallId: string, by: string): Promise<void> {
    await this.#attempt(`claim of ${toolCallId} by ${by}`, by === ROGUE ? ROGUE : PERSON, code, async runtime => {
      const guest = by === ROGUE ? ROGUE : PERSON
      await runtime.claim(SESSION, toolCallId, { forMs: this.#options.claimMs, by, guest, principal: PRINCIPAL })
      return undefined
    })
  }

  async #attempt(
    description: string,
    guest: string,
    expected: ExpectedCode,
    act: (runtime: Runtime) => Promise<number | undefined>,
  ): Promise<number | undefined> {
    const result = await this.#inAnyProcess(async runtime => {
      try {
        return { sequence: await act(runtime), code: undefined }
      } catch (error) {
        if (!MillraceError.isInstance(error)) throw error
        return { sequence: undefined, code: error.code }
      }
    })
    this.submitted.push({ description, guest, ...result })
    const expectedCodes: readonly (ErrorCode | undefined)[] = Array.isArray(expected) ? expected : [expected]
    // After a stop it is unknown what a run waits for.
    const isEnded = this.#isStopping && result.code?.startsWith('answer_')
    if (!expectedCodes.includes(result.code) && !isEnded) {
      this.problems.push(
        `${description} by ${guest}: ${result.code ?? 'accepted'}, expected ${expectedCodes.join(' or ')}`,
      )
    }
    return result.sequence
  }

  /** Runs an action in any available process, and repeats it until the result is known. */
  async #inAnyProcess<T>(act: (runtime: Runtime) => Promise<T>): Promise<T> {
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
