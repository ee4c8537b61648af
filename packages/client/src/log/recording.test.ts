import { type Entry, foldLog, ProtocolError } from '@millrace/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeRecording, type Recording, RecordingDecoder } from './recording.ts'

const entry = (sequence: number, delta: string): Entry => ({
  sequence,
  timestamp: 1_000 + sequence,
  origin: { runId: 'r', lane: 'main', agentId: 'r', agentType: 'teller', step: 1 },
  chunk: { type: 'text-delta', id: 't', delta },
})

test('rejects a line that is too long before its end arrives', () => {
  const decoder = new RecordingDecoder(100)
  decoder.push('{"millrace":"session","version":1,"sessionId":"s"}\n')
  decoder.push('x'.repeat(100))
  expect(() => decoder.push('x')).toThrow('line 2: expected at most 100 characters')
})

function decode(pieces: Iterable<string>): Recording {
  const decoder = new RecordingDecoder()
  for (const piece of pieces) decoder.push(piece)
  return decoder.end()
}

test('decodes an encoded recording from pieces of any size', () => {
  const cuts = fc.array(fc.nat(50), { maxLength: 30 })
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' })), fc.boolean(), cuts, (deltas, hasBase, cuts) => {
      const base = hasBase ? foldLog([]).view() : undefined
      const recording = {
        sessionId: 's',
        entries: deltas.map((delta, n) => entry(n * 2 + 1, delta)),
        ...(base && { base }),
      }
      let rest = [...encodeRecording(recording)].join('')
      const pieces = cuts.map(length => {
        const piece = rest.slice(0, length)
        rest = rest.slice(length)
        return piece
      })
      expect(decode([...pieces, rest])).toEqual(recording)
    }),
  )
})

describe('RecordingDecoder', () => {
  const header = '{"millrace":"session","version":1,"sessionId":"s"}\n'
  const line = (value: unknown) => `${JSON.stringify(value)}\n`
  test.each([
    ['an empty file', '', 'stream-cut', 'line 1: expected a recording of a session, found nothing'],
    ['another file', '{"a":1}\n', 'stream-mismatch', 'line 1: expected the first line of a recorded session'],
    ['invalid JSON', `${header}\n{"a`, 'invalid-json', 'line 3: expected JSON'],
    ['a later version', header.replace('1', '2'), 'stream-mismatch', 'line 1: expected version 1'],
    ['a version that is not a number', header.replace('1', '"\\u001b[31m"'), 'stream-mismatch', 'found "\\u001b[31m"'],
    ['a null base', header.replace('}', ',"base":null}'), 'invalid-view', 'line 1: view: expected version'],
    ['an invalid entry', header + line({ sequence: 1 }), 'invalid-chunk', 'line 2: '],
    [
      'a repeated sequence',
      header + line(entry(2, 'a')) + line(entry(2, 'b')),
      'stream-mismatch',
      'line 3: expected a sequence above 2',
    ],
    ['an invalid base', header.replace('}', ',"base":{"head":1}}'), 'invalid-view', 'line 1: '],
  ] as const)('rejects with the line number: %s', (_, text, code, message) => {
    const error = (() => {
      try {
        return decode([text])
      } catch (error) {
        return error
      }
    })()
    expect(error).toBeInstanceOf(ProtocolError)
    expect(error).toMatchObject({ code })
    expect((error as Error).message).toContain(message)
  })
})
