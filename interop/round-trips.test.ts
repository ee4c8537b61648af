// Decoding returns exactly what was encoded, for every sequence of valid chunks. `npm run chaos` plays 2,000 sequences a dialect.

import type { DecodedChunk, Dialect, EndStatus } from '@millrace/dialects'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { multiplied } from '../scripts/faults/campaign.ts'
import { DIALECTS } from './dialects.fixture.ts'
import { endOf, sequences, statuses } from './round-trips.fixture.ts'

describe.each(DIALECTS)('$name', dialect => {
  test('decodes any run to the encoded chunks and their authors', () => {
    const property = fc.property(sequences, statuses, (sequence, status) => {
      const written = [...sequence, endOf(status)]
      const read = decoded(dialect, written, status)
      expect(read.chunks.map(authored)).toEqual(written.map(authored))
      expect(read.status).toBe(status)
    })
    fc.assert(property, { numRuns: multiplied(40) })
  })
})

/** Encodes a run to its end or pause, and decodes it. */
function decoded(dialect: Dialect<unknown>, written: readonly DecodedChunk[], status: EndStatus) {
  const encoder = dialect.encoder()
  const decoder = dialect.decoder()
  const events = [...written.flatMap(entry => encoder.encode(entry)), ...encoder.end(status)]
  const chunks = events.flatMap(event => decoder.decode(JSON.parse(JSON.stringify(event))))
  return { chunks, status: decoder.status }
}

/** A chunk, and its author if it is not the run's own agent. The chunks of an agent's start and end name it themselves. */
function authored({ chunk, origin }: DecodedChunk): object {
  if (origin?.guest !== undefined) return { chunk, guest: origin.guest }
  const isOwn = origin === undefined || origin.agentId === origin.runId || chunk.type.startsWith('subagent-')
  return isOwn ? { chunk } : { chunk, agentId: origin.agentId }
}
