import type { DecodedChunk, Decoder } from '@millrace/dialects'
import { agUiDialect } from '@millrace/dialects/ag-ui'
import { aiSdkDialect } from '@millrace/dialects/ai-sdk'
import { helixDialect } from '@millrace/dialects/helix'
import { kortyxDialect } from '@millrace/dialects/kortyx'
import { muiDialect } from '@millrace/dialects/mui'
import { tanstackAgUiDialect, tanstackDialect } from '@millrace/dialects/tanstack'
import { type Entry, type Frame, foldLog, NdjsonDecoder, SseDecoder } from '@millrace/protocol'
import fc from 'fast-check'
import {
  agent,
  createRuntime,
  memoryStore,
  type NodeContext,
  scriptedModel,
  useInterrupt,
  useReason,
  workflow,
} from 'millrace'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { formats } from './formats.ts'
import { lineOf, Wire } from './wire.ts'
import type { WireRun } from './wire-encoder.ts'

const model = scriptedModel(({ lastText }) => ({ text: `You run: ${lastText}` }))

const asks = workflow({
  id: 'asks',
  nodes: {
    ask: async (_: NodeContext<string>) => {
      const name = await useInterrupt({ id: 'name', request: { kind: 'text', question: 'Who is there?' } })
      const { text } = await useReason({ model, input: String(name) })
      return { data: text }
    },
  },
  edges: [
    ['start', 'ask'],
    ['ask', 'end'],
  ],
})

const runtime = createRuntime({ store: memoryStore(), agents: [agent({ name: 'echo', model })], workflows: [asks] })
const entries: Entry[] = []
/** The runs of the log: one that completes, and one that pauses for an answer. */
let runs: string[] = []

beforeAll(async () => {
  const first = await runtime.start({ session: 's', agent: 'echo', input: 'Hello' })
  await first.result()
  const asking = await runtime.start({ session: 's', workflow: 'asks', input: 'Ask' })
  const { pendings } = await asking.result()
  await runtime.answer('s', { kind: 'interrupt', id: pendings[0]?.id ?? '', response: 'Ann' })
  await asking.result()
  for (const run of [first, asking]) for await (const { cursor, ...entry } of run.stream()) entries.push(entry)
  runs = [first.runId, asking.runId]
})
afterAll(() => runtime.close())

const wireRunOf = (runId: string): WireRun => ({
  sessionId: 's',
  runId,
  turn: runs.indexOf(runId) + 1,
  before: () =>
    foldLog(
      entries.slice(
        0,
        entries.findIndex(({ origin }) => origin.runId === runId),
      ),
    ).view(),
})

async function wireOf(id: string, runId: string): Promise<Wire> {
  const format = formats.find(format => format.id === id)
  if (format === undefined) throw new Error(`unknown format ${id}`)
  const createEncoder = await format.load()
  return new Wire(runId, () => createEncoder(wireRunOf(runId)))
}

/** The text of each connection. */
function connectionsOf({ lines }: Wire): string[] {
  const texts = ['']
  for (const { text = '', isConnection } of lines) {
    if (isConnection) texts.push('')
    texts[texts.length - 1] += text
  }
  return texts
}

const ofRun = (runId: string): Entry[] => entries.filter(({ origin }) => origin.runId === runId)

describe.each([
  ['ai-sdk', () => aiSdkDialect.decoder()],
  ['ag-ui', () => agUiDialect.decoder()],
  ['mui', () => muiDialect.decoder()],
  ['tanstack-ag-ui', () => tanstackAgUiDialect.decoder()],
  ['tanstack', () => tanstackDialect.decoder()],
  ['kortyx', () => kortyxDialect.decoder()],
  ['helix', () => helixDialect.decoder()],
] as [string, () => Decoder<unknown>][])('%s', (id, decoderOf) => {
  const decode = (text: string) => {
    const decoder = decoderOf()
    const chunks: DecodedChunk[] = []
    for (const line of text.split('\n')) {
      if (line.startsWith('data: ') && line !== 'data: [DONE]')
        chunks.push(...decoder.decode(JSON.parse(line.slice(6))))
    }
    return {
      status: decoder.status,
      text: chunks.map(({ chunk }) => (chunk.type === 'text-delta' ? chunk.delta : '')).join(''),
    }
  }

  test('is decoded by its own decoder', async () => {
    const [runId = ''] = runs
    const wire = await wireOf(id, runId)
    expect(wire.take(entries, entries.length)).toBe(true)
    expect(decode(connectionsOf(wire).join(''))).toEqual({ status: 'completed', text: 'You run: Hello' })
    const sequences = ofRun(runId).map(({ sequence }) => sequence)
    expect([...new Set(wire.lines.map(({ sequence }) => sequence))]).toEqual(sequences)
    expect(wire.bytes).toBe(new TextEncoder().encode(connectionsOf(wire).join('')).length)
  })

  test('resumes a paused run on a new connection', async () => {
    const runId = runs[1] ?? ''
    const wire = await wireOf(id, runId)
    wire.take(entries, entries.length)
    const [first = '', second = '', ...more] = connectionsOf(wire)
    expect(more).toEqual([])
    expect(decode(first).status).toBe('paused')
    expect(decode(second).status).toBe('completed')
  })

  test('encodes the same however the log is split', async () => {
    const whole = await wireOf(id, runs[1] ?? '')
    whole.take(entries, entries.length)
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(entries.length), { maxLength: 5 }), async cuts => {
        const wire = await wireOf(id, runs[1] ?? '')
        for (const count of [...cuts.toSorted((a, b) => a - b), entries.length]) wire.take(entries, count)
        expect(wire.lines).toEqual(whole.lines)
      }),
      { numRuns: 20 },
    )
  })
})

test.each([
  ['sse', SseDecoder],
  ['ndjson', NdjsonDecoder],
] as const)('%s: the frames hold the entries of the run', async (id, FrameReader) => {
  const [runId = ''] = runs
  const wire = await wireOf(id, runId)
  wire.take(entries, entries.length)
  const frames: Frame[] = []
  const decoder = new FrameReader({ onFrame: frame => frames.push(frame) })
  decoder.push(connectionsOf(wire).join(''))
  decoder.end()
  expect(frames.flatMap(frame => (frame.type === 'entries' ? frame.entries : []))).toEqual(ofRun(runId))
  expect(frames.at(-1)).toMatchObject({ type: 'end', status: 'completed' })
})

test('stops when its time is over', async () => {
  const wire = await wireOf('ndjson', runs[0] ?? '')
  expect(wire.take(entries, entries.length, () => false)).toBe(false)
  expect(wire.lines).toEqual([])
  expect(wire.take(entries, entries.length)).toBe(true)
})

test('finds a line by the sequence of its entry', () => {
  const lines = [{ sequence: 2 }, { sequence: 4, text: 'a' }, { sequence: 4, text: 'b' }, { sequence: 7 }]
  expect([1, 2, 3, 4, 5, 7, 9].map(sequence => lineOf(lines, sequence))).toEqual([-1, 0, 0, 1, 2, 3, 3])
})
