import type { DecodedChunk, Dialect } from '@millrace/dialects'
import type { Chunk } from '@millrace/protocol'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { arbitraryChunk } from '../packages/protocol/src/catalogue/chunk.fixture.ts'
import { multiplied } from '../scripts/faults/campaign.ts'
import { DIALECTS } from './dialects.fixture.ts'
import { type Recorded, recorded, scenarios } from './runs.fixture.ts'

describe.each(DIALECTS)('$name', dialect => {
  test('whatever a run says is understood as the same, by who follows it and by who comes late', async () => {
    const property = fc.asyncProperty(scenarios, async scenario => {
      const run = await recorded(scenario)
      expect(heard(dialect, run.live, run)).toEqual(run.live.map(meantIn))
      expect(heard(dialect, run.replay, run)).toEqual(run.replay.map(meantIn))
    })
    await fc.assert(property, { numRuns: multiplied(60) })
  })

  test('any chunks in any order are understood as the same', () => {
    const property = fc.property(fc.array(arbitraryChunk(), { maxLength: 12 }), chunks => {
      const said = json(chunks).filter(chunk => !ENDS.has(chunk.type))
      const decoder = dialect.decoder()
      const encoder = dialect.encoder()
      const events = said.flatMap(chunk => encoder.encode({ chunk }))
      expect(events.flatMap(event => decoder.decode(json(event)).map(chunkOf))).toEqual(said)
    })
    fc.assert(property, { numRuns: multiplied(500) })
  })
})

/** What ends a stream: nothing is said after it. */
const ENDS: ReadonlySet<string> = new Set(['run-finished', 'run-paused'])

/** A chunk, and whose it is where it is not of the run's own agent: a sub-agent's, or that of a guest. */
interface Meant {
  readonly chunk: Chunk
  readonly agentId?: string
  readonly guest?: string
}

function meantIn({ chunk, origin }: DecodedChunk): Meant {
  if (origin?.guest !== undefined) return { chunk, guest: origin.guest }
  if (origin === undefined || origin.agentId === origin.runId || AGENTS.test(chunk.type)) return { chunk }
  return { chunk, agentId: origin.agentId }
}

/** What says whose it is by itself. */
const AGENTS = /^subagent-/

function heard(dialect: Dialect<unknown>, entries: Recorded['live'], { status }: Recorded): Meant[] {
  const encoder = dialect.encoder()
  const decoder = dialect.decoder()
  const events = entries.flatMap(entry => encoder.encode(entry))
  events.push(...encoder.end(status))
  const meant = events.flatMap(event => decoder.decode(json(event)).map(meantIn))
  expect(decoder.status).toBe(status)
  return meant
}

/** As it comes out of the wire. */
const json = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

const chunkOf = ({ chunk }: DecodedChunk): Chunk => chunk
