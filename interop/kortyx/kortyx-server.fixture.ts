// A Kortyx server, written after its documentation: each text has a segment and a hook use, a stream has at most one interrupt, and a token is valid once.

import type { StreamChunk } from '@millrace/dialects/kortyx'
import { type ChatRequest, ChatRequestSchema, resumeIn } from '@millrace/dialects/kortyx/schemas'
import { type Listening, listen } from '../peers/listen.fixture.ts'

export interface KortyxServer extends Listening {
  readonly requests: readonly ChatRequest[]
}

const text = (delta: string, node = 'chat'): StreamChunk[] => {
  const about = { node, opId: `op-${delta.length}`, segmentId: '0' }
  return [
    { type: 'text-start', ...about },
    ...[...delta].map((letter): StreamChunk => ({ type: 'text-delta', delta: letter, ...about })),
    { type: 'text-end', ...about },
  ]
}

const TOKEN = 'token-1'

function answerTo(body: ChatRequest): StreamChunk[] {
  const { content = '' } = body.messages.at(-1) ?? {}
  const resume = resumeIn(body)
  if (resume?.token === TOKEN) return [{ type: 'message', node: 'ask', content: `You chose ${resume.selected}.` }]
  const draft = { type: 'structured-data', streamId: 'draft', dataType: 'mail' } as const
  switch (content) {
    case 'ask':
      return [
        {
          type: 'interrupt',
          requestId: 'human-1',
          resumeToken: TOKEN,
          input: { kind: 'choice', multiple: false, question: 'Which?', options: [{ id: 'rye', label: 'Rye' }] },
        },
      ]
    case 'draft':
      return [
        { ...draft, kind: 'set', path: 'subject', value: 'Flour' },
        { ...draft, kind: 'text-delta', path: 'body', delta: 'Two' },
        { ...draft, kind: 'append', path: 'bullets', items: ['rye'] },
        { ...draft, kind: 'final', data: { subject: 'Flour', body: 'Two sacks' } },
      ]
    case 'call': {
      const call = { tool: 'weigh', toolCallId: 'c1' }
      return [
        { type: 'tool-call-start', ...call, input: { what: 'rye' } },
        { type: 'tool-call-result', ...call, content: '{"kilos":4}', structuredContent: { kilos: 4 } },
        ...text('Four.'),
        // Streamed text is not repeated.
        { type: 'message', node: 'chat', content: 'Four.' },
      ]
    }
    case 'fail':
      return [...text('It began'), { type: 'error', message: 'no more' }]
    default:
      return text(`You said: ${content}`)
  }
}

/** Starts a server until the end of the test. */
export async function openKortyx(): Promise<KortyxServer> {
  const requests: ChatRequest[] = []
  const server = await listen(async request => {
    const body = ChatRequestSchema.parse(await request.json())
    requests.push(body)
    const replyChunks = answerTo(body)
    const isFailed = replyChunks.some(({ type }) => type === 'error')
    const sessionId = body.sessionId ?? ''
    const checkpoint = {
      type: 'checkpoint',
      id: `cp-${requests.length}`,
      sessionId,
      turnIndex: requests.length,
    } as const
    const chunks: StreamChunk[] = [
      { type: 'session', sessionId },
      ...replyChunks,
      ...(isFailed ? [] : [checkpoint]),
      { type: 'done', data: { input: 'the state that its run began with' } },
    ]
    const events = [...chunks.map(chunk => JSON.stringify(chunk)), '[DONE]'].map(data => `data: ${data}\n\n`)
    return new Response(events.join(''), { headers: { 'content-type': 'text/event-stream' } })
  })
  return { ...server, requests }
}
