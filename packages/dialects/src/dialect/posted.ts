// What a client's request amounts to, whatever dialect it is in. A client that sends its whole transcript sends much that is not its to say: only what people
// said, and what came of calls and questions, is taken from it at all.

import type { Json, JsonObject, MessageChunk } from '@millrace/protocol'

/** A part of a user message. */
export type UserPart = Exclude<MessageChunk['parts'][number], { type: 'reasoning' }>

/** What a person said, as a client has it; some dialects have no ids. */
export interface PostedMessage {
  readonly id?: string | undefined
  readonly parts: readonly UserPart[]
  readonly metadata?: JsonObject | undefined
}

/** What came of a call or a question, as a client has it. An approval goes by its id, or by that of its call. */
export type PostedAnswer =
  | {
      readonly kind: 'approval'
      readonly id: string
      readonly approved: boolean
      readonly reason?: string | undefined
      /** What the client showed, where its transcript says it: nothing else may run. */
      readonly input?: Json | undefined
    }
  | { readonly kind: 'tool-result'; readonly id: string; readonly output: Json }
  | { readonly kind: 'tool-result'; readonly id: string; readonly error: string }
  | { readonly kind: 'interrupt'; readonly id: string; readonly response: Json }

/** A request, as the server looks at it. */
export interface Posted {
  /** What people said, in order; the last is new, or was said before. */
  readonly said: readonly PostedMessage[]
  /** Whether the transcript ends with what a person said: then that is to be answered. */
  readonly isSaidLast: boolean
  /** Whether the client keeps no transcript, and says only what is new: then without an id only what is still being answered is known to be the same. */
  readonly isAlone?: true | undefined
  /** What the request says that is not a client's to say, such as the words of a system: it is refused for that, whatever else it says. */
  readonly foreign?: string | undefined
  /** What the transcript says came of calls and questions, settled ones too. */
  readonly answers: readonly PostedAnswer[]
  /** Answers the last turn anew, if that has ended; with the id of an answer only while that is the turn's answer, and then any turn: who repeats such a request does not want it twice. */
  readonly regenerate?: boolean | string | undefined
}
