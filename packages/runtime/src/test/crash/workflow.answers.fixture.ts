// Answers the interrupts of workflows: as soon as they are asked, one at each pause, or on request, from any available
// process.

import { LogError } from '@millrace/log'
import { type Chunk, type Entry, isGuest, type Json } from '@millrace/protocol'
import type { Answer } from '../../api/answer.ts'
import { approvalIdOf } from '../../define/approval.ts'
import { MillraceError } from '../../error/error.ts'
import type { AnsweringClientsOptions, SubmittedAnswer } from './answering-clients.fixture.ts'
import { SESSION } from './tools-program.fixture.ts'
import { digest } from './workflow.ops.fixture.ts'

const RETRY_MS = 20

export class WorkflowAnswerer {
  readonly submitted: SubmittedAnswer[] = []
  /** Unexpected results. */
  readonly problems: string[] = []
  readonly #options: AnsweringClientsOptions
  readonly #open: Answer[] = []
  readonly #inFlight = new Set<Promise<void>>()
  #isStopping = false

  constructor(options: AnsweringClientsOptions) {
    this.#options = options
  }

  get isIdle(): boolean {
    return this.#inFlight.size === 0
  }

  async idle(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.all(this.#inFlight)
  }

  /** Answers the first `count` pendings, by default all. */
  answer(count: number = this.#open.length): void {
    for (const answer of this.#open.splice(0, count)) {
      const done = this.#submit(answer)
        .catch(error => void this.problems.push(`an answer failed: ${error?.stack ?? error}`))
        .then(() => void this.#inFlight.delete(done))
      this.#inFlight.add(done)
    }
  }

  /** Reads the next entry of the log. */
  onEntry({ chunk, origin }: Entry): void {
    const { when = 'asked' } = this.#options
    // Interrupts with a deadline are not answered.
    if (chunk.type === 'interrupt' && chunk.deadline !== undefined) return
    if (chunk.type === 'interrupt') this.#open.push(responseOf(chunk))
    else if (chunk.type === 'tool-approval-request' && !isGuest(origin)) {
      const { toolCallId } = chunk
      const approved = !toolCallId.startsWith('denial')
      this.#open.push({ kind: 'approval', id: approvalIdOf(origin.runId, toolCallId), approved })
    } else if (chunk.type === 'stop-requested') this.#isStopping = true
    else if (chunk.type === 'run-paused' && when !== 'asked') this.answer(when === 'paused' ? 1 : undefined)
    if (when === 'asked') this.answer()
  }

  /** Submits an answer in any available process, and repeats it until the result is known. */
  async #submit(answer: Answer): Promise<void> {
    const description = JSON.stringify(answer)
    for (;;) {
      const { runtime, exited } = this.#options.pickProcess()
      const result = await Promise.race([
        runtime.answer(SESSION, answer, { guest: 'ada' }).catch((error: unknown) => ({ error })),
        ...(exited ? [exited.then(() => undefined)] : []),
      ])
      if (result === undefined) continue
      if ('sequence' in result) {
        this.submitted.push({ description, guest: 'ada', sequence: result.sequence, code: undefined })
        return
      }
      const { error } = result
      const code = MillraceError.isInstance(error) || error instanceof LogError ? error.code : String(error)
      if (!RETRYABLE_CODES.has(code)) {
        // After a stop it is unknown what a run waits for.
        if (!(this.#isStopping && code.startsWith('answer_'))) this.problems.push(`${description}: ${code}`)
        return
      }
      await (this.#options.sleep?.(RETRY_MS) ?? new Promise(done => setTimeout(done, RETRY_MS)))
    }
  }
}

const RETRYABLE_CODES: ReadonlySet<string> = new Set(['store_unavailable', 'runtime_closed', 'unavailable'])

/** A response that depends only on the question. */
function responseOf(chunk: Extract<Chunk, { type: 'interrupt' }>): Answer {
  const { interruptId, input, meta } = chunk
  return { kind: 'interrupt', id: interruptId, response: responseTo(interruptId, input as { kind: string }, meta) }
}

function responseTo(interruptId: string, input: { kind: string; question?: string }, meta: unknown): Json {
  const { problem } = Object(meta) as { problem?: unknown }
  switch (input.kind) {
    case 'choice':
      return 'dry'
    case 'multi-choice':
      return ['warm', 'dry']
    case 'form':
      return { name: `of ${digest(interruptId)}`, age: 7 }
    default:
      return input.question === 'Surely?' && problem === undefined ? 'perhaps' : `surely ${digest(interruptId)}`
  }
}
