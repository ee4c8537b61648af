// The host API of the studio's page: the status of the host, and faults.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Refusal, refusalOf } from './loopback-guard.ts'
import type { ChildMessage, HostStatus } from './messages.ts'
import { isTab, type Tabs } from './tabs.ts'

const MAX_BODY_BYTES = 4096
const MAX_FOLLOWERS = 100
const MAX_DELAY_MS = 10_000
const HEARTBEAT_MS = 15_000

type Fault =
  | { readonly fault: 'drop'; readonly tab: string }
  | { readonly fault: 'delay'; readonly tab: string; readonly ms: number }
  | { readonly fault: 'kill-worker' }
  | { readonly fault: 'restart-server' }

export interface StudioOptions {
  readonly tabs: Tabs
  /** Whether this process also drives runs, because its store is in memory. */
  readonly isSingleProcess: boolean
  /** Sends a message to the supervisor. */
  send(message: ChildMessage): void
}

/** Handles requests below `/studio/`. */
export class Studio {
  readonly #options: StudioOptions
  readonly #followers = new Set<ServerResponse>()
  #host: HostStatus | undefined

  constructor(options: StudioOptions) {
    this.#options = options
  }

  /** Sends a new status to all followers. */
  update(host: HostStatus): void {
    this.#host = host
    this.#notifyFollowers()
  }

  /** Ends the responses of all followers, which reconnect after the restart. */
  close(): void {
    for (const response of this.#followers) response.end()
  }

  async handle(path: string, message: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method } = message
    const requestRefusal = refusalOf(message) ?? routeRefusalOf(path, method)
    if (requestRefusal) return refuse(response, requestRefusal)
    if (path === '/studio/host') return this.#follow(message, response)
    const fault = await parseFault(message)
    if ('code' in fault) return refuse(response, fault)
    const refusal = this.#injectFault(fault, () => reply(response, 202, {}))
    if (refusal) refuse(response, refusal)
  }

  #follow(message: IncomingMessage, response: ServerResponse): void {
    if (this.#followers.size >= MAX_FOLLOWERS) {
      refuse(response, { status: 429, code: 'streams_limit', message: 'too many tabs are connected: close some' })
      return
    }
    this.#options.tabs.track(message, response)
    response.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream; charset=utf-8' })
    response.flushHeaders()
    this.#followers.add(response)
    const heartbeat = setInterval(() => response.write(':\n\n'), HEARTBEAT_MS)
    response.once('close', () => {
      clearInterval(heartbeat)
      this.#followers.delete(response)
    })
    if (this.#host) response.write(this.#statusEvent(this.#host))
  }

  /** Triggers a fault and calls `done`, which sends the response. Before `restart-server`, which cuts the connection, `done` is called first. */
  #injectFault(fault: Fault, done: () => void): Refusal | undefined {
    const { tabs, isSingleProcess, send } = this.#options
    switch (fault.fault) {
      case 'drop':
        tabs.drop(fault.tab)
        done()
        return undefined
      case 'delay': {
        if (!tabs.delay(fault.tab, fault.ms))
          return invalid('tab: too many tabs are delayed: set the delay of another tab to 0 first')
        this.delaysChanged()
        done()
        return undefined
      }
      case 'kill-worker':
        if (isSingleProcess)
          return invalid(
            'fault: the worker cannot be killed, because server and worker are one process with a memory store: use another store',
          )
        send({ type: 'fault', fault: fault.fault })
        done()
        return undefined
      case 'restart-server':
        done()
        send({ type: 'fault', fault: fault.fault })
        return undefined
    }
  }

  /** Reports changed delays. */
  delaysChanged(): void {
    const { send, tabs } = this.#options
    send({ type: 'delays', delays: tabs.delays })
    this.#notifyFollowers()
  }

  #notifyFollowers(): void {
    if (this.#host === undefined) return
    const event = this.#statusEvent(this.#host)
    for (const response of this.#followers) response.write(event)
  }

  #statusEvent(host: HostStatus): string {
    return `data: ${JSON.stringify({ ...host, delays: this.#options.tabs.delays })}\n\n`
  }
}

const HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }

function reply(response: ServerResponse, status: number, value: unknown): void {
  response
    .writeHead(status, { ...HEADERS, 'content-type': 'application/json; charset=utf-8' })
    .end(JSON.stringify(value))
}

const refuse = (response: ServerResponse, { status, code, message }: Refusal): void =>
  reply(response, status, { error: { code, message, retryable: false } })

const invalid = (message: string): Refusal => ({ status: 400, code: 'body_invalid', message })

function routeRefusalOf(path: string, method: string | undefined): Refusal | undefined {
  const expected = { '/studio/host': 'GET', '/studio/faults': 'POST' }[path]
  if (expected === undefined)
    return { status: 404, code: 'route_unknown', message: `expected /studio/host or /studio/faults, found ${path}` }
  return method === expected
    ? undefined
    : { status: 405, code: 'method_unknown', message: `expected ${expected}, found ${method}` }
}

/** Parses the fault of a request, or returns why it is invalid. */
async function parseFault(message: IncomingMessage): Promise<Fault | Refusal> {
  // No form and no plain text: a foreign page may send those without a CORS preflight.
  if (!/^application\/json\s*(;|$)/i.test(message.headers['content-type'] ?? '')) {
    return { status: 415, code: 'media_type_unknown', message: 'content-type: expected application/json' }
  }
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of message as AsyncIterable<Buffer>) {
    pieces.push(piece)
    length += piece.length
    if (length > MAX_BODY_BYTES)
      return { status: 413, code: 'body_too_large', message: `body: expected at most ${MAX_BODY_BYTES} bytes` }
  }
  let body: unknown
  try {
    body = JSON.parse(Buffer.concat(pieces).toString())
  } catch {
    return invalid('body: expected JSON')
  }
  const { fault, tab, ms, ...rest }: { [name: string]: unknown } = Object(body)
  /** Whether the body has exactly these fields beside `fault`. */
  const hasOnly = (...names: readonly string[]) =>
    Object.keys(rest).length === 0 &&
    names.includes('tab') === (tab !== undefined) &&
    names.includes('ms') === (ms !== undefined)
  if (fault === 'kill-worker' || fault === 'restart-server') {
    return hasOnly() ? { fault } : invalid(`${fault}: expected no field besides fault`)
  }
  if (fault !== 'drop' && fault !== 'delay') {
    return invalid('fault: expected drop, delay, kill-worker or restart-server')
  }
  if (!isTab(tab)) return invalid('tab: expected 1 to 64 letters, digits or underscores')
  if (fault === 'drop') return hasOnly('tab') ? { fault, tab } : invalid('drop: expected the fields fault and tab only')
  if (!hasOnly('tab', 'ms')) return invalid('delay: expected the fields fault, tab and ms only')
  if (typeof ms !== 'number' || !Number.isInteger(ms) || ms < 0 || ms > MAX_DELAY_MS) {
    return invalid(`ms: expected a whole number from 0 to ${MAX_DELAY_MS}`)
  }
  return { fault, tab, ms }
}
