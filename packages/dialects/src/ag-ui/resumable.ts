// Clients of AG-UI take the end of a connection for the end of a run, and know no way back. Our server marks how far it has told: `resumable(HttpAgent)` holds what comes
// between marks until it is whole, and goes on from the last one where a connection breaks.

import { RetryDelay, retry } from '@millrace/protocol/retry'
import { RECONNECT } from '../http/resumable-stream.ts'
import { type ResumableRequest, resumableResponse } from './resumable-response.ts'

/** What is needed of `HttpAgent`. */
interface HttpAgentParts {
  url: string
  headers: Record<string, string>
  threadId: string
  fetch: (url: string, init: RequestInit) => Promise<Response>
  messages: readonly { readonly role: string }[]
  run(input: RunInput): unknown
  connectAgent(...given: never[]): unknown
}

interface RunInput {
  readonly threadId: string
  readonly runId: string
}

export interface ResumableOptions {
  /** How often a connection is looked for in vain before the run is given up as failed. */
  readonly retries?: number
  /** After how long without a sign of life a connection counts as broken. */
  readonly silenceMs?: number
}

/** What an agent that goes on can do besides. */
export interface Resumable {
  /** Asks the server to stop the run; its stream ends as cancelled then. Who only leaves it, by `abortRun`, leaves it running. */
  stopRun(): Promise<void>
}

type AgentClass = new (...given: never[]) => unknown
type ResumableClass<C extends AgentClass> = Omit<C, 'prototype'> &
  (new (
    ...given: ConstructorParameters<C>
  ) => InstanceType<C> & Resumable)

/** `HttpAgent` of AG-UI, for our server: goes on where its connection breaks, and `connectAgent()` follows what is under way in the thread. */
export function resumable<C extends AgentClass>(HttpAgent: C, options: ResumableOptions = {}): ResumableClass<C> {
  const Base = HttpAgent as unknown as new (...given: never[]) => HttpAgentParts
  // It keeps nothing by itself, since agents are cloned without being made.
  class ResumableAgent extends Base {
    override run(input: RunInput): unknown {
      const first = (url: string, init: RequestInit) =>
        sendUntilResponse(() => this.fetch(url, init), init.signal, options)
      return this.asked(input, (url, init) =>
        resumableResponse({ ...this.about(url, init, input), first: () => first(url, init) }),
      )
    }

    /** All is told from the start of a run; and reasonings stay with AG-UI's clients where none are told of. */
    override connectAgent(...given: never[]): unknown {
      this.messages = this.messages.filter(({ role }) => role !== 'reasoning')
      return super.connectAgent(...given)
    }

    /** What AG-UI's own agent leaves open: the events of a run that somebody else asked for, or that this client asked for before. */
    connect(input: RunInput): unknown {
      return this.asked(input, (url, init) => {
        const about = this.about(url, init, input)
        return resumableResponse({
          ...about,
          first: () => sendUntilResponse(() => about.again({}), init.signal, options),
        })
      })
    }

    async stopRun(): Promise<void> {
      const reply = await this.fetch(placed(this.url, this.threadId, 'stop'), { method: 'POST', headers: this.headers })
      if (!reply.ok) throw new Error(`The run could not be stopped: HTTP ${reply.status}`)
    }

    /** The agent's own way of asking, with another `fetch`. */
    private asked(input: RunInput, fetch: HttpAgentParts['fetch']): unknown {
      const agent = Object.create(this, { fetch: { value: fetch } }) as HttpAgentParts
      return super.run.call(agent, input)
    }

    private about(url: string, init: RequestInit, { threadId, runId }: RunInput): ResumableRequest {
      const headers = new Headers(init.headers)
      headers.delete('content-type')
      const { signal } = init
      return {
        ...options,
        signal: signal ?? undefined,
        again: ({ run, after }) => {
          const query = { as: run === undefined ? undefined : runId, run, after }
          return this.fetch(placed(url, threadId, 'stream', query), {
            method: 'GET',
            headers,
            ...(signal && { signal }),
          })
        },
      }
    }
  }
  return ResumableAgent as unknown as ResumableClass<C>
}

/**
 * Sends a request until there is a response, whatever it says. After a dropped connection the client cannot know whether the server got
 * the request: the run id makes the repeated request idempotent.
 */
const sendUntilResponse = (
  ask: () => Promise<Response>,
  signal: AbortSignal | null | undefined,
  { retries: attempts = RECONNECT.attempts }: ResumableOptions,
): Promise<Response> => retry(ask, new RetryDelay({ ...RECONNECT, attempts }), () => 0, signal)

/** A place below an agent's own. */
function placed(url: string, threadId: string, what: string, query: Record<string, string | undefined> = {}): string {
  const [path = '', own] = url.split('?')
  const asked = new URLSearchParams(own)
  for (const name in query) if (query[name] !== undefined) asked.set(name, query[name])
  const search = asked.size > 0 ? `?${asked}` : ''
  return `${path.replace(/\/$/, '')}/${encodeURIComponent(threadId)}/${what}${search}`
}
