// Matches a client's answers with the session. Pending requests can be answered. Settled ones keep their result, even if the client sends
// another. An answer to anything else is refused before any other answer takes effect.

import { isDeepStrictEqual } from 'node:util'
import type { ClientAnswer } from '@millrace/dialects'
import type { StreamManager } from '@millrace/log'
import type { Chunk, ToolPart } from '@millrace/protocol'
import { type Answer, RunError, type Runtime } from '@millrace/runtime'
import { interruptResponseProblem } from '@millrace/runtime/internal'
import { HttpError } from '../../errors/http-error.ts'
import { omitUndefined } from '../../runs/omit-undefined.ts'
import type { PublicView } from '../../sessions/message-page.ts'

/** An answer and its run. */
export interface MatchedAnswer {
  readonly answer: Answer
  /** Id of the tool call or interrupt. */
  readonly targetId: string
  readonly runId: string | undefined
}

/** The answers of a client, split into those to open requests and those to settled ones. */
export interface MatchedAnswers {
  readonly open: readonly MatchedAnswer[]
  readonly settled: readonly MatchedAnswer[]
}

interface FoundCall {
  readonly part: ToolPart
  readonly runId: string | undefined
}

/** Checks responses with the forms of interrupts. */
export interface ResponseChecks {
  readonly runtime: Runtime
  /** The caller, whose limit of checks applies. */
  readonly principal: string | null
}

/** Matches answers with the calls and interrupts of a session. @throws `transcript_refused` */
export async function matchAnswers(
  view: PublicView,
  posted: readonly ClientAnswer[],
  checks: ResponseChecks,
): Promise<MatchedAnswers> {
  const open: MatchedAnswer[] = []
  const settled: MatchedAnswer[] = []
  if (posted.length === 0) return { open, settled }
  const matcher = new AnswerMatcher(view, checks)
  for (const sent of posted) {
    const { isOpen, ...matched } = sent.kind === 'interrupt' ? await matcher.question(sent) : matcher.call(sent)
    if (!isOpen) {
      settled.push(matched)
      continue
    }
    const { kind, id } = matched.answer
    const at = open.findIndex(({ answer }) => answer.kind === kind && answer.id === id)
    if (at < 0) open.push(matched)
    else open[at] = { ...matched, answer: mergedAnswer((open[at] as MatchedAnswer).answer, matched.answer) }
  }
  return { open, settled }
}

/**
 * One answer out of two to the same request. Two decisions about an approval may have different details, such as a
 * reason, since one request can contain them in several fields. @throws `transcript_refused` if they differ
 */
function mergedAnswer(one: Answer, other: Answer): Answer {
  const merged = { ...one, ...other } as Answer
  const isSame =
    one.kind === 'approval' ? isDeepStrictEqual({ ...other, ...one }, merged) : isDeepStrictEqual(one, other)
  if (isSame) return merged
  throw transcriptRefused(`${one.kind} ${one.id}: expected one answer, found two that differ`)
}

/** Whether the session still has a pending after the open answers are given. */
export function isWaitingAfter({ pendings }: PublicView, { open }: MatchedAnswers): boolean {
  const answers = new Map(open.map(({ answer }) => [answer.id, answer]))
  return pendings.some(pending => {
    const answer = answers.get(pending.id)
    if (answer === undefined) return true
    // An approved call of a client tool then waits for the client.
    return pending.kind === 'approval' && pending.part.executor === 'client' && 'approved' in answer && answer.approved
  })
}

/** Looks up the calls and interrupts that answers refer to. */
class AnswerMatcher {
  readonly #view: PublicView
  readonly #checks: ResponseChecks
  /** By tool call id and by approval id. */
  readonly #calls = new Map<string, FoundCall>()
  /** The calls that wait for a client. */
  readonly #pendingCalls: ReadonlySet<string>

  constructor(view: PublicView, checks: ResponseChecks) {
    this.#view = view
    this.#checks = checks
    for (const { parts, runId } of view.messages) {
      for (const part of parts) {
        if (!('toolCallId' in part)) continue
        this.#calls.set(part.toolCallId, { part, runId })
        if (part.approval) this.#calls.set(part.approval.id, { part, runId })
      }
    }
    this.#pendingCalls = new Set(view.pendings.flatMap(({ kind, id }) => (kind === 'client-tool' ? [id] : [])))
  }

  async question({ id, response }: Extract<ClientAnswer, { kind: 'interrupt' }>) {
    const found = this.#view.interrupts.findLast(({ interruptId }) => interruptId === id)
    if (!found) throw transcriptRefused(`interrupt ${id}: expected an interrupt of this session`)
    const isOpen = found.status === 'open'
    // Checked before any other answer takes effect.
    const { runtime, principal } = this.#checks
    const problem = isOpen
      ? await interruptResponseProblem(runtime, found, response, principal ?? undefined)
      : undefined
    if (problem !== undefined) throw new RunError('answer_invalid', `interrupt ${id}: ${problem}`)
    const answer: Answer = { kind: 'interrupt', id, response }
    return { answer, targetId: id, runId: found.runId, isOpen }
  }

  call(sent: Exclude<ClientAnswer, { kind: 'interrupt' }>) {
    const { kind, id } = sent
    const found = this.#calls.get(id)
    if (!found) throw transcriptRefused(`${kind} ${id}: expected a tool call of this session`)
    const { part, runId } = found
    const { toolCallId: targetId, approval, state } = part
    if (sent.kind === 'approval') {
      if (!approval) throw transcriptRefused(`approval ${id}: expected a tool call that needs an approval`)
      const { approved, reason, input } = sent
      const isOpen = state === 'approval-requested'
      // Checked before any other answer takes effect.
      if (isOpen && input !== undefined && !part.blobs && !isDeepStrictEqual(input, part.input ?? null))
        throw transcriptRefused(`approval ${id}: expected the same input as the tool call, found another one`)
      const answer = omitUndefined({ kind: sent.kind, id: approval.id, approved, reason, input }) as unknown as Answer
      return { answer, targetId, runId, isOpen }
    }
    const isOpen = this.#pendingCalls.has(targetId)
    // A client may send the progress of a running call as its result.
    const hasResult = state.startsWith('output-') || part.progress !== undefined
    if (!isOpen && !hasResult) throw transcriptRefused(`call ${id}: expected a pending call of a client tool`)
    const answer: Answer =
      'error' in sent
        ? { kind: 'tool-result', id: targetId, error: sent.error }
        : { kind: 'tool-result', id: targetId, output: sent.output }
    return { answer, targetId, runId, isOpen }
  }
}

/** The answer that replaces an invalid output: the call fails, because the transcript would send the same output forever. Undefined for other errors. */
export function failureFor(answer: Answer, error: unknown): Answer | undefined {
  if (!(answer.kind === 'tool-result' && 'output' in answer)) return undefined
  if (!(error instanceof RunError && error.code === 'answer_invalid')) return undefined
  return { kind: answer.kind, id: answer.id, error: `The output was rejected: ${error.message}` }
}

/** The error for content that a client may not send. */
export const transcriptRefused = (message: string): HttpError =>
  new HttpError('transcript_refused', `messages: ${message}`)

/** Number of log entries that are read at once. */
const PAGE_ENTRIES = 2000

/** The position up to which the client has seen a run: its first answer after the last pause that it answered. */
export async function positionAfterAnswers(
  manager: StreamManager,
  { runs, head }: PublicView,
  streamId: string,
  runId: string,
  settled: readonly MatchedAnswer[],
): Promise<number> {
  const ids = new Set(settled.map(({ targetId }) => targetId))
  const { floor = 0 } = (await manager.getInfo(streamId)) ?? {}
  const start = runs.find(run => run.runId === runId)?.at ?? head
  let pause = 0
  let found: { readonly sequence: number; readonly pause: number } | undefined
  for (let at = Math.max(start - 1, floor); at < head; at += PAGE_ENTRIES) {
    for (const { sequence, chunk, origin } of await manager.entries(streamId, at, Math.min(at + PAGE_ENTRIES, head))) {
      if (chunk.type === 'run-paused') pause = sequence
      if (!ids.has(answeredBy(chunk) ?? '') || found?.pause === pause) continue
      if (origin.guest !== undefined || isTimeout(chunk)) found = { sequence, pause }
    }
  }
  return found?.sequence ?? head
}

/** Whether a chunk of the run itself may settle a request after a timeout. */
const isTimeout = (chunk: Chunk): boolean =>
  chunk.type === 'interrupt-response' || (chunk.type === 'tool-approval-response' && !chunk.approved)

/** The id of the call or interrupt that a chunk answers. */
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
