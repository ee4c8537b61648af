import type { DecodedChunk, Dialect } from '@millrace/dialects'
import type { Chunk } from '@millrace/protocol'
import { expect, test } from 'vitest'
import { sampleChunks } from '../bench/fixtures/chunks.ts'
import { DIALECTS } from './dialects.fixture.ts'

const PAGE = '../docs/reference/dialects.md'

const OPENED: readonly Chunk[] = [
  { type: 'run-started', program: 'agent:writer@1' },
  { type: 'start' },
  { type: 'step-start' },
]
const CALLED: Chunk = { type: 'tool-input-start', toolCallId: 'c1', toolName: 'search' }
const ASKED: readonly Chunk[] = [
  CALLED,
  { type: 'tool-input-available', toolCallId: 'c1', toolName: 'search', input: { q: 'mill' } },
  { type: 'tool-approval-request', toolCallId: 'c1', approvalId: 'a1', input: { q: 'mill' } },
]

/** Chunks that must precede a chunk. */
function beforeOf({ type }: Chunk): readonly Chunk[] {
  if (/^(text|reasoning)-(delta|end)$/.test(type)) {
    const [kind] = type.split('-') as ['text' | 'reasoning']
    return [...OPENED, { type: `${kind}-start`, id: kind === 'text' ? 't1' : 'r1' }]
  }
  if (type === 'tool-input-start') return OPENED
  if (type.startsWith('tool-input-')) return [...OPENED, CALLED]
  if (type === 'tool-approval-request') return [...OPENED, ...ASKED.slice(0, -1)]
  return type.startsWith('tool-') || type.startsWith('subagent-') ? [...OPENED, ...ASKED] : OPENED
}

const ORIGIN = { runId: 'run-1', lane: 'main', agentId: 'run-1', agentType: 'writer', step: 1 }

test('the page lists the events of each dialect for each chunk', async () => {
  const samples = sampleChunks()
  const rows = samples.map(chunk => [`\`${chunk.type}\``, ...DIALECTS.map(dialect => cellOf(dialect, chunk))])
  const lost = DIALECTS.flatMap(dialect =>
    samples.filter(chunk => !isDecoded(dialect, chunk)).map(({ type }) => `- ${dialect.name}: \`${type}\``),
  )
  const page = `# Dialects by chunk

This table lists the events that each dialect sends for each chunk. Decoding returns exactly the chunk that was encoded: fields without a counterpart travel in an extension field,
and chunks without an event use the extension event of the dialect. Events that only open or close a block are sent when a client needs them. The
[guide](../guide/dialects.md) shows how to connect a client.

${table(['chunk', ...DIALECTS.map(({ name }) => name)], rows)}

## Chunks that do not survive a round trip

${lost.length === 0 ? 'None. Every chunk type survives encoding and decoding in every dialect.' : lost.join('\n')}
`
  await expect(page, 'the page is stale: run npm run generate and commit it').toMatchFileSnapshot(PAGE)
})

function eventsOf(dialect: Dialect<unknown>, chunk: Chunk): { readonly before: unknown[]; readonly events: unknown[] } {
  const encoder = dialect.encoder()
  let sequence = 0
  const encode = (one: Chunk) => [
    ...encoder.encode({ chunk: one, origin: ORIGIN, sequence: ++sequence, timestamp: 1_700_000_000_000 }),
  ]
  return { before: beforeOf(chunk).flatMap(encode), events: encode(chunk) }
}

function cellOf(dialect: Dialect<unknown>, chunk: Chunk): string {
  const names = eventsOf(dialect, chunk).events.map(nameOf)
  return names.length === 0 ? '' : [...new Set(names)].map(name => `\`${name}\``).join(', ')
}

/** Type of an event, also inside an envelope. For custom events it includes the name. */
function nameOf(event: unknown): string {
  const { chunk = event } = event as { chunk?: unknown }
  const { type, name, eventName } = chunk as { type: string; name?: string; eventName?: string }
  return /^custom$/i.test(type) ? `${type} ${name ?? eventName}` : type
}

function isDecoded(dialect: Dialect<unknown>, chunk: Chunk): boolean {
  const { before, events } = eventsOf(dialect, chunk)
  const decoder = dialect.decoder()
  const json = (event: unknown): unknown => JSON.parse(JSON.stringify(event))
  for (const event of before) decoder.decode(json(event))
  const received = events.flatMap(event => decoder.decode(json(event)).map(({ chunk }: DecodedChunk) => chunk))
  return JSON.stringify(sorted(received)) === JSON.stringify(sorted([chunk]))
}

/** Keys in one order. */
const sorted = (value: unknown): unknown =>
  typeof value !== 'object' || value === null
    ? value
    : Array.isArray(value)
      ? value.map(sorted)
      : Object.fromEntries(
          Object.entries(value)
            .sort(([a], [b]) => (a < b ? -1 : 1))
            .map(([key, item]) => [key, sorted(item)]),
        )

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n')
