import type { Dialect, EndStatus } from '@millrace/dialects'
import { type Chunk, type Entry, isDraftChunk } from '@millrace/protocol'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { multiplied } from '../scripts/faults/campaign.ts'
import { DIALECTS } from './dialects.fixture.ts'
import { connectionsOf, recordRun, scenarios } from './recorded-runs.fixture.ts'

describe.each(DIALECTS)('law 7: $name', dialect => {
  test('a run never has a wrong status after a cut at any event', async () => {
    const property = fc.asyncProperty(scenarios, async scenario => {
      const run = await recordRun(scenario)
      follow(dialect, run.live, run.status)
      follow(dialect, run.replay, run.status)
    })
    await fc.assert(property, { numRuns: multiplied(40) })
  })

  test('the same holds for each of several connections', async () => {
    const property = fc.asyncProperty(scenarios, async scenario => {
      const run = await recordRun(scenario)
      const connections = connectionsOf(dialect.encoder(), run)
      connections.forEach((events, i) => {
        const isLast = i === connections.length - 1
        const end = isLast ? run.status : 'paused'
        const decoder = dialect.decoder()
        for (const event of events) {
          decoder.decode(json(event))
          expectOneOf(decoder.status, [undefined, end], event)
        }
        expect(decoder.status).toBe(end)
      })
    })
    await fc.assert(property, { numRuns: multiplied(40) })
  })
})

/** Reads a run to its end. Expects after each event that the status is unknown or correct. */
function follow(dialect: Dialect<unknown>, entries: readonly Entry[], status: EndStatus): void {
  const encoder = dialect.encoder()
  const decoder = dialect.decoder()
  let isPaused = false
  const readEvent = (event: unknown) => {
    const hadEnded = decoder.status === status
    const decodedChunks = decoder.decode(json(event))
    if (hadEnded && decodedChunks.some(({ chunk }) => isDraftChunk(chunk)))
      expect.fail(`event after the end: ${JSON.stringify(event)}`)
    expectOneOf(decoder.status, isPaused ? [undefined, status, 'paused'] : [undefined, status], event)
  }
  for (const entry of entries) {
    isPaused = pausedBy(entry.chunk, isPaused)
    encoder.encode(entry).forEach(readEvent)
  }
  encoder.end(status).forEach(readEvent)
  expect(decoder.status).toBe(status)
}

/** Whether a run is paused after a chunk, until it continues or ends. */
function pausedBy({ type }: Chunk, isPaused: boolean): boolean {
  if (type === 'run-paused') return true
  return isPaused && type !== 'run-resumed' && type !== 'run-finished'
}

function expectOneOf(status: EndStatus | undefined, allowed: readonly (EndStatus | undefined)[], after: unknown): void {
  // Fast path: the message is created only for a wrong status.
  if (!allowed.includes(status))
    expect.fail(`${status} after ${JSON.stringify(after)}, and not ${allowed.join(' or ')}`)
}

/** JSON round trip. */
const json = (event: unknown): unknown => JSON.parse(JSON.stringify(event))
