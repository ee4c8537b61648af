// Those who answer what workflows ask: as soon as they are asked, one at each pause, or when they are told to, from whichever process is at hand.

import { LogError } from '@millrace/log'
import { type Chunk, type Entry, isGuest, type Json } from '@millrace/protocol'
import type { Answer } from '../api/answer.ts'
import { approvalIdOf } from '../define/approval.ts'
import { MillraceError } from '../error/error.ts'
import type { CrowdOptions, Given } from './crowd.fixture.ts'
import { SESSION } from './pond-program.fixture.ts'
import { digest } from './workflow.ops.fixture.ts'

const RETRY_MS = 20

export class Answers {
  readonly given: Given[] = []
  /** What was told that should not have been. */
  readonly problems: string[] = []
  readonly #options: CrowdOptions
  readonly #open: Answer[] = []
  readonly #busy = new Set<Promise<void>>()
  #isStopping = false

  constructor(options: CrowdOptions) {
    this.#options = options
  }

  get isIdle(): boolean {
    return this.#busy.size === 0
  }

  async idle(): Promise<void> {
    while (this.#busy.size > 0) await Promise.all(this.#busy)
  }

  /** Answers all that waits, or the first of it. */
  answer(count: number = this.#open.length): void {
    for (const answer of this.#open.splice(0, count)) {
      const done = this.#give(answer)
        .catch(error => void this.problems.push(`an answer failed: ${error?.stack ?? error}`))
        .then(() => void this.#busy.delete(done))
      this.#busy.add(done)
    }
  }

  /** Looks at the next entry of the log. */
  take({ chunk, origin }: Entry): void {
    const { when = 'asked' } = this.#options
    // What is asked for a time only is for nobody.
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

  /** Says it by whoever is at hand, again and again until somebody knows what became of it. */
  async #give(answer: Answer): Promise<void> {
    const what = JSON.stringify(answer)
    for (;;) {
      const { runtime, gone } = this.#options.voice()
      const told = await Promise.race([
        runtime.answer(SESSION, answer, { guest: 'ada' }).catch((error: unknown) => ({ error })),
        ...(gone ? [gone.then(() => undefined)] : []),
      ])
      if (told === undefined) continue
      if ('sequence' in told) {
        this.given.push({ what, guest: 'ada', sequence: told.sequence, code: undefined })
        return
      }
      const { error } = told
      const code = MillraceError.isInstance(error) || error instanceof LogError ? error.code : String(error)
      if (!PASSING.has(code)) {
        // Of what a stop has ended nobody can tell what it waits for.
        if (!(this.#isStopping && code.startsWith('answer_'))) this.problems.push(`${what}: ${code}`)
        return
      }
      await (this.#options.sleep?.(RETRY_MS) ?? new Promise(done => setTimeout(done, RETRY_MS)))
    }
  }
}

const PASSING: ReadonlySet<string> = new Set(['store_unavailable', 'runtime_closed', 'unavailable'])

/** What is answered to a question: the same whoever asks. */
function responseOf(chunk: Extract<Chunk, { type: 'interrupt' }>): Answer {
  const { interruptId, input, meta } = chunk
  return { kind: 'interrupt', id: interruptId, response: saidTo(interruptId, input as { kind: string }, meta) }
}

function saidTo(interruptId: string, input: { kind: string; question?: string }, meta: unknown): Json {
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
