// A client's request, parsed from any dialect. A client that sends its full transcript also sends content that it has no authority over: only user
// messages, and the outcomes of tool calls, approvals and interrupts, are taken from it.

import type { Json, JsonObject, MessageChunk } from '@millrace/protocol'

/** A part of a user message. */
export type UserPart = Exclude<MessageChunk['parts'][number], { type: 'reasoning' }>

/** A user message in a client's request. Some dialects have no message ids. */
export interface ClientMessage {
  /** The client's id of the message, if its format has one. */
  readonly id?: string | undefined
  /** Texts and files of the message, in order. */
  readonly parts: readonly UserPart[]
  /** Metadata of the message, if its format has it. */
  readonly metadata?: JsonObject | undefined
}

/** A client's answer to a tool call, an approval or an interrupt. An approval is named by its own id or by the id of its call. */
export type ClientAnswer =
  | {
      readonly kind: 'approval'
      readonly id: string
      readonly approved: boolean
      readonly reason?: string | undefined
      /** The input that the client showed, if its transcript has it. The tool runs with this input or not at all. */
      readonly input?: Json | undefined
    }
  | { readonly kind: 'tool-result'; readonly id: string; readonly output: Json }
  | { readonly kind: 'tool-result'; readonly id: string; readonly error: string }
  | { readonly kind: 'interrupt'; readonly id: string; readonly response: Json }

/** A client's request, independent of its dialect. */
export interface ClientRequest {
  /** User messages, oldest first. The last one is new, or a repeat of a known one. */
  readonly userMessages: readonly ClientMessage[]
  /** Whether the transcript ends with a user message, so that this message asks for a reply. */
  readonly endsWithUserMessage: boolean
  /** Whether the client keeps no transcript and sends only the new message. A message without an id repeats an earlier one only while the run of the earlier one is open. */
  readonly isIncremental?: true | undefined
  /** Why the request is refused: it has content that a client may not send, such as a system message. */
  readonly forbiddenContent?: string | undefined
  /** All answers in the transcript, to settled calls and interrupts, too. */
  readonly answers: readonly ClientAnswer[]
  /**
   * Regenerates the reply of the last turn, if that turn has ended. With the id of a reply: regenerates the turn of that reply, whichever turn it is, and only while
   * the id is its current reply, so that a repeated request does not regenerate twice.
   */
  readonly regenerate?: boolean | string | undefined
}

/**
 * The answers of a request. Some formats send an answer twice: in the transcript, as text of unknown type, and beside it. The one beside it wins.
 */
export function mergeAnswers(
  inTranscript: readonly ClientAnswer[],
  besideTranscript: readonly ClientAnswer[],
): readonly ClientAnswer[] {
  const results = new Set(besideTranscript.flatMap(({ kind, id }) => (kind === 'tool-result' ? [id] : [])))
  const others = inTranscript.filter(({ kind, id }) => kind !== 'tool-result' || !results.has(id))
  return [...others, ...besideTranscript]
}
