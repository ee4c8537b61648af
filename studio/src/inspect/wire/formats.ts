import type { StreamEvent } from '@millrace/dialects/helix'
import type { Entry } from '@millrace/protocol'
import { nativeEncoder } from './native-encoder.ts'
import { eventOf, type WireFormat, type WireRun, wireEncoder } from './wire-encoder.ts'

const DONE = ['data: [DONE]\n\n']

/** All wire formats, those of Millrace first. */
export const formats: readonly WireFormat[] = [
  { id: 'sse', name: 'Millrace, SSE', load: async () => run => nativeEncoder('sse', run) },
  { id: 'ndjson', name: 'Millrace, NDJSON', load: async () => run => nativeEncoder('ndjson', run) },
  {
    id: 'ai-sdk',
    name: 'AI SDK',
    load: async () => {
      const { aiSdkDialect } = await import('@millrace/dialects/ai-sdk')
      return ({ runId }) => wireEncoder(aiSdkDialect.encoder({ runId }), { closing: DONE })
    },
  },
  {
    id: 'ag-ui',
    name: 'AG-UI',
    load: async () => {
      const { AgUiEncoder, aguiMessagesOf } = await import('@millrace/dialects/ag-ui')
      return run => wireEncoder(new AgUiEncoder({ ...idsOf(run), before: beforeOf(run, aguiMessagesOf) }))
    },
  },
  {
    id: 'mui',
    name: 'MUI X Chat',
    load: async () => {
      const { muiDialect } = await import('./mui.ts')
      const write = (chunk: unknown, eventId: string) => eventOf({ eventId, chunk })
      return ({ runId }) => wireEncoder(muiDialect.encoder({ runId }), { write })
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
      const write = (event: unknown, eventId: string) => `id: ${eventId}\n${eventOf(event)}`
      return run =>
        wireEncoder(new TanstackAgUiEncoder({ ...idsOf(run), before: beforeOf(run, aguiMessagesOf) }), { write })
    },
  },
  {
    // Without `content=empty` each chunk repeats the whole text, which is too long to show.
    id: 'tanstack',
    name: 'TanStack AI up to 0.2, content=empty',
    load: async () => {
      const { tanstackDialect } = await import('@millrace/dialects/tanstack')
      return () => wireEncoder(tanstackDialect.encoder({ content: 'empty' }), { closing: DONE })
    },
  },
  {
    id: 'kortyx',
    name: 'Kortyx',
    load: async () => {
      const { kortyxDialect } = await import('@millrace/dialects/kortyx')
      return ({ sessionId, turn }) =>
        wireEncoder(kortyxDialect.encoder({ sessionId, turnIndex: turn }), { closing: DONE })
    },
  },
  {
    id: 'helix',
    name: 'Helix Agents',
    load: async () => {
      const { helixDialect } = await import('@millrace/dialects/helix')
      const write = (event: StreamEvent, _: string, entry: Entry | undefined) =>
        `${event.type === 'chunk' ? `id: ${event.sequence}\n` : event.type === 'end' && entry ? `id: ${entry.sequence}\n` : ''}${eventOf(event)}`
      return ({ runId }) => wireEncoder(helixDialect.encoder({ runId }), { write })
    },
  },
]

const idsOf = ({ sessionId, runId }: WireRun) => ({ runId, echo: { threadId: sessionId, runId } })

/** The messages of a client before the run. They are sent again only after a rewind or discard. */
const beforeOf = <Messages>(run: WireRun, messagesOf: (view: ReturnType<WireRun['before']>) => Messages) => ({
  messages: messagesOf(run.before()),
  isNew: false,
})
