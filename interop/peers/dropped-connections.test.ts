// A connection that is cut after any byte: the answer is resumed if the server can, and is never repeated, shown with a gap, or taken for complete (laws 2 and 7).

import { type Chat, createChat } from '@millrace/client'
import { aiSdk } from '@millrace/dialects/ai-sdk'
import type { ForeignConnection } from '@millrace/dialects/foreign-server'
import { helix } from '@millrace/dialects/helix'
import { tanstack } from '@millrace/dialects/tanstack'
import { expect, onTestFinished, test } from 'vitest'
import { openBackend } from '../backend.fixture.ts'

const textOf = ({ store }: Chat): string =>
  store.messages
    .filter(({ role }) => role === 'assistant')
    .flatMap(({ parts }) => parts.flatMap(part => (part.type === 'text' ? [part.text] : [])))
    .join('|')

/** A fetch that cuts its first response after some bytes. */
class Cutting {
  /** Text before the cut. */
  received = ''
  readonly cut = Promise.withResolvers<true>()
  /** Resolves on the second response. */
  readonly again = Promise.withResolvers<void>()
  readonly #bytes: number
  #responses = 0

  constructor(bytes: number) {
    this.#bytes = bytes
  }

  readonly fetch: typeof fetch = async (url, init) => {
    const response = await fetch(url as string, init)
    if (++this.#responses > 1) this.again.resolve()
    return this.#responses > 1 || !response.body ? response : new Response(this.#cut(response.body), response)
  }

  #cut(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const reader = body.getReader()
    let left = this.#bytes
    return new ReadableStream<Uint8Array>({
      pull: async controller => {
        const { value } = left > 0 ? await reader.read() : { value: undefined }
        if (value) {
          const piece = value.subarray(0, left)
          left -= piece.length
          this.received += new TextDecoder().decode(piece)
          // A response that is cut at once is not read.
          controller.enqueue(piece)
          return
        }
        reader.cancel().catch(() => {})
        this.cut.resolve(true)
        controller.error(new TypeError('terminated'))
      },
    })
  }
}

const CUTS: [string, (options: { api: string; fetch: typeof fetch }) => ForeignConnection][] = [
  ['ai-sdk', options => aiSdk({ ...options, resume: true })],
  ['tanstack', tanstack],
  ['helix', helix],
]

test.each(CUTS)('%s', async (name, connect) => {
  for (let at = 0; at < 900; at += 61) {
    const backend = await openBackend()
    const api = `${backend.url}/api/${name}/holder`
    const cutting = new Cutting(at)
    const chat = createChat({ connection: connect({ api, fetch: cutting.fetch }) })
    onTestFinished(chat.start())
    const finished = new Promise<boolean>(resolve => {
      chat.callbacks = { onFinish: ({ isError }) => resolve(isError) }
    })
    await chat.sendMessage('hold')
    await backend.gate.reached
    const isWhole = expect.poll(() => textOf(chat)).toBe('one two ')
    const isDropped = await Promise.race([cutting.cut.promise, isWhole.then(() => false)])
    // The rest is produced only after a reconnect, because a finished answer can no longer be resumed.
    if (isDropped) await Promise.race([cutting.again.promise, finished])
    backend.gate.open()
    const isError = await finished
    if (isError) expect([at, chat.state.error]).toMatchObject([at, { code: 'connection_lost' }])
    else expect([at, textOf(chat)]).toEqual([at, 'one two three four'])
    expect(backend.calls['holder']).toBe(1)
    // Servers of TanStack AI and Helix resume by event ids. Without an id there is no position, and a new request could run again.
    const canResume = name === 'ai-sdk' || /^id: .*\n(?:.+\n)*\n/m.test(cutting.received)
    if (isDropped && canResume) expect([at, isError]).toEqual([at, false])
  }
})
