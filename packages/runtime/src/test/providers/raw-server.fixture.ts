import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Usage } from '@millrace/protocol'

/** One scripted reply of a raw server. */
export interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string
  /** Cuts the connection after this many bytes. */
  readonly cutAt?: number
}

interface ReceivedRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Readonly<Record<string, unknown>>
}

/** A server on loopback that sends these replies in order, then repeats the last. Records its requests in `requests`. */
export async function rawServer(...replies: readonly Reply[]) {
  const requests: ReceivedRequest[] = []
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const { url: path = '', headers } = request
    const body = JSON.parse(Buffer.concat(pieces).toString() || 'null')
    const at = requests.push({ path, headers, body }) - 1
    sendReply(response, (replies[at] ?? replies.at(-1)) as Reply)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

function sendReply(response: ServerResponse, { status = 200, headers = {}, body, cutAt }: Reply): void {
  const type = body.startsWith('{') ? 'application/json' : 'text/event-stream'
  response.writeHead(status, { 'content-type': type, ...headers })
  if (cutAt === undefined) response.end(body)
  else response.write(Buffer.from(body).subarray(0, cutAt), () => response.socket?.destroy())
}

/** The wire format of a provider. */
export interface Wire {
  readonly name: string
  readonly text: (words: readonly string[]) => string
  readonly error: (status: number, type: string) => Reply
  /** An error in the middle of a stream, after this text. */
  readonly broken: (words: readonly string[], type: string) => string
  /** The usage at the start of an answer. */
  readonly startUsage: Usage
}

const SECRET = 'the provider says sk-secret'

export const openaiWire: Wire = {
  name: 'openai-compatible',
  startUsage: {},
  text: words =>
    openai(
      ...words.map(content => ({ choices: [{ index: 0, delta: { role: 'assistant', content } }] })),
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      {
        choices: [],
        usage: { prompt_tokens: 20, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 8 } },
      },
    ),
  error: (status, type) => ({ status, body: JSON.stringify({ error: { message: SECRET, type, code: null } }) }),
  broken: (words, type) =>
    openai(...words.map(content => ({ choices: [{ index: 0, delta: { content } }] })), {
      error: { message: SECRET, type, code: null },
    }),
}

const openai = (...chunks: readonly object[]): string =>
  `${chunks
    .map(chunk => ({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', ...chunk }))
    .map(chunk => `data: ${JSON.stringify(chunk)}\n\n`)
    .join('')}data: [DONE]\n\n`

export const anthropicWire: Wire = {
  name: 'anthropic',
  startUsage: { inputTokens: 20, outputTokens: 1, totalTokens: 21, cachedTokens: 8, cacheWriteTokens: 0 },
  text: words => anthropic([{ type: 'text', text: '' }, words.map(text => ({ type: 'text_delta', text }))]),
  error: (status, type) => ({ status, body: JSON.stringify({ type: 'error', error: { type, message: SECRET } }) }),
  broken: (words, type) => {
    const complete = anthropicWire.text(words)
    const error = { type: 'error', error: { type, message: SECRET } }
    return `${complete.slice(0, complete.indexOf('event: content_block_stop'))}event: error\ndata: ${JSON.stringify(error)}\n\n`
  },
}

/** An answer of content blocks, each with its start and its deltas. */
export function anthropic(...blocks: readonly (readonly [object, readonly object[]])[]): string {
  const calls = blocks.some(([block]) => 'type' in block && block.type === 'tool_use')
  const usage = { input_tokens: 12, cache_read_input_tokens: 8, cache_creation_input_tokens: 0, output_tokens: 1 }
  const events: { type: string; [key: string]: unknown }[] = [
    {
      type: 'message_start',
      message: {
        id: 'x',
        type: 'message',
        role: 'assistant',
        model: 'm',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage,
      },
    },
    { type: 'ping' },
    ...blocks.flatMap(([content_block, deltas], index) => [
      { type: 'content_block_start', index, content_block },
      ...deltas.map(delta => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: calls ? 'tool_use' : 'end_turn', stop_sequence: null },
      usage: { output_tokens: 5 },
    },
    { type: 'message_stop' },
  ]
  return events.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}
