// A server in this process, without a network between: what goes wrong is what a test lets go wrong.

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

/** Says what it was told, slowly where that is “Slowly”; asks where that is “Sell” or “Where”. */
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

/** What becomes of a request: a reply in place of the server's, or nothing; it may throw. */
type Meddle = (path: string, body: unknown) => Response | Promise<Response> | undefined

export class Mill {
  readonly app: App
  /** Of all requests: method and path below the session, with the body. */
  readonly asked: { readonly what: string; readonly body: unknown }[] = []
  meddle: Meddle = () => undefined
  readonly #cuts: (() => void)[] = []

  constructor() {
    const logger = { warn() {}, error() {} }
    this.app = millrace({ store: memoryStore(), agents: [echo], engine: { pollMs: 20 }, logger })
    onTestFinished(() => this.app.close())
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const url = new URL(String(input))
    const body = typeof init?.body === 'string' ? JSON.parse(init.body) : undefined
    const what = `${init?.method} ${url.pathname.replace(/^\/api\/sessions\/[^/]+/, '')}`
    this.asked.push({ what, body })
    const reply = (await this.meddle(what, body)) ?? (await this.app.fetch(new Request(url, init as RequestInit)))
    if (!reply.ok || !reply.body || !what.endsWith('/stream')) return reply
    const wire = new TransformStream<Uint8Array, Uint8Array>({
      start: controller => void this.#cuts.push(() => controller.error(new TypeError('the line is dead'))),
    })
    return new Response(reply.body.pipeThrough(wire), { headers: reply.headers })
  }

  /** Cuts all streams there are. */
  cut(): void {
    for (const cut of this.#cuts.splice(0)) cut()
  }

  /** What was asked of that path. */
  bodies(what: string): unknown[] {
    return this.asked.filter(asked => asked.what === what).map(({ body }) => body)
  }

  /** A tab with one chat, left with its test. */
  chat(options: Partial<ChatOptions> = {}): HttpChat {
    const connection = createConnection({
      api: 'http://localhost:4400/api',
      fetch: this.fetch,
      backoff: { first: 1, longest: 5 },
    })
    const chat = new HttpChat({ agent: 'echo', connection, streamFlushInterval: 0, ...options })
    const leave = chat.start()
    onTestFinished(() => leave())
    return chat
  }
}

/** Waits until it holds of a chat. */
export function until(chat: HttpChat, holds: () => boolean): Promise<void> {
  return new Promise(resolve => {
    const look = () => {
      if (!holds()) return
      for (const leave of leaves) leave()
      resolve()
    }
    const leaves = [chat.store.subscribe(['any'], look), chat.subscribe(look)]
    look()
  })
}

/** Waits for the next end of a run. */
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

/** What is shown: who says what, and how it stands with it. */
export const shown = (chat: HttpChat): string[] =>
  chat.store.messages.map(({ role, status, parts }) => {
    const texts = parts.flatMap(part => ('text' in part ? part.text : []))
    return `${role} ${status}: ${texts.join('')}`
  })
