// Our dialects: encoding the entries of an answer, and decoding its bytes.
import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import { type Dialect, EventReader } from '@millrace/dialects'
import type { Chunk, Entry } from '@millrace/protocol'
import { networkReads } from '../fixtures/frames.ts'
import { stepEntries } from '../fixtures/steps.ts'
import { answer, answerEntries, checkText } from '../fixtures/text.ts'
import { type Job, job } from '../harness/suite.ts'

/** Dialects by name. Each is imported separately. */
const dialects = {
  mui: async () => (await import('@millrace/dialects/mui')).muiDialect,
  tanstack: async () => (await import('@millrace/dialects/tanstack')).tanstackAgUiDialect,
  // By default this format repeats the full text in every chunk, which makes the output of any encoder quadratic.
  'tanstack 0.2': async () => {
    const { tanstackDialect } = await import('@millrace/dialects/tanstack')
    return { ...tanstackDialect, encoder: () => tanstackDialect.encoder({ content: 'empty' }) }
  },
  'ai-sdk': async () => (await import('@millrace/dialects/ai-sdk')).aiSdkDialect,
  'ag-ui': async () => (await import('@millrace/dialects/ag-ui')).agUiDialect,
  kortyx: async () => (await import('@millrace/dialects/kortyx')).kortyxDialect,
  helix: async () => (await import('@millrace/dialects/helix')).helixDialect,
} satisfies Record<string, () => Promise<unknown>>

export type DialectName = keyof typeof dialects

const dialectOf = async (name: DialectName) => (await dialects[name]()) as unknown as Dialect<unknown>

const eventText = (event: unknown): string => `data: ${JSON.stringify(event)}\n\n`

/** Entries to events. */
export async function encodeDialect(name: DialectName, count: number, workIndex: number): Promise<Job> {
  const dialect = await dialectOf(name)
  const entries = answerEntries(count, workIndex, 0)
  const countEvents = () => {
    const encoder = dialect.encoder()
    let length = 0
    for (const entry of entries)
      for (const event of encoder.encode(entry)) length += Buffer.byteLength(eventText(event))
    return length
  }
  return job(countEvents, found => {
    strictEqual(found, countEvents())
    checkText(decodedText(dialect, bytesOf(dialect, count, workIndex)), answer(count, workIndex))
  })
}

/** Bytes to chunks. */
export async function decodeDialect(name: DialectName, count: number, workIndex: number): Promise<Job> {
  const dialect = await dialectOf(name)
  const bytes = bytesOf(dialect, count, workIndex)
  return job(
    () => decodedText(dialect, bytes),
    text => checkText(text, answer(count, workIndex)),
  )
}

/** The dialect with its defaults. The texts of a step are short. */
const withDefaults = async (name: DialectName) =>
  name === 'tanstack 0.2'
    ? ((await import('@millrace/dialects/tanstack')).tanstackDialect as unknown as Dialect<unknown>)
    : dialectOf(name)

/** Entries of steps, with calls and data, to events. */
export async function encodeSteps(name: DialectName, count: number, workIndex: number): Promise<Job> {
  const dialect = await withDefaults(name)
  const entries = stepEntries(count, workIndex)
  const encodeAll = () => stepsOf(dialect, entries)
  const text = encodeAll()
  return job(encodeAll, found => strictEqual(found.length, text.length))
}

/** Bytes of steps to chunks. */
export async function decodeSteps(name: DialectName, count: number, workIndex: number): Promise<Job> {
  const dialect = await withDefaults(name)
  const entries = stepEntries(count, workIndex)
  const bytes = networkReads(stepsOf(dialect, entries))
  const read = () => {
    const chunks: Chunk[] = []
    decode(dialect, bytes, chunk => chunks.push(chunk))
    return chunks
  }
  return job(read, chunks =>
    deepStrictEqual(
      chunks,
      entries.map(({ chunk }) => chunk),
    ),
  )
}

function stepsOf(dialect: Dialect<unknown>, entries: readonly Entry[]): string {
  const encoder = dialect.encoder()
  let text = ''
  for (const entry of entries) for (const event of encoder.encode(entry)) text += eventText(event)
  return text
}

function bytesOf(dialect: Dialect<unknown>, count: number, workIndex: number): Uint8Array[] {
  const encoder = dialect.encoder()
  return networkReads(
    answerEntries(count, workIndex, 0)
      .flatMap(entry => encoder.encode(entry).map(eventText))
      .join(''),
  )
}

function decodedText(dialect: Dialect<unknown>, bytes: readonly Uint8Array[]): string {
  let text = ''
  decode(dialect, bytes, chunk => {
    if (chunk.type === 'text-delta') text += chunk.delta
  })
  return text
}

function decode(dialect: Dialect<unknown>, bytes: readonly Uint8Array[], onChunk: (chunk: Chunk) => unknown): void {
  const decoder = dialect.decoder()
  const reader = new EventReader()
  for (const piece of bytes) {
    for (const { data } of reader.push(piece)) {
      for (const { chunk } of decoder.decode(JSON.parse(data))) onChunk(chunk)
    }
  }
}
