// Clients of AG-UI take a closed connection for the end of a run and cannot reconnect. A Millrace server sends marks: `resumable(HttpAgent)` holds
// events until the next mark, and resumes after the last one.

import { RetryDelay, retry } from '@millrace/protocol/retry'
import { RECONNECT } from '../../http/resumable-stream.ts'
import { type ResumableRequest, resumableResponse } from './resumable-response.ts'

/** The members of `HttpAgent` that are used. */
interface HttpAgentParts {
  url: string
  headers: Record<string, string>
  threadId: string
  fetch: (url: string, init: RequestInit) => Promise<Response>
  messages: readonly { readonly role: string }[]
  run(input: RunInput): unknown
  connectAgent(...args: never[]): unknown
}

interface RunInput {
  readonly threadId: string
  readonly runId: string
}

/** Options of `resumable`. */
export interface ResumableOptions {
  /** Attempts to reconnect before the run fails. @default 8 */
  readonly retries?: number
  /** Longest time without data before the connection counts as dropped, in ms. @default 60000 */
  readonly silenceMs?: number
}

/** Additional methods of a resumable agent. */
export interface Resumable {
  /**
   * Stops the run. Its stream ends as cancelled. In contrast, `abortRun` only closes the connection.
   * @throws an `Error` if the server refuses.
   */
  stopRun(): Promise<void>
}

type AgentClass = new (...args: never[]) => unknown
type ResumableClass<C extends AgentClass> = Omit<C, 'prototype'> &
  (new (
    ...args: ConstructorParameters<C>
  ) => InstanceType<C> & Resumable)

/** Extends `HttpAgent` of AG-UI for a Millrace server: it resumes after a dropped connection, and `connectAgent()` follows the open run of the thread. */
export function resumable<C extends AgentClass>(HttpAgent: C, options: ResumableOptions = {}): ResumableClass<C> {
  const Base = HttpAgent as unknown as new (...args: never[]) => HttpAgentParts
  // No fields: agents are cloned without their constructor.
  class ResumableAgent extends Base {
    override run(input: RunInput): unknown {
      const first = (url: string, init: RequestInit) =>
        sendUntilResponse(() => this.fetch(url, init), init.signal, options)
      return this.runWithFetch(input, (url, init) =>
        resumableResponse({ ...this.requestFor(url, init, input), first: () => first(url, init) }),
      )
    }

    /** The run is streamed from its start. Clients keep their reasoning messages, so they are removed first. */
    override connectAgent(...args: never[]): unknown {
      this.messages = this.messages.filter(({ role }) => role !== 'reasoning')
      return super.connectAgent(...args)
    }

    /** Not implemented by `HttpAgent`: the events of the open run of the thread. */
    connect(input: RunInput): unknown {
      return this.runWithFetch(input, (url, init) => {
        const resumableRequest = this.requestFor(url, init, input)
        return resumableResponse({
          ...resumableRequest,
          first: () => sendUntilResponse(() => resumableRequest.reconnect({}), init.signal, options),
        })
      })
    }

    async stopRun(): Promise<void> {
      const headers = new Headers(this.headers)
      headers.set('content-type', 'application/json')
      const reply = await this.fetch(routeUrl(this.url, this.threadId, 'stop'), { method: 'POST', headers })
      if (!reply.ok) throw new Error(`Could not stop the run: the server answered with status ${reply.status}.`)
    }

    /** Calls `run` of `HttpAgent` with another `fetch`. */
    private runWithFetch(input: RunInput, fetch: HttpAgentParts['fetch']): unknown {
      const agent = Object.create(this, { fetch: { value: fetch } }) as HttpAgentParts
      return super.run.call(agent, input)
    }

    private requestFor(url: string, init: RequestInit, { threadId, runId }: RunInput): ResumableRequest {
      const headers = new Headers(init.headers)
      headers.delete('content-type')
      const { signal } = init
      return {
        ...options,
        signal: signal ?? undefined,
        reconnect: ({ run, after }) => {
          const query = { as: run === undefined ? undefined : runId, run, after }
          return this.fetch(routeUrl(url, threadId, 'stream', query), {
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
 * Sends a request until there is a response, of success or not. After a dropped connection the client cannot know whether the server got
 * the request: the run id makes the repeated request idempotent.
 */
const sendUntilResponse = (
  send: () => Promise<Response>,
  signal: AbortSignal | null | undefined,
  { retries: attempts = RECONNECT.attempts }: ResumableOptions,
): Promise<Response> => retry(send, new RetryDelay({ ...RECONNECT, attempts }), () => 0, signal)

/** The URL of a route below the agent's URL. */
function routeUrl(
  url: string,
  threadId: string,
  route: string,
  query: Record<string, string | undefined> = {},
): string {
  const [path = '', ownQuery] = url.split('?')
  const params = new URLSearchParams(ownQuery)
  for (const name in query) if (query[name] !== undefined) params.set(name, query[name])
  const search = params.size > 0 ? `?${params}` : ''
  return `${path.replace(/\/$/, '')}/${encodeURIComponent(threadId)}/${route}${search}`
}
