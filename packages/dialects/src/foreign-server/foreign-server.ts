import type { Json, Message } from '@millrace/protocol'
import type { ClientAnswer } from '../dialect/client-request.ts'
import type { DecodedChunk, EndStatus } from '../dialect/dialect.ts'

/** A request for a reply. */
export interface ForeignRequest {
  /** Id of the session here. */
  readonly sessionId: string
  /** Id of the run here. */
  readonly runId: string
  /** `say` answers a user message, `regenerate` answers it again, `continue` resumes a paused run whose pendings are all answered. */
  readonly kind: 'say' | 'regenerate' | 'continue'
  /**
   * The full transcript, oldest first, with the server's own ids of calls. The last message is the user message to answer. With `continue` it is the agent's
   * message, with the outcomes of its calls.
   */
  readonly messages: readonly Message[]
  /** The answers since the last request, with the server's own ids. Empty except with `continue`. */
  readonly answers: readonly ClientAnswer[]
  /**
   * The server's own ids of messages, by their ids here. An agent's message has the latest id that the server gave it. An edited user message has the id of the
   * message that it replaces.
   */
  readonly foreignIds: ReadonlyMap<string, string>
  /** The server's own id of the reply to regenerate, or of the user message that was edited. */
  readonly replaces?: string | undefined
  /** The shared state of the view. */
  readonly state?: Json | undefined
  /** Data of the caller for this run. */
  readonly data?: Json | undefined
  /** Aborts when the reply is not needed any more. */
  readonly signal: AbortSignal
}

/** The chunks of one connection. Chunks that arrive together are yielded together. */
export interface ForeignReply extends AsyncIterable<readonly DecodedChunk[]> {
  /** State of the run at the end of the reply. Undefined if the reply did not say: the connection was dropped, which is not an end (law 7). */
  readonly status: EndStatus | undefined
  /** Whether a resumed reply repeats the dropped one from its start, rather than continuing after it. Known after the first chunks. */
  readonly isReplay?: boolean | undefined
}

/** Another system's server. Each dialect implements how to ask it; `ForeignConnection` makes it look like a Millrace server to a chat. */
export interface ForeignServer {
  /** Name of the system. A run without an agent is named after it. */
  readonly name: string
  /** False if the server keeps the session and can take back only its last reply. Other edits and retries are refused without asking it. @default true */
  readonly canRewind?: boolean
  /** Sends a message, an answer or a retry. @throws a `RequestError` if the server refuses. */
  ask(request: ForeignRequest): Promise<ForeignReply> | ForeignReply
  /**
   * Resumes a reply after its connection dropped. Without `dropped`, joins the run that is open in a session, from its start. Undefined if there is nothing
   * to resume. May throw, and is retried a few times. Must never start a run: without a known position it returns undefined.
   */
  resume?(request: ForeignRequest, dropped?: ForeignReply): Promise<ForeignReply | undefined>
  /** Stops a run on the server. Its reply was left before. */
  stop?(request: Pick<ForeignRequest, 'sessionId' | 'runId' | 'signal'>, reply?: ForeignReply): Promise<void>
  /** The earlier turns of a session: each user `message`, and after it the chunks of its reply. Undefined if the server does not know the session. */
  history?(request: Pick<ForeignRequest, 'sessionId' | 'signal'>): Promise<readonly DecodedChunk[] | undefined>
}
