// One server, as long as it is wanted. A connection that was lost is opened again by the next call that needs it; no call waits for a server for ever.

import { Client, SdkHttpError, type Transport, type VersionNegotiationOptions } from '@modelcontextprotocol/client'
import { unlessAborted } from '../async/unless-aborted.ts'
import { ToolError } from '../error/error.ts'
import type { McpEndpoint } from './endpoint.ts'
import { HttpTransport } from './http-transport.ts'
import {
  connectTimeoutError,
  isSessionGone,
  isTooLarge,
  lostWithOthersError,
  MAX_TIMER_MS,
  toConnectError,
  toMcpError,
} from './mcp-error.ts'
import { serverSchemaValidator } from './server-schema.ts'

/** How long a server may take to let go of its connection. */
const CLOSE_TIMEOUT_MS = 6000
/** What servers are told of a call that is given up: why is nobody's business but ours. */
const CANCELLED = 'the caller has given it up'

/** Who servers are told is there. */
export const CLIENT_INFO = { name: 'millrace', version: '0.1.0' }

interface ClientSession {
  readonly client: Client
  readonly transport: Transport
  /** What the connection last complained of. */
  readonly complaint: { last: Error | undefined }
  /** Aborted where it can be used no more, though it is not closed yet. */
  readonly broken: AbortController
  /** How many requests wait there for their answers. */
  waiting: number
}

export interface ConnectionSettings {
  readonly server: McpEndpoint
  readonly connectTimeoutMs: number
  readonly versionNegotiation: VersionNegotiationOptions | undefined
}

export class Connection {
  readonly #settings: ConnectionSettings
  readonly #closed = new AbortController()
  /** The connection, from when it is opened. */
  #opening: Promise<ClientSession> | undefined
  /** The same, from when it is open. */
  #session: ClientSession | undefined
  #closing: Promise<void> | undefined
  /** Connections that are let go of, which nobody waits for but who closes. */
  readonly #endings = new Set<Promise<void>>()

  constructor(settings: ConnectionSettings) {
    this.#settings = settings
  }

  /** Asks the server something, over another connection where that of before is gone and surely took nothing; what goes wrong is typed. */
  async ask<T>(request: (client: Client, signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> {
    for (const each of [this.#closed.signal, signal]) each?.throwIfAborted()
    const controller = new AbortController()
    const giveUp = () => controller.abort(CANCELLED)
    const signals = signal === undefined ? [this.#closed.signal] : [this.#closed.signal, signal]
    for (const each of signals) each.addEventListener('abort', giveUp, { once: true })
    try {
      return await this.#ask(request, controller.signal)
    } catch (error) {
      if (this.#closed.signal.aborted) throw this.#closed.signal.reason
      signal?.throwIfAborted()
      throw error
    } finally {
      for (const each of signals) each.removeEventListener('abort', giveUp)
    }
  }

  /** Ends the connection, and every call under way with it. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #ask<T>(request: (client: Client, signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    const { label } = this.#settings.server
    for (let attempt = 1; ; attempt++) {
      const session = await unlessAborted(this.#open(), signal)
      const { client, complaint, broken } = session
      session.waiting++
      try {
        return await unlessAborted(unlessAborted(request(client, signal), signal), broken.signal)
      } catch (error) {
        if (signal.aborted || broken.signal.aborted) throw error
        const isGone = await this.#isGone(session, error, signal)
        // Other calls may still wait there for their answers: it is left to them.
        if (isGone) this.#lose(session)
        if (!isGone || attempt > 1) throw toMcpError(error, label, complaint.last)
      } finally {
        session.waiting--
      }
    }
  }

  /** Whether a request was surely not begun because there was no connection for it any more: on another it may be. */
  async #isGone({ client, transport }: ClientSession, error: unknown, signal: AbortSignal): Promise<boolean> {
    if (!isSessionGone(error, transport.sessionId)) return false
    if (!(error instanceof SdkHttpError)) return true
    // A server that means the session has no ear for anything else there; one that means the call has, and may have done it.
    const { connectTimeoutMs } = this.#settings
    const refusal = await unlessAborted(client.ping({ signal, timeout: connectTimeoutMs }), signal).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    signal.throwIfAborted()
    return isSessionGone(refusal, transport.sessionId)
  }

  #open(): Promise<ClientSession> {
    if (this.#opening === undefined) {
      const opening = this.#connect()
      this.#opening = opening
      opening.catch(() => {
        if (this.#opening === opening) this.#opening = undefined
      })
    }
    return this.#opening
  }

  /** Gives up a session that is gone: the next call opens another. */
  #lose(session: ClientSession): void {
    if (this.#session !== session) return
    this.#session = undefined
    this.#opening = undefined
  }

  /** Over stdio a message that does not end takes the connection with it, whose end may take long; whose answer it was is known only where one is waited for. */
  #break(session: ClientSession, error: Error): void {
    const { label } = this.#settings.server
    this.#lose(session)
    session.broken.abort(session.waiting > 1 ? lostWithOthersError(label, error) : toMcpError(error, label))
    this.#end(session)
  }

  #end(session: ClientSession): void {
    const ending = closeSession(session).finally(() => this.#endings.delete(ending))
    this.#endings.add(ending)
  }

  async #connect(): Promise<ClientSession> {
    const { server, connectTimeoutMs } = this.#settings
    const late = new AbortController()
    const giveUp = () => late.abort(CANCELLED)
    const timer = setTimeout(giveUp, connectTimeoutMs)
    this.#closed.signal.addEventListener('abort', giveUp, { once: true })
    if (this.#closed.signal.aborted) giveUp()
    const client = this.#client()
    const complaint: ClientSession['complaint'] = { last: undefined }
    const broken = new AbortController()
    let session: ClientSession | undefined
    client.onerror = error => {
      complaint.last = error
      const isOfAll = session !== undefined && !(session.transport instanceof HttpTransport)
      if (isOfAll && isTooLarge(error) && !broken.signal.aborted) this.#break(session as ClientSession, error)
    }
    try {
      const opened: ClientSession = {
        client,
        complaint,
        broken,
        waiting: 0,
        transport: await openTransport(server, late.signal),
      }
      session = opened
      const connecting = client.connect(opened.transport, { timeout: MAX_TIMER_MS, signal: late.signal })
      await unlessAborted(unlessAborted(connecting, late.signal), broken.signal)
      client.onclose = () => this.#lose(opened)
      deliverInOrder(opened.transport)
      this.#session = opened
      return opened
    } catch (error) {
      if (session !== undefined && !broken.signal.aborted) this.#end(session)
      if (this.#closed.signal.aborted) throw this.#closed.signal.reason
      throw late.signal.aborted
        ? connectTimeoutError(server.label, connectTimeoutMs, complaint.last)
        : toConnectError(error, server.label, complaint.last)
    } finally {
      clearTimeout(timer)
      this.#closed.signal.removeEventListener('abort', giveUp)
    }
  }

  #client(): Client {
    const { connectTimeoutMs, versionNegotiation } = this.#settings
    const options = { jsonSchemaValidator: serverSchemaValidator }
    if (versionNegotiation === undefined) return new Client(CLIENT_INFO, options)
    // A server that does not know the question is asked the older one while there is time.
    const probe = { timeoutMs: Math.ceil(connectTimeoutMs / 3), ...versionNegotiation.probe }
    return new Client(CLIENT_INFO, { ...options, versionNegotiation: { ...versionNegotiation, probe } })
  }

  async #close(): Promise<void> {
    const { label } = this.#settings.server
    this.#closed.abort(new ToolError(`the connection to ${label} was closed`, { code: 'mcp_closed' }))
    const session = await this.#opening?.catch(() => undefined)
    if (session !== undefined) this.#end(session)
    await Promise.all(this.#endings)
  }
}

/** Another transport to a server. One that comes too late is closed by itself. */
function openTransport(server: McpEndpoint, signal: AbortSignal): Promise<Transport> {
  const making = (async () => server.open())()
  making.then(
    transport => (signal.aborted ? transport.close() : undefined),
    () => {},
  )
  return unlessAborted(making, signal)
}

/** The SDK looks at an answer before what was told of its progress in the same breath, which is then lost: the answer waits for its turn. */
function deliverInOrder(transport: Transport): void {
  const { onmessage } = transport
  transport.onmessage = (message, extra) => {
    if ('method' in message) onmessage?.(message, extra)
    else queueMicrotask(() => onmessage?.(message, extra))
  }
}

/** Lets go of a connection, and of the process behind it; never fails, and never waits for long. */
async function closeSession({ client, transport }: ClientSession): Promise<void> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), CLOSE_TIMEOUT_MS)
  const quietly = (going: Promise<unknown>) => unlessAborted(going, late.signal).catch(() => {})
  if ('terminateSession' in transport && typeof transport.terminateSession === 'function') {
    await quietly(transport.terminateSession())
  }
  // The client lets go of its transport only once it has taken hold of it.
  await Promise.all([quietly(client.close()), quietly(transport.close())])
  clearTimeout(timer)
}
