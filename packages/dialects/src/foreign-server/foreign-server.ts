// A peer is another system's server, as our client asks it. How it is asked is its dialect's affair; what comes of it is kept by a `PeerConnection`, which looks to a chat
// like one to a server of our own.

import type { Json, Message } from '@millrace/protocol'
import type { ClientAnswer } from '../dialect/client-request.ts'
import type { DecodedChunk, EndStatus } from '../dialect/dialect.ts'

/** What a peer is asked for. */
export interface ForeignRequest {
  readonly sessionId: string
  readonly runId: string
  /** To answer what a person said; to answer it anew; or to go on with a run whose pendings have all been answered. */
  readonly kind: 'say' | 'regenerate' | 'continue'
  /**
   * All that was said, oldest first, calls under the ids that the peer gave them. The last is the person's message that is to be answered, or, where a run is to go on,
   * the agent's, with what came of its calls.
   */
  readonly messages: readonly Message[]
  /** The answers since the peer was last asked, under the ids that the peer gave; only where a run is to go on. */
  readonly answers: readonly ClientAnswer[]
  /** What the peer calls messages that go by another id here, by that id: an agent's, as it named them last; a person's that was put in the place of another, as that one. */
  readonly foreignIds: ReadonlyMap<string, string>
  /** Where an answer is asked for anew, or a message was put in the place of another: the id of what was there, as the peer calls it. */
  readonly replaces?: string | undefined
  /** The state that is shared, as the view has it. */
  readonly state?: Json | undefined
  /** Goes along with the run. */
  readonly data?: Json | undefined
  /** Aborted when nobody wants the reply any more. */
  readonly signal: AbortSignal
}

/** What a peer says: as many chunks at once as came at once. */
export interface ForeignReply extends AsyncIterable<readonly DecodedChunk[]> {
  /** How the run stood when the reply ended; undefined where that was not said: then the connection was dropped, which is no end (law 7). */
  readonly status: EndStatus | undefined
  /** Whether it begins where the dropped one began, rather than after what that one said; only of what `resume` gives, and known when something was said. */
  readonly isReplay?: boolean | undefined
}

/** Another system's server. */
export interface ForeignServer {
  readonly name: string
  /** False where a peer that keeps the session itself takes nothing back but its last answer: anything else is refused before it is asked. */
  readonly canCut?: boolean
  /** Asks; throws a `RequestError` for a refusal. */
  ask(request: ForeignRequest): Promise<ForeignReply> | ForeignReply
  /**
   * What a reply that was dropped goes on with; nothing, where there is no more to be had. Without a dropped reply: what is under way in a session that is opened again,
   * from its beginning. May throw: then it is tried again, a few times. Never begins a run: who cannot tell where it was gives nothing.
   */
  resume?(request: ForeignRequest, dropped?: ForeignReply): Promise<ForeignReply | undefined>
  /** Stops a run on the other side, too; the reply has been left by then. */
  stop?(request: Pick<ForeignRequest, 'sessionId' | 'runId' | 'signal'>, reply?: ForeignReply): Promise<void>
  /** What was said in a session so far: each user's `message`, and after it the chunks of its answer. Nothing, where the peer knows of no such session. */
  history?(request: Pick<ForeignRequest, 'sessionId' | 'signal'>): Promise<readonly DecodedChunk[] | undefined>
}
