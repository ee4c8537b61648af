import type { DecodedChunk, Dialect } from '@millrace/dialects'
import type { Chunk } from '@millrace/protocol'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { arbitraryChunk } from '../packages/protocol/src/catalogue/chunk.fixture.ts'
import { multiplied } from '../scripts/faults/campaign.ts'
import { DIALECTS } from './dialects.fixture.ts'
import { type RecordedRun, recordRun, scenarios } from './recorded-runs.fixture.ts'

describe.each(DIALECTS)('$name', dialect => {
  test('decodes every run, live and replayed, to the encoded chunks', async () => {
    const property = fc.asyncProperty(scenarios, async scenario => {
      const run = await recordRun(scenario)
      expect(roundTrip(dialect, run.live, run)).toEqual(run.live.map(attributed))
      expect(roundTrip(dialect, run.replay, run)).toEqual(run.replay.map(attributed))
    })
    await fc.assert(property, { numRuns: multiplied(60) })
  })

  test('decodes any chunks in any order to the encoded chunks', () => {
    const property = fc.property(fc.array(arbitraryChunk(), { maxLength: 12 }), chunks => {
      const content = json(chunks).filter(chunk => !ENDS.has(chunk.type))
      const decoder = dialect.decoder()
      const encoder = dialect.encoder()
      const events = content.flatMap(chunk => encoder.encode({ chunk }))
      expect(events.flatMap(event => decoder.decode(json(event)).map(chunkOf))).toEqual(content)
    })
    fc.assert(property, { numRuns: multiplied(500) })
  })
})

/** Chunks that end a stream. */
const ENDS: ReadonlySet<string> = new Set(['run-finished', 'run-paused'])

/** A chunk, and its origin if it is not the run's own agent: a sub-agent or a guest. */
interface AttributedChunk {
  readonly chunk: Chunk
  readonly agentId?: string
  readonly guest?: string
}

function attributed({ chunk, origin }: DecodedChunk): AttributedChunk {
  if (origin?.guest !== undefined) return { chunk, guest: origin.guest }
  if (origin === undefined || origin.agentId === origin.runId || AGENTS.test(chunk.type)) return { chunk }
  return { chunk, agentId: origin.agentId }
}

/** Chunks that contain their origin. */
const AGENTS = /^subagent-/

function roundTrip(
  dialect: Dialect<unknown>,
  entries: RecordedRun['live'],
  { status }: RecordedRun,
): AttributedChunk[] {
  const encoder = dialect.encoder()
  const decoder = dialect.decoder()
  const events = entries.flatMap(entry => encoder.encode(entry))
  events.push(...encoder.end(status))
  const decoded = events.flatMap(event => decoder.decode(json(event)).map(attributed))
  expect(decoder.status).toBe(status)
  return decoded
}

/** JSON round trip. */
const json = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

const chunkOf = ({ chunk }: DecodedChunk): Chunk => chunk
