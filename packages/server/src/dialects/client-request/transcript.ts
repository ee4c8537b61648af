// The user messages of a session, and where a client's last message belongs among them. A transcript may be complete or partial, with or without ids,
// may contain messages that never arrived here, and may lack messages of other clients. In doubt a message counts as a repetition, which is always safe to answer.

import type { ClientMessage } from '@millrace/dialects'
import { HttpError } from '../../errors/http-error.ts'
import type { PublicView } from '../../sessions/message-page.ts'
import { urlOf } from './inline-files.ts'

/** A user message of a session and the run that answers it. */
export interface UserMessage {
  readonly id: string
  readonly content: string
  /** Sequence in the log; infinite while the message is queued. */
  readonly at: number
  readonly runId: string | undefined
  /** Status of the run that answers it. */
  readonly status: 'queued' | 'open' | 'ended'
}

/** The user messages of a session in order, including the queued ones. */
export function userMessagesIn({ messages, requests, runs }: PublicView): readonly UserMessage[] {
  const runIds = new Map<string, string>()
  for (const { message, status, runId } of requests) {
    if (message && status !== 'removed') runIds.set(message.messageId, runId)
  }
  // A run that resumes another one answers the same message.
  const next = new Map(runs.flatMap(({ runId, resumes }) => (resumes === undefined ? [] : [[resumes, runId]])))
  const open = new Map(runs.map(({ runId, finishedAt }) => [runId, finishedAt === undefined]))
  const answered = (id: string) => {
    let runId = runIds.get(id)
    for (let later = runId; later !== undefined; later = next.get(later)) runId = later
    const status = runId === undefined || open.get(runId) === false ? 'ended' : open.get(runId) ? 'open' : 'queued'
    return { runId, status } as const
  }
  let userMessages: UserMessage[] = messages.flatMap(({ id, role, runId, parts, at }) =>
    role === 'user' && runId === undefined ? [{ id, content: contentOf(parts), at, ...answered(id) }] : [],
  )
  for (const { status, message, cut } of requests) {
    if (status !== 'waiting') continue
    // Messages that a queued rewind will remove do not count.
    if (cut) userMessages = userMessages.filter(({ at }) => at <= cut.toSequence)
    if (!message) continue
    const { messageId: id, parts } = message
    userMessages.push({ id, content: contentOf(parts), at: Number.POSITIVE_INFINITY, ...answered(id) })
  }
  return userMessages
}

/** The content that all dialects can express: text and files. */
export function contentOf(parts: readonly { readonly type: string }[]): string {
  const fields = parts as readonly { readonly type: string; readonly text?: unknown; readonly url?: unknown }[]
  const text = fields.flatMap(({ type, text }) => (type === 'text' && text ? [text] : [])).join('\n')
  const files = fields.flatMap(part => (part.type === 'file' && part.url ? [urlOf(part)] : []))
  return files.length === 0 ? text : JSON.stringify([text, files])
}

/** Position of a client's last message: `new` after all others, `same` as the one at `at`, or a `replacement` of the one at `at`. */
export interface TranscriptPosition {
  readonly at: number
  readonly kind: 'new' | 'same' | 'replacement'
}

/** Finds the position of a client's last message. @throws `transcript_diverged` if the transcript is of another conversation */
export function positionOf(userMessages: readonly UserMessage[], posted: readonly ClientMessage[]): TranscriptPosition {
  const last = posted.at(-1) as ClientMessage
  const byId = new Map(userMessages.map(({ id }, at) => [id, at]))
  const at = byId.get(last.id ?? '')
  if (at !== undefined)
    return { at, kind: userMessages[at]?.content === contentOf(last.parts) ? 'same' : 'replacement' }
  // An unknown id is a new message, also from a client that lacks messages of others: it must not remove those.
  const isOfSession = last.id !== undefined && (posted.length === 1 || posted.some(({ id = '' }) => byId.has(id)))
  if (userMessages.length === 0 || isOfSession) return { at: userMessages.length, kind: 'new' }
  return new TextMatcher(userMessages, posted).position()
}

/** Finds the position of a client's last message by content, for clients without ids. */
class TextMatcher {
  readonly #userTexts: readonly string[]
  readonly #postedTexts: readonly string[]

  constructor(userMessages: readonly UserMessage[], posted: readonly ClientMessage[]) {
    this.#userTexts = userMessages.map(({ content }) => content)
    this.#postedTexts = posted.map(({ parts }) => contentOf(parts))
  }

  position(): TranscriptPosition {
    const { length: userCount } = this.#userTexts
    const { length } = this.#postedTexts
    const before = length - 1
    const hasEarlier = this.#matchesAt(0, before)
    // In doubt it is a repetition, except for a single message after others: users repeat words more often than requests are repeated.
    // Otherwise a position that adds a message wins over one that replaces messages.
    if (length > 1 && hasEarlier && before < userCount && this.#matchesAt(0, length))
      return { at: before, kind: 'same' }
    if (this.#matchesAt(userCount - length, length)) return { at: userCount - 1, kind: 'same' }
    if ((hasEarlier && before === userCount) || this.#matchesAt(userCount - before, before) || length === 1)
      return { at: userCount, kind: 'new' }
    if (hasEarlier) return { at: before, kind: 'replacement' }
    if (this.#matchesAt(userCount - length, before)) return { at: userCount - 1, kind: 'replacement' }
    return this.#positionWithoutLost()
  }

  /** Whether the first `count` posted messages equal the user messages from `from` on. */
  #matchesAt(from: number, count: number): boolean {
    if (from < 0 || from + count > this.#userTexts.length) return false
    for (let i = 0; i < count; i++) if (this.#userTexts[from + i] !== this.#postedTexts[i]) return false
    return true
  }

  /** The position for a client that has all user messages, and also messages that never arrived here. Ignores those. */
  #positionWithoutLost(): TranscriptPosition {
    const { length: userCount } = this.#userTexts
    let at = 0
    let isLast = false
    for (const content of this.#postedTexts) {
      isLast = content === this.#userTexts[at]
      if (isLast) at++
    }
    if (at === userCount) return isLast ? { at: userCount - 1, kind: 'same' } : { at: userCount, kind: 'new' }
    throw new HttpError(
      'transcript_diverged',
      'messages: expected the messages of this session: read it again, or use another session',
    )
  }
}
