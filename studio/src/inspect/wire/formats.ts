import type { StreamEvent } from '@millrace/dialects/helix'
import type { Entry } from '@millrace/protocol'
import { nativeSpeaker } from './native.ts'
import { eventOf, type Said, speakerOf, type WireFormat } from './speaker.ts'

const DONE = ['data: [DONE]\n\n']

/** All ways in which a run can be carried, those of Millrace first. */
export const formats: readonly WireFormat[] = [
  { id: 'sse', name: 'Millrace, SSE', load: async () => said => nativeSpeaker('sse', said) },
  { id: 'ndjson', name: 'Millrace, NDJSON', load: async () => said => nativeSpeaker('ndjson', said) },
  {
    id: 'ai-sdk',
    name: 'AI SDK',
    load: async () => {
      const { aiSdkDialect } = await import('@millrace/dialects/ai-sdk')
      return ({ runId }) => speakerOf(aiSdkDialect.encoder({ runId }), { closing: DONE })
    },
  },
  {
    id: 'ag-ui',
    name: 'AG-UI',
    load: async () => {
      const { AgUiEncoder, aguiMessagesOf } = await import('@millrace/dialects/ag-ui')
      return said => speakerOf(new AgUiEncoder({ ...named(said), before: beforeOf(said, aguiMessagesOf) }))
    },
  },
  {
    id: 'mui',
    name: 'MUI X Chat',
    load: async () => {
      const { muiDialect } = await import('./mui.ts')
      const write = (chunk: unknown, eventId: string) => eventOf({ eventId, chunk })
      return ({ runId }) => speakerOf(muiDialect.encoder({ runId }), { write })
    },
  },
  {
    id: 'tanstack-ag-ui',
    name: 'TanStack AI',
    load: async () => {
      const [{ TanstackAgUiEncoder }, { aguiMessagesOf }] = await Promise.all([
        import('@millrace/dialects/tanstack'),
        import('@millrace/dialects/ag-ui'),
      ])
      const write = (event: unknown, place: string) => `id: ${place}\n${eventOf(event)}`
      return said =>
        speakerOf(new TanstackAgUiEncoder({ ...named(said), before: beforeOf(said, aguiMessagesOf) }), { write })
    },
  },
  {
    // With all of the text so far in each chunk, as older clients may ask for, a long answer would be too long to show.
    id: 'tanstack',
    name: 'TanStack AI up to 0.2, content=empty',
    load: async () => {
      const { tanstackDialect } = await import('@millrace/dialects/tanstack')
      return () => speakerOf(tanstackDialect.encoder({ content: 'empty' }), { closing: DONE })
    },
  },
  {
    id: 'kortyx',
    name: 'Kortyx',
    load: async () => {
      const { kortyxDialect } = await import('@millrace/dialects/kortyx')
      return ({ sessionId, turn }) =>
        speakerOf(kortyxDialect.encoder({ sessionId, turnIndex: turn }), { closing: DONE })
    },
  },
  {
    id: 'helix',
    name: 'Helix Agents',
    load: async () => {
      const { helixDialect } = await import('@millrace/dialects/helix')
      const write = (event: StreamEvent, _: string, entry: Entry | undefined) =>
        `${event.type === 'chunk' ? `id: ${event.sequence}\n` : event.type === 'end' && entry ? `id: ${entry.sequence}\n` : ''}${eventOf(event)}`
      return ({ runId }) => speakerOf(helixDialect.encoder({ runId }), { write })
    },
  },
]

const named = ({ sessionId, runId }: Said) => ({ runId, echo: { threadId: sessionId, runId } })

/** What a client had before the run: it is told of it again only where something is taken back. */
const beforeOf = <Messages>(said: Said, messagesOf: (view: ReturnType<Said['before']>) => Messages) => ({
  messages: messagesOf(said.before()),
  isNew: false,
})
