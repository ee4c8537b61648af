// The connection to one server. The next call reopens a lost connection. Every wait has a timeout.

import { MAX_TIMER_MS } from '@millrace/log/internal'
import {
  Client,
  type jsonSchemaValidator,
  SdkHttpError,
  type Transport,
  type VersionNegotiationOptions,
} from '@modelcontextprotocol/client'
import { unlessAborted } from '../async/unless-aborted.ts'
import { ToolError } from '../error/error.ts'
import type { McpEndpoint } from './endpoint.ts'
import { HttpTransport } from './http-transport.ts'
import {
  connectTimeoutError,
  isSessionGone,
  isTooLarge,
  lostWithOthersError,
  toConnectError,
  toMcpError,
} from './mcp-error.ts'

/** Maximum time to close a connection, in ms. */
const CLOSE_TIMEOUT_MS = 6000
/** The reason that servers get for a cancelled call. The real reason stays private. */
const CANCELLED = 'the caller has given it up'

/** The client compiles no schemas of a server: `mcpTool` and `listTools` check values with them, in a worker. */
const noSchemas: jsonSchemaValidator = {
  getValidator: () => {
    throw new Error('schemas of a server are checked outside of the client')
  },
}

/** Name and version that servers get. */
export const CLIENT_INFO = { name: 'millrace', version: '0.1.0' }

interface ClientSession {
  readonly client: Client
  readonly transport: Transport
  /** The last error that the client reported. */
  readonly clientError: { last: Error | undefined }
  /** Aborted when the session is unusable, although it is not closed yet. */
  readonly broken: AbortController
  /** Number of requests in flight. */
  inFlight: number
}

export interface ConnectionSettings {
  readonly server: McpEndpoint
  readonly connectTimeoutMs: number
  readonly versionNegotiation: VersionNegotiationOptions | undefined
}

export class Connection {
  readonly #settings: ConnectionSettings
  readonly #closed = new AbortController()
  /** The session, from the start of connecting. */
  #opening: Promise<ClientSession> | undefined
  /** The session, once it is open. */
  #session: ClientSession | undefined
  #closing: Promise<void> | undefined
  /** Sessions that are closing. Only `close` waits for them. */
  readonly #endings = new Set<Promise<void>>()

  constructor(settings: ConnectionSettings) {
    this.#settings = settings
  }

  /**
   * Sends a request. Retries it once on a new session if the old one is gone and did not process it.
   * @throws {MillraceError} if the request fails, or the reason of `signal`.
   */
  async ask<T>(request: (client: Client, signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> {
    for (const each of [this.#closed.signal, signal]) each?.throwIfAborted()
    const controller = new AbortController()
    const abort = () => controller.abort(CANCELLED)
    const signals = signal === undefined ? [this.#closed.signal] : [this.#closed.signal, signal]
    for (const each of signals) each.addEventListener('abort', abort, { once: true })
    try {
      return await this.#ask(request, controller.signal)
    } catch (error) {
      if (this.#closed.signal.aborted) throw this.#closed.signal.reason
      signal?.throwIfAborted()
      throw error
    } finally {
      for (const each of signals) each.removeEventListener('abort', abort)
    }
  }

  /** Closes the connection and fails all calls in flight. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #ask<T>(request: (client: Client, signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    const { label } = this.#settings.server
    for (let attempt = 1; ; attempt++) {
      const session = await unlessAborted(this.#open(), signal)
      const { client, clientError, broken } = session
      session.inFlight++
      try {
        return await unlessAborted(unlessAborted(request(client, signal), signal), broken.signal)
      } catch (error) {
        if (signal.aborted || broken.signal.aborted) throw error
        const isGone = await this.#isGone(session, error, signal)
        // The session stays open for other calls in flight.
        if (isGone) this.#lose(session)
        if (!isGone || attempt > 1) throw toMcpError(error, label, clientError.last)
      } finally {
        session.inFlight--
      }
    }
  }

  /** Whether the session was gone before the request, which the server then cannot have processed. */
  async #isGone({ client, transport }: ClientSession, error: unknown, signal: AbortSignal): Promise<boolean> {
    if (!isSessionGone(error, transport.sessionId)) return false
    if (!(error instanceof SdkHttpError)) return true
    // A ping fails too if the session is gone. If it succeeds, the status was about the call, which may have run.
    const { connectTimeoutMs } = this.#settings
    const pingError = await unlessAborted(client.ping({ signal, timeout: connectTimeoutMs }), signal).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    signal.throwIfAborted()
    return isSessionGone(pingError, transport.sessionId)
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

  /** Forgets a session that is gone. The next call opens another one. */
  #lose(session: ClientSession): void {
    if (this.#session !== session) return
    this.#session = undefined
    this.#opening = undefined
  }

  /** Fails a stdio session after an oversized message. The call is known only if a single one is in flight. */
  #break(session: ClientSession, error: Error): void {
    const { label } = this.#settings.server
    this.#lose(session)
    session.broken.abort(session.inFlight > 1 ? lostWithOthersError(label, error) : toMcpError(error, label))
    this.#end(session)
  }

  #end(session: ClientSession): void {
    const ending = closeSession(session).finally(() => this.#endings.delete(ending))
    this.#endings.add(ending)
  }

  async #connect(): Promise<ClientSession> {
    const { server, connectTimeoutMs } = this.#settings
    const controller = new AbortController()
    const abort = () => controller.abort(CANCELLED)
    const timer = setTimeout(abort, connectTimeoutMs)
    this.#closed.signal.addEventListener('abort', abort, { once: true })
    if (this.#closed.signal.aborted) abort()
    const client = this.#client()
    const clientError: ClientSession['clientError'] = { last: undefined }
    const broken = new AbortController()
    let session: ClientSession | undefined
    client.onerror = error => {
      clientError.last = error
      // Over HTTP each call has its own reply, so an oversized one fails only that call.
      const isSharedByCalls = session !== undefined && !(session.transport instanceof HttpTransport)
      if (isSharedByCalls && isTooLarge(error) && !broken.signal.aborted) this.#break(session as ClientSession, error)
    }
    try {
      const opened: ClientSession = {
        client,
        clientError,
        broken,
        inFlight: 0,
        transport: await openTransport(server, controller.signal),
      }
      session = opened
      const connecting = client.connect(opened.transport, { timeout: MAX_TIMER_MS, signal: controller.signal })
      await unlessAborted(unlessAborted(connecting, controller.signal), broken.signal)
      client.onclose = () => this.#lose(opened)
      deliverInOrder(opened.transport)
      this.#session = opened
      return opened
    } catch (error) {
      if (session !== undefined && !broken.signal.aborted) this.#end(session)
      if (this.#closed.signal.aborted) throw this.#closed.signal.reason
      throw controller.signal.aborted
        ? connectTimeoutError(server.label, connectTimeoutMs, clientError.last)
        : toConnectError(error, server.label, clientError.last)
    } finally {
      clearTimeout(timer)
      this.#closed.signal.removeEventListener('abort', abort)
    }
  }

  #client(): Client {
    const { connectTimeoutMs, versionNegotiation } = this.#settings
    const options = { jsonSchemaValidator: noSchemas }
    if (versionNegotiation === undefined) return new Client(CLIENT_INFO, options)
    // Leaves time for the older handshake if the server does not support the probe.
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

/** Opens a transport. One that opens after the abort is closed. */
function openTransport(server: McpEndpoint, signal: AbortSignal): Promise<Transport> {
  const opening = (async () => server.open())()
  opening.then(
    transport => (signal.aborted ? transport.close() : undefined),
    () => {},
  )
  return unlessAborted(opening, signal)
}

/** Delays replies by a microtask: the SDK would handle a reply before progress that arrived just before it, and drop that. */
function deliverInOrder(transport: Transport): void {
  const { onmessage } = transport
  transport.onmessage = (message, extra) => {
    if ('method' in message) onmessage?.(message, extra)
    else queueMicrotask(() => onmessage?.(message, extra))
  }
}

/** Closes a session and its process. Never throws, and stops waiting after `CLOSE_TIMEOUT_MS`. */
async function closeSession({ client, transport }: ClientSession): Promise<void> {
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(), CLOSE_TIMEOUT_MS)
  const settled = (closing: Promise<unknown>) => unlessAborted(closing, timeout.signal).catch(() => {})
  if ('terminateSession' in transport && typeof transport.terminateSession === 'function') {
    await settled(transport.terminateSession())
  }
  // The client closes the transport only if it is connected.
  await Promise.all([settled(client.close()), settled(transport.close())])
  clearTimeout(timer)
}
