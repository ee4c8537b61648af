// The host API of the studio's page: the status of the host, and faults.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Refused, refusalOf } from './loopback-guard.ts'
import type { ChildMessage, Host } from './messages.ts'
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
  readonly isAlone: boolean
  /** Sends a message to the supervisor. */
  send(message: ChildMessage): void
}

/** Handles requests below `/studio/`. */
export class Studio {
  readonly #options: StudioOptions
  readonly #followers = new Set<ServerResponse>()
  #host: Host | undefined

  constructor(options: StudioOptions) {
    this.#options = options
  }

  /** Sends a new status to all followers. */
  update(host: Host): void {
    this.#host = host
    this.#changed()
  }

  /** Ends the responses of all followers, which reconnect after the restart. */
  close(): void {
    for (const response of this.#followers) response.end()
  }

  async answer(path: string, message: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method } = message
    const why = refusalOf(message) ?? unknownOf(path, method)
    if (why) return refuse(response, why)
    if (path === '/studio/host') return this.#follow(message, response)
    const fault = await faultOf(message)
    if ('code' in fault) return refuse(response, fault)
    const refused = this.#cause(fault, () => reply(response, 202, {}))
    if (refused) refuse(response, refused)
  }

  #follow(message: IncomingMessage, response: ServerResponse): void {
    if (this.#followers.size >= MAX_FOLLOWERS) {
      refuse(response, { status: 429, code: 'streams_limit', message: 'too many tabs are connected: close some' })
      return
    }
    this.#options.tabs.note(message, response)
    response.writeHead(200, { ...PLAIN, 'content-type': 'text/event-stream; charset=utf-8' })
    response.flushHeaders()
    this.#followers.add(response)
    const beat = setInterval(() => response.write(':\n\n'), HEARTBEAT_MS)
    response.once('close', () => {
      clearInterval(beat)
      this.#followers.delete(response)
    })
    if (this.#host) response.write(this.#event(this.#host))
  }

  /** Triggers a fault after the response is sent, because the fault may cut the connection. */
  #cause(fault: Fault, done: () => void): Refused | undefined {
    const { tabs, isAlone, send } = this.#options
    switch (fault.fault) {
      case 'drop':
        tabs.drop(fault.tab)
        done()
        return undefined
      case 'delay': {
        if (!tabs.delay(fault.tab, fault.ms)) return invalid('tab: too many tabs are delayed: set others to 0 first')
        this.delaysChanged()
        done()
        return undefined
      }
      case 'kill-worker':
        if (isAlone)
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
    this.#changed()
  }

  #changed(): void {
    if (this.#host === undefined) return
    const event = this.#event(this.#host)
    for (const response of this.#followers) response.write(event)
  }

  #event(host: Host): string {
    return `data: ${JSON.stringify({ ...host, delays: this.#options.tabs.delays })}\n\n`
  }
}

const PLAIN = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }

function reply(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { ...PLAIN, 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(value))
}

const refuse = (response: ServerResponse, { status, code, message }: Refused): void =>
  reply(response, status, { error: { code, message, retryable: false } })

const invalid = (message: string): Refused => ({ status: 400, code: 'body_invalid', message })

function unknownOf(path: string, method: string | undefined): Refused | undefined {
  const expected = { '/studio/host': 'GET', '/studio/faults': 'POST' }[path]
  if (expected === undefined)
    return { status: 404, code: 'route_unknown', message: 'expected /studio/host or /studio/faults' }
  return method === expected ? undefined : { status: 405, code: 'method_unknown', message: `expected ${expected}` }
}

/** Parses the fault of a request, or returns why it is invalid. */
async function faultOf(message: IncomingMessage): Promise<Fault | Refused> {
  // No form and no plain text: a foreign page may send those without a CORS preflight.
  if (!/^application\/json\s*(;|$)/i.test(message.headers['content-type'] ?? '')) {
    return { status: 415, code: 'media_type_unknown', message: 'content-type: expected application/json' }
  }
  let text = ''
  message.setEncoding('utf8')
  for await (const piece of message) {
    text += piece
    if (text.length > MAX_BODY_BYTES) return { status: 413, code: 'body_too_large', message: 'body: expected a fault' }
  }
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return invalid('body: expected JSON')
  }
  const { fault, tab, ms, ...rest }: { [name: string]: unknown } = Object(body)
  const isOf = (...names: readonly string[]) =>
    Object.keys(rest).length === 0 &&
    names.includes('tab') === (tab !== undefined) &&
    names.includes('ms') === (ms !== undefined)
  if (fault === 'kill-worker' || fault === 'restart-server') {
    return isOf() ? { fault } : invalid(`${fault}: expected nothing beside it`)
  }
  if (fault !== 'drop' && fault !== 'delay') {
    return invalid('fault: expected drop, delay, kill-worker or restart-server')
  }
  if (!isTab(tab)) return invalid('tab: expected 1 to 64 word characters')
  if (fault === 'drop') return isOf('tab') ? { fault, tab } : invalid('drop: expected a tab, and nothing else')
  if (!isOf('tab', 'ms')) return invalid('delay: expected a tab and ms, and nothing else')
  if (typeof ms !== 'number' || !Number.isInteger(ms) || ms < 0 || ms > MAX_DELAY_MS) {
    return invalid(`ms: expected a whole number from 0 to ${MAX_DELAY_MS}`)
  }
  return { fault, tab, ms }
}
