// What a client says came of calls and questions. It is looked up in the session: what waits there can be answered, what was settled is as it was settled, whatever
// the client says of it, and what is nobody's to answer is refused before anything is done.

import { isDeepStrictEqual } from 'node:util'
import type { ClientAnswer } from '@millrace/dialects'
import type { StreamManager } from '@millrace/log'
import type { Chunk, ToolPart } from '@millrace/protocol'
import { type Answer, RunError } from '@millrace/runtime'
import { Refusal } from '../../errors/refusal.ts'
import { omitUndefined } from '../../runs/omit-undefined.ts'
import type { PublicView } from '../../sessions/message-page.ts'

/** An answer, and the run that it is for. */
export interface MatchedAnswer {
  readonly answer: Answer
  /** The call or question. */
  readonly of: string
  readonly runId: string | undefined
}

/** What a client says came of calls and questions: of what waits, and of what is settled. */
export interface MatchedAnswers {
  readonly open: readonly MatchedAnswer[]
  readonly settled: readonly MatchedAnswer[]
}

interface FoundCall {
  readonly part: ToolPart
  readonly runId: string | undefined
}

/** What a client's answers answer; throws where there is nothing to answer, or it is not its to say. */
export function matchAnswers(view: PublicView, posted: readonly ClientAnswer[]): MatchedAnswers {
  const open: MatchedAnswer[] = []
  const settled: MatchedAnswer[] = []
  if (posted.length === 0) return { open, settled }
  const matcher = new AnswerMatcher(view)
  const seen = new Map<string, Answer>()
  for (const sent of posted) {
    const { isOpen, ...matched } = sent.kind === 'interrupt' ? matcher.question(sent) : matcher.call(sent)
    const { kind, id } = matched.answer
    const key = `${kind} ${id}`
    const before = seen.get(key)
    seen.set(key, matched.answer)
    if (!isOpen) settled.push(matched)
    else if (before === undefined) open.push(matched)
    else if (!isDeepStrictEqual(before, matched.answer))
      throw transcriptRefused(`${key}: expected one answer, found two`)
  }
  return { open, settled }
}

/** Whether something still waits for somebody once what was open is answered. */
export function isWaitingAfter({ pendings }: PublicView, { open }: MatchedAnswers): boolean {
  const answers = new Map(open.map(({ answer }) => [answer.id, answer]))
  return pendings.some(pending => {
    const answer = answers.get(pending.id)
    if (answer === undefined) return true
    // A client's call that is approved now waits for the client then.
    return pending.kind === 'approval' && pending.part.executor === 'client' && 'approved' in answer && answer.approved
  })
}

/** Where answers are looked at beside what waits for them. */
class AnswerMatcher {
  readonly #view: PublicView
  /** By their own ids, and by those of their approvals. */
  readonly #calls = new Map<string, FoundCall>()
  /** The calls that wait for a client. */
  readonly #awaited: ReadonlySet<string>

  constructor(view: PublicView) {
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

  question({ id, response }: Extract<ClientAnswer, { kind: 'interrupt' }>) {
    const found = this.#view.interrupts.findLast(({ interruptId }) => interruptId === id)
    if (!found) throw transcriptRefused(`interrupt ${id}: nobody asked that`)
    const answer: Answer = { kind: 'interrupt', id, response }
    return { answer, of: id, runId: found.runId, isOpen: found.status === 'open' }
  }

  call(sent: Exclude<ClientAnswer, { kind: 'interrupt' }>) {
    const { kind, id } = sent
    const found = this.#calls.get(id)
    if (!found) throw transcriptRefused(`${kind} ${id}: there is no such call`)
    const { part, runId } = found
    const { toolCallId: of, approval, state } = part
    if (sent.kind === 'approval') {
      if (!approval) throw transcriptRefused(`approval ${id}: nobody asked for it`)
      const { approved, reason, input } = sent
      const isOpen = state === 'approval-requested'
      // Known here before anything else that is answered at once is done.
      if (isOpen && input !== undefined && !part.blobs && !isDeepStrictEqual(input, part.input ?? null))
        throw transcriptRefused(`approval ${id}: it is of another input than the one that would run`)
      const answer = omitUndefined({ kind: sent.kind, id: approval.id, approved, reason, input }) as unknown as Answer
      return { answer, of, runId, isOpen }
    }
    const isOpen = this.#awaited.has(of)
    // What a client has of a call that is at work is its progress.
    const isKnown = isOpen || state.startsWith('output-') || part.progress !== undefined
    if (!isKnown) throw transcriptRefused(`call ${id}: it is not a client's to answer`)
    const answer: Answer =
      'error' in sent
        ? { kind: 'tool-result', id: of, error: sent.error }
        : { kind: 'tool-result', id: of, output: sent.output }
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
export const transcriptRefused = (why: string): Refusal => new Refusal('transcript_refused', `messages: ${why}`)

/** How many entries of the log are looked at in one go. */
const WINDOW = 2000

/** From where on a run is news to who says how it was answered, and has seen it up to there: the first of those answers after the last pause that any of them ended. */
export async function positionAfterAnswers(
  manager: StreamManager,
  { runs, head }: PublicView,
  sessionId: string,
  runId: string,
  settled: readonly MatchedAnswer[],
): Promise<number> {
  const ids = new Set(settled.map(({ of }) => of))
  const { floor = 0 } = (await manager.getInfo(sessionId)) ?? {}
  const start = runs.find(run => run.runId === runId)?.at ?? head
  let pause = 0
  let found: { readonly sequence: number; readonly pause: number } | undefined
  for (let at = Math.max(start - 1, floor); at < head; at += WINDOW) {
    for (const { sequence, chunk, origin } of await manager.entries(sessionId, at, Math.min(at + WINDOW, head))) {
      if (chunk.type === 'run-paused') pause = sequence
      if (!ids.has(answeredBy(chunk) ?? '') || found?.pause === pause) continue
      if (origin.guest !== undefined || isLate(chunk)) found = { sequence, pause }
    }
  }
  return found?.sequence ?? head
}

/** Whether a chunk of the run's own may say that nobody answered in time. */
const isLate = (chunk: Chunk): boolean =>
  chunk.type === 'interrupt-response' || (chunk.type === 'tool-approval-response' && !chunk.approved)

/** The call or question that an entry answers. */
function answeredBy(chunk: Chunk): string | undefined {
  switch (chunk.type) {
    case 'tool-approval-response':
    case 'tool-output-available':
    case 'tool-output-error':
      return chunk.toolCallId
    case 'interrupt-response':
      return chunk.interruptId
    default:
      return undefined
  }
}
