// What people said in a session, and where the last of what a client has stands in it. A client's transcript may be whole or the end of one, with ids or without,
// may hold what never arrived here and lack what others said: what cannot be told is taken for a repetition, since that is never wrong to answer twice.

import type { ClientMessage } from '@millrace/dialects'
import { Refusal } from '../../errors/refusal.ts'
import type { PublicView } from '../../sessions/message-page.ts'
import { urlOf } from './inline-files.ts'

/** What a person said in a session, and the run that answers it. */
export interface UserMessage {
  readonly id: string
  readonly content: string
  /** Where it stands in the log; at the end of all, while it waits for its turn. */
  readonly at: number
  readonly runId: string | undefined
  /** How the run stands that answers it. */
  readonly status: 'waiting' | 'open' | 'over'
}

/** What people said in a session, in order, as it will be once all that waits has had its turn. */
export function userMessagesIn({ messages, requests, runs }: PublicView): readonly UserMessage[] {
  const asked = new Map<string, string>()
  for (const { message, status, runId } of requests) {
    if (message && status !== 'removed') asked.set(message.messageId, runId)
  }
  // Who goes on from an interrupted run answers the same message.
  const next = new Map(runs.flatMap(({ runId, resumes }) => (resumes === undefined ? [] : [[resumes, runId]])))
  const open = new Map(runs.map(({ runId, finishedAt }) => [runId, finishedAt === undefined]))
  const answered = (id: string) => {
    let runId = asked.get(id)
    for (let later = runId; later !== undefined; later = next.get(later)) runId = later
    const status = runId === undefined || open.get(runId) === false ? 'over' : open.get(runId) ? 'open' : 'waiting'
    return { runId, status } as const
  }
  let userMessages: UserMessage[] = messages.flatMap(({ id, role, runId, parts, at }) =>
    role === 'user' && runId === undefined ? [{ id, content: contentOf(parts), at, ...answered(id) }] : [],
  )
  for (const { status, message, cut } of requests) {
    if (status !== 'waiting') continue
    // What will be taken back is as good as gone.
    if (cut) userMessages = userMessages.filter(({ at }) => at <= cut.toSequence)
    if (!message) continue
    const { messageId: id, parts } = message
    userMessages.push({ id, content: contentOf(parts), at: Number.POSITIVE_INFINITY, ...answered(id) })
  }
  return userMessages
}

/** What is said, as far as all dialects can say it: words and files. */
export function contentOf(parts: readonly { readonly type: string }[]): string {
  const fields = parts as readonly { readonly type: string; readonly text?: unknown; readonly url?: unknown }[]
  const words = fields.flatMap(({ type, text }) => (type === 'text' && text ? [text] : [])).join('\n')
  const files = fields.flatMap(part => (part.type === 'file' && part.url ? [urlOf(part)] : []))
  return files.length === 0 ? words : JSON.stringify([words, files])
}

/** Where the last message of a client stands: after all that was said, where it is new; at one that is the same; or in place of another. */
export interface TranscriptPosition {
  readonly at: number
  readonly is: 'new' | 'same' | 'other'
}

/** Where the last message of a client stands. Throws where the client speaks of another conversation. */
export function positionOf(userMessages: readonly UserMessage[], posted: readonly ClientMessage[]): TranscriptPosition {
  const last = posted.at(-1) as ClientMessage
  const byId = new Map(userMessages.map(({ id }, at) => [id, at]))
  const known = byId.get(last.id ?? '')
  if (known !== undefined)
    return { at: known, is: userMessages[known]?.content === contentOf(last.parts) ? 'same' : 'other' }
  // An id that nobody knows is a new message's, also of who has not seen all that was said meanwhile: it takes nothing back that others said.
  const isPartOfIt = last.id !== undefined && (posted.length === 1 || posted.some(({ id = '' }) => byId.has(id)))
  if (userMessages.length === 0 || isPartOfIt) return { at: userMessages.length, is: 'new' }
  return new TextMatcher(userMessages, posted).position()
}

/** Where the last message of a client stands that says nothing by which its messages are known but what is in them. */
class TextMatcher {
  readonly #userTexts: readonly string[]
  readonly #postedTexts: readonly string[]

  constructor(userMessages: readonly UserMessage[], posted: readonly ClientMessage[]) {
    this.#userTexts = userMessages.map(({ content }) => content)
    this.#postedTexts = posted.map(({ parts }) => contentOf(parts))
  }

  position(): TranscriptPosition {
    const { length: all } = this.#userTexts
    const { length } = this.#postedTexts
    const before = length - 1
    const isWhole = this.#isAt(0, before)
    // What may be a repetition is one, but for a single message: where others were said since, people say the same words again far more often than a request comes again. Then what adds to the session goes before what takes something of it back.
    if (length > 1 && isWhole && before < all && this.#isAt(0, length)) return { at: before, is: 'same' }
    if (this.#isAt(all - length, length)) return { at: all - 1, is: 'same' }
    if ((isWhole && before === all) || this.#isAt(all - before, before) || length === 1) return { at: all, is: 'new' }
    if (isWhole) return { at: before, is: 'other' }
    if (this.#isAt(all - length, before)) return { at: all - 1, is: 'other' }
    return this.#withLost()
  }

  /** Whether the first so many of what a client has are what was said from a place on. */
  #isAt(from: number, count: number): boolean {
    if (from < 0 || from + count > this.#userTexts.length) return false
    for (let i = 0; i < count; i++) if (this.#userTexts[from + i] !== this.#postedTexts[i]) return false
    return true
  }

  /** Where a client has all that was said, and more that never arrived here: what never arrived was never said. */
  #withLost(): TranscriptPosition {
    const { length: all } = this.#userTexts
    let at = 0
    let isLast = false
    for (const content of this.#postedTexts) {
      isLast = content === this.#userTexts[at]
      if (isLast) at++
    }
    if (at === all) return isLast ? { at: all - 1, is: 'same' } : { at: all, is: 'new' }
    throw new Refusal('transcript_diverged', 'messages: the session has others: read it again, or choose another')
  }
}
