import { SessionLog } from '@millrace/client/log'
import type { Entry } from '@millrace/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MAX_BYTES, type Progress, readRecording } from './read-recording.ts'
import { fileNameOf, recordingBlob } from './recording-blob.ts'

const origin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'echo', step: 1 }

const entriesOf = (count: number): Entry[] =>
  Array.from({ length: count }, (_, i) => ({
    sequence: i + 1,
    timestamp: 1_000 + i,
    origin,
    chunk:
      i === 0
        ? { type: 'run-started' as const, program: 'agent:echo@1' }
        : { type: 'text-delta' as const, id: 't', delta: `${i} ` },
  }))

test('imports what was exported, with the same view', async () => {
  const entries = entriesOf(50)
  const blob = await recordingBlob({ sessionId: 'a session', entries })
  const recording = await readRecording(blob)
  expect(recording).toEqual({ sessionId: 'a session', entries })
  const [before, after] = [new SessionLog({ sessionId: 'a session', entries }), new SessionLog(recording)]
  expect(after.viewAt(50)).toEqual(before.viewAt(50))
  expect(after.isRecording).toBe(true)
})

test('reads 100,000 entries in chunks, reports progress and keeps the base view', async () => {
  const base = new SessionLog({ sessionId: 's', entries: entriesOf(3) }).viewAt(3)
  const entries = entriesOf(100_003).slice(3)
  const shares: number[] = []
  const blob = await recordingBlob({ sessionId: 's', entries, base }, share => shares.push(share))
  expect(shares.length).toBeGreaterThan(2)
  expect(shares).toEqual(shares.toSorted((a, b) => a - b))
  const reported: Progress[] = []
  const recording = await readRecording(blob, { onProgress: progress => reported.push(progress) })
  expect(recording.entries).toHaveLength(100_000)
  expect(recording.base).toEqual(base)
  expect(reported.at(-1)).toMatchObject({ bytes: blob.size, size: blob.size })
})

test('rejects an invalid recording with its line number', async () => {
  const [header, ...lines] = (await (await recordingBlob({ sessionId: 's', entries: entriesOf(3) })).text()).split('\n')
  const why = (...text: (string | undefined)[]) =>
    readRecording(new Blob([text.join('\n')])).then(
      () => 'opened',
      (error: Error) => `${error.name}: ${error.message}`,
    )
  expect(await why()).toBe('RecordingError: Line 1: expected a recording of a session, found nothing.')
  expect(await why('hello')).toBe('RecordingError: Line 1: expected JSON.')
  expect(await why(lines[0])).toBe('RecordingError: Line 1: expected the first line of a recorded session.')
  expect(await why(header, lines[0], '{"sequence":2}')).toMatch(/^RecordingError: Line 3: /)
  expect(await why(header, lines[1], lines[0])).toBe('RecordingError: Line 3: expected a sequence above 2, found 1.')
  expect(await why('{"millrace":"session","version":1,"sessionId":"s","base":{"head":"x"}}')).toMatch(/Line 1: view: /)
  expect(await why(header, ...lines)).toBe('opened')
})

test('rejects a binary file and a file that is too large', async () => {
  await expect(readRecording(new Blob([new Uint8Array([0xff, 0xfe, 0x00])]))).rejects.toThrow('UTF-8')
  const huge = { size: MAX_BYTES + 1 } as Blob
  await expect(readRecording(huge)).rejects.toThrow('at most 256 MB')
})

test('rejects when aborted', async () => {
  const controller = new AbortController()
  const blob = await recordingBlob({ sessionId: 's', entries: entriesOf(10) })
  controller.abort()
  await expect(readRecording(blob, { signal: controller.signal })).rejects.toThrow('aborted')
})

test('derives a file name that is valid on every system', () => {
  expect(fileNameOf('5f2c-11')).toBe('5f2c-11.jsonl')
  expect(fileNameOf('../../etc/passwd')).toBe('etc-passwd.jsonl')
  expect(fileNameOf('日本')).toBe('session.jsonl')
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 100 }), name =>
      /^\w[\w.-]{0,79}\.jsonl$/.test(fileNameOf(name)),
    ),
  )
})
