// A server in this process without a network. Tests inject faults by `intercept` and `cutStreams`.

import { memoryStore } from '@millrace/log'
import { agent, scriptedModel, tool } from '@millrace/runtime'
import { type App, millrace } from '@millrace/server'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { createConnection } from '../connection/page-connection.ts'
import type { ChatFinish } from './callbacks.ts'
import { type ChatOptions, HttpChat } from './http-chat.ts'

const sell = tool({
  name: 'sell',
  inputSchema: z.object({ what: z.string() }),
  approval: true,
  execute: ({ what }) => what,
})
const locate = tool({ name: 'locate', inputSchema: z.object({ near: z.string() }), client: true })

/** Repeats the user's text. Waits for an abort after “Slowly”, calls a tool with approval after “Sell” and a client tool after “Where”. */
const echo = agent({
  name: 'echo',
  model: scriptedModel(
    async ({ lastText, turnAnswers, key, options }) => {
      if (turnAnswers > 0) return { text: 'So be it.' }
      if (lastText.startsWith('Sell')) return { calls: [{ name: 'sell', input: { what: 'flour' }, id: `${key}-s` }] }
      if (lastText.startsWith('Where')) {
        const near = lastText.length > 10 ? 'x'.repeat(100_000) : 'here'
        return { text: 'Well.', calls: [{ name: 'locate', input: { near }, id: `${key}-l` }] }
      }
      if (lastText === 'Slowly') {
        await new Promise<void>(resolve => options.abortSignal?.addEventListener('abort', () => resolve()))
        return { text: 'Too late.' }
      }
      return { text: `You said: ${lastText}` }
    },
    { paceMs: 1 },
  ),
  tools: [sell, locate],
})

/** Returns a response in place of the server's, or undefined. May throw. */
type Interceptor = (route: string, body: unknown) => Response | Promise<Response> | undefined

export class InProcessServer {
  readonly app: App
  /** All requests. `route` is the method and the path below the session. */
  readonly requests: { readonly route: string; readonly body: unknown }[] = []
  intercept: Interceptor = () => undefined
  readonly #cuts: (() => void)[] = []

  constructor() {
    const logger = { warn() {}, error() {} }
    this.app = millrace({ store: memoryStore(), agents: [echo], engine: { pollMs: 20 }, logger })
    onTestFinished(() => this.app.close())
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const url = new URL(String(input))
    const body = typeof init?.body === 'string' ? JSON.parse(init.body) : undefined
    const route = `${init?.method} ${url.pathname.replace(/^\/api\/sessions\/[^/]+/, '')}`
    this.requests.push({ route, body })
    const reply = (await this.intercept(route, body)) ?? (await this.app.fetch(new Request(url, init as RequestInit)))
    if (!reply.ok || !reply.body || !route.endsWith('/stream')) return reply
    const wire = new TransformStream<Uint8Array, Uint8Array>({
      start: controller => void this.#cuts.push(() => controller.error(new TypeError('connection lost'))),
    })
    return new Response(reply.body.pipeThrough(wire), { headers: reply.headers })
  }

  /** Breaks all open streams. */
  cutStreams(): void {
    for (const cut of this.#cuts.splice(0)) cut()
  }

  /** Bodies of all requests to a route. */
  bodies(route: string): unknown[] {
    return this.requests.filter(request => request.route === route).map(({ body }) => body)
  }

  /** Starts a chat with its own connection, as in a tab. Stops it with the test. */
  chat(options: Partial<ChatOptions> = {}): HttpChat {
    const connection = createConnection({
      api: 'http://localhost:4400/api',
      fetch: this.fetch,
      backoff: { firstMs: 1, longestMs: 5 },
    })
    const chat = new HttpChat({ agent: 'echo', connection, streamFlushInterval: 0, ...options })
    const stop = chat.start()
    onTestFinished(() => stop())
    return chat
  }
}

/** Resolves when the condition holds for the chat. */
export function until(chat: HttpChat, condition: () => boolean): Promise<void> {
  return new Promise(resolve => {
    const check = () => {
      if (!condition()) return
      for (const unsubscribe of subscriptions) unsubscribe()
      resolve()
    }
    const subscriptions = [chat.store.subscribe(['any'], check), chat.subscribe(check)]
    check()
  })
}

/** Resolves with the next `onFinish`. */
export function finished(chat: HttpChat): Promise<ChatFinish> {
  return new Promise(resolve => {
    const { callbacks } = chat
    chat.callbacks = {
      ...callbacks,
      onFinish: finish => {
        chat.callbacks = callbacks
        resolve(finish)
        callbacks.onFinish?.(finish)
      },
    }
  })
}

/** Role, status and text of each message. */
export const transcript = (chat: HttpChat): string[] =>
  chat.store.messages.map(({ role, status, parts }) => {
    const texts = parts.flatMap(part => ('text' in part ? part.text : []))
    return `${role} ${status}: ${texts.join('')}`
  })
