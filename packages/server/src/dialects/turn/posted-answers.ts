// What a client says came of calls and questions. It is looked up in the session: what waits there can be answered, what was settled is as it was settled, whatever
// the client says of it, and what is nobody's to answer is refused before anything is done.

import { isDeepStrictEqual } from 'node:util'
import type { PostedAnswer } from '@millrace/dialects'
import type { ToolPart } from '@millrace/protocol'
import { type Answer, RunError } from '@millrace/runtime'
import { Refusal } from '../../errors/refusal.ts'
import { omitUndefined } from '../../util/omit-undefined.ts'
import type { Shown } from './transcript.ts'

/** An answer, and the run that it is for. */
export interface Claim {
  readonly answer: Answer
  /** The call or question. */
  readonly of: string
  readonly runId: string | undefined
}

/** What a client says came of calls and questions: of what waits, and of what is settled. */
export interface Claims {
  readonly open: readonly Claim[]
  readonly settled: readonly Claim[]
}

interface Call {
  readonly part: ToolPart
  readonly runId: string | undefined
}

/** What a client's answers answer; throws where there is nothing to answer, or it is not its to say. */
export function claimsIn(view: Shown, posted: readonly PostedAnswer[]): Claims {
  const open: Claim[] = []
  const settled: Claim[] = []
  if (posted.length === 0) return { open, settled }
  const desk = new Desk(view)
  const seen = new Map<string, Answer>()
  for (const said of posted) {
    const { isOpen, ...claim } = said.kind === 'interrupt' ? desk.question(said) : desk.call(said)
    const { kind, id } = claim.answer
    const key = `${kind} ${id}`
    const before = seen.get(key)
    seen.set(key, claim.answer)
    if (!isOpen) settled.push(claim)
    else if (before === undefined) open.push(claim)
    else if (!isDeepStrictEqual(before, claim.answer)) throw notTheirs(`${key}: expected one answer, found two`)
  }
  return { open, settled }
}

/** Whether something still waits for somebody once what was open is answered. */
export function isWaitingAfter({ pendings }: Shown, { open }: Claims): boolean {
  const answers = new Map(open.map(({ answer }) => [answer.id, answer]))
  return pendings.some(pending => {
    const answer = answers.get(pending.id)
    if (answer === undefined) return true
    // A client's call that is approved now waits for the client then.
    return pending.kind === 'approval' && pending.part.executor === 'client' && 'approved' in answer && answer.approved
  })
}

/** Where answers are looked at beside what waits for them. */
class Desk {
  readonly #view: Shown
  /** By their own ids, and by those of their approvals. */
  readonly #calls = new Map<string, Call>()
  /** The calls that wait for a client. */
  readonly #awaited: ReadonlySet<string>

  constructor(view: Shown) {
    this.#view = view
    for (const { parts, runId } of view.messages) {
      for (const part of parts) {
        if (!('toolCallId' in part)) continue
        this.#calls.set(part.toolCallId, { part, runId })
        if (part.approval) this.#calls.set(part.approval.id, { part, runId })
      }
    }
    this.#awaited = new Set(view.pendings.flatMap(({ kind, id }) => (kind === 'client-tool' ? [id] : [])))
  }

  question({ id, response }: Extract<PostedAnswer, { kind: 'interrupt' }>) {
    const found = this.#view.interrupts.findLast(({ interruptId }) => interruptId === id)
    if (!found) throw notTheirs(`interrupt ${id}: nobody asked that`)
    const answer: Answer = { kind: 'interrupt', id, response }
    return { answer, of: id, runId: found.runId, isOpen: found.status === 'open' }
  }

  call(said: Exclude<PostedAnswer, { kind: 'interrupt' }>) {
    const { kind, id } = said
    const found = this.#calls.get(id)
    if (!found) throw notTheirs(`${kind} ${id}: there is no such call`)
    const { part, runId } = found
    const { toolCallId: of, approval, state } = part
    if (said.kind === 'approval') {
      if (!approval) throw notTheirs(`approval ${id}: nobody asked for it`)
      const { approved, reason, input } = said
      const isOpen = state === 'approval-requested'
      // Known here before anything else that is answered at once is done.
      if (isOpen && input !== undefined && !part.blobs && !isDeepStrictEqual(input, part.input ?? null))
        throw notTheirs(`approval ${id}: it is of another input than the one that would run`)
      const answer = omitUndefined({ kind: said.kind, id: approval.id, approved, reason, input }) as unknown as Answer
      return { answer, of, runId, isOpen }
    }
    const isOpen = this.#awaited.has(of)
    // What a client has of a call that is at work is its progress.
    const isKnown = isOpen || state.startsWith('output-') || part.progress !== undefined
    if (!isKnown) throw notTheirs(`call ${id}: it is not a client's to answer`)
    const answer: Answer =
      'error' in said
        ? { kind: 'tool-result', id: of, error: said.error }
        : { kind: 'tool-result', id: of, output: said.output }
    return { answer, of, runId, isOpen }
  }
}

/** What is answered instead of an output that does not fit: that the call failed, since a transcript has the same output in it for ever. Undefined where that is not what is wrong. */
export function failureFor(answer: Answer, error: unknown): Answer | undefined {
  if (!(answer.kind === 'tool-result' && 'output' in answer)) return undefined
  if (!(error instanceof RunError && error.code === 'answer_invalid')) return undefined
  return { kind: answer.kind, id: answer.id, error: `The output did not fit the tool: ${error.message}` }
}

/** What a client says that is not its to say. */
export const notTheirs = (why: string): Refusal => new Refusal('transcript_refused', `messages: ${why}`)
