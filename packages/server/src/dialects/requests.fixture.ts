// Requests of each dialect's client: how it sends a user message, and how it resumes a run.

import type { TestRequest } from '../routing/two-user-server.fixture.ts'

/** A message, its session and its program. */
export interface PostedMessage {
  readonly session: string
  readonly text: string
  readonly agent?: string
  readonly id?: string
  /** Role of the message. @default user */
  readonly role?: string
  /** Earlier messages, as the client shows them. */
  readonly before?: readonly { readonly id: string; readonly role: string; readonly text: string }[]
}

const SSE = { accept: 'text/event-stream' }

const input = ({ session, text, id = text, role = 'user', before = [] }: PostedMessage) => ({
  threadId: session,
  runId: `run-${id}`,
  state: {},
  messages: [
    ...before.map(message => ({ id: message.id, role: message.role, content: message.text })),
    { id, role, content: text },
  ],
  tools: [],
  context: [],
  forwardedProps: {},
})

const parts = (text: string) => [{ type: 'text', text }]

/** A request of each dialect. */
export const POST_REQUESTS: Readonly<Record<string, (message: PostedMessage) => TestRequest>> = {
  'ai-sdk': ({ session, text, agent = 'echo', id = text, role = 'user', before = [] }) => ({
    path: `/api/ai-sdk/${agent}`,
    body: {
      id: session,
      messages: [...before, { id, role, text }].map(({ text: words, ...message }) => ({
        ...message,
        parts: parts(words),
      })),
    },
  }),
  mui: ({ session, text, agent = 'echo', id = text, role = 'user' }) => ({
    path: `/api/mui/${agent}`,
    body: { conversationId: session, message: { id, role, parts: parts(text) } },
  }),
  'ag-ui': message => ({ path: `/api/ag-ui/${message.agent ?? 'echo'}`, body: input(message) }),
  'tanstack since 0.10': message => ({
    path: `/api/tanstack/${message.agent ?? 'echo'}`,
    body: input(message),
    headers: SSE,
  }),
  'tanstack up to 0.2': ({ session, text, agent = 'echo', role = 'user', before = [] }) => ({
    path: `/api/tanstack/${agent}`,
    body: {
      messages: [...before, { role, text }].map(message => ({ role: message.role, content: message.text })),
      data: { conversationId: session },
    },
    headers: SSE,
  }),
  kortyx: ({ session, text, agent = 'echo', id = text, role = 'user', before = [] }) => ({
    path: `/api/kortyx/${agent}`,
    body: {
      sessionId: session,
      messages: [...before, { id, role, text }].map(({ text: content, ...message }) => ({ ...message, content })),
    },
  }),
  helix: ({ session, text, agent = 'echo', id = text }) => ({
    path: `/api/helix/${agent}/start`,
    body: { sessionId: session, message: text, messageId: id },
    headers: SSE,
  }),
}

/** How clients resume a run: from its start, or from a position. */
export const RESUME_REQUESTS: Readonly<
  Record<string, (session: string, run: string, eventId?: string) => TestRequest>
> = {
  'ai-sdk': (session, run, eventId) => ({
    path: `/api/ai-sdk/echo/${session}/stream?run=${run}`,
    ...(eventId !== undefined && { headers: { 'last-event-id': eventId } }),
  }),
  mui: (session, run, after = '') => ({ path: `/api/mui/echo/${session}/stream?run=${run}&after=${after}` }),
  'ag-ui': (session, run, after = '') => ({ path: `/api/ag-ui/echo/${session}/stream?run=${run}&after=${after}` }),
  'tanstack since 0.10': (session, run, offset = '-1') => ({
    path: `/api/tanstack/echo?threadId=${session}&runId=${run}&offset=${offset}`,
    headers: SSE,
  }),
}
