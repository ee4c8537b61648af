import type { Chunk, Entry, Origin, WriterOrigin } from '@millrace/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { logOf } from '../../../long-log.fixture.ts'
import { boxesOf, columnsOf, draw, nearest } from './draw.ts'
import type { Row, Span } from './row.ts'
import { TimelineModel } from './timeline-model.ts'

/** Builds a log entry by entry: origin, chunk, and ms after the previous one. */
class Written {
  readonly log: Entry[] = []
  #time = 1000

  add(origin: Origin, chunk: Chunk, after = 10): this {
    this.#time += after
    this.log.push({ sequence: this.log.length + 1, timestamp: this.#time, origin, chunk })
    return this
  }

  get model(): TimelineModel {
    const model = new TimelineModel()
    model.take(this.log, this.log.length)
    return model
  }
}

const on = (lane: string, runId = 'r', agentType = 'team'): WriterOrigin => ({
  runId,
  lane,
  agentId: runId,
  agentType,
  step: 1,
})
const main = on('main')
const started: Chunk = { type: 'run-started', program: 'agent:team@1' }
const call = (toolCallId: string): Chunk => ({ type: 'tool-input-start', toolCallId, toolName: `tool-${toolCallId}` })
const output = (toolCallId: string): Chunk => ({ type: 'tool-output-available', toolCallId, output: 1 })
const commit: Chunk = { type: 'checkpoint-created', checkpointId: 'c', closesStep: true }
const finished: Chunk = { type: 'run-finished', status: 'completed' }
const shape = (row: Row): unknown => [row.calls.map(({ label }) => label), ...row.below.map(shape)]
const spans = (list: readonly Span[]) => list.map(({ from, to, state }) => [from, to, state])

describe('lanes', () => {
  test('gives parallel calls rows below their caller, and reuses free rows', () => {
    const written = new Written()
      .add(main, started)
      .add(main, call('a'))
      .add(main, call('b'))
      .add(on('main/a'), { type: 'subagent-start', agentId: 'x', agentType: 'x', toolCallId: 'a', lane: 'main/a' })
      .add(on('main/a'), call('c'))
      .add(on('main/a/c'), output('c'))
      .add(on('main/a'), call('d'))
      .add(on('main/a/d'), output('d'))
      .add(on('main/b'), output('b'))
      .add(on('main/a'), output('a'))
      .add(main, call('e'))
      .add(on('main/e'), output('e'))
      .add(main, finished)
    expect(shape(written.model.main)).toEqual([[], [['tool-a', 'tool-e'], [['tool-c', 'tool-d']]], [['tool-b']]])
    expect(written.model.rowCount).toBe(4)
  })

  test('ends a step at its closing commit and a model call at its finish', () => {
    const { main: row } = new Written()
      .add(main, started)
      .add(main, { type: 'step-start' })
      .add(main, { type: 'text-delta', id: 't', delta: 'Once' })
      .add(main, { type: 'step-finish' })
      .add(main, { ...commit, closesStep: false } as Chunk)
      .add(main, commit)
      .add(main, { type: 'step-start' }).model
    expect(row.steps).toMatchObject([
      { from: 10, middle: 30, to: 50, state: 'done' },
      { from: 60, state: 'open' },
    ])
    expect(row.deltas.text.at).toEqual([20])
  })

  test('marks a discarded draft from its first delta', () => {
    const { main: row } = new Written()
      .add(main, started)
      .add(main, { type: 'step-start' })
      .add(main, commit)
      .add(main, { type: 'step-start' })
      .add(main, { type: 'text-delta', id: 't', delta: 'Once' })
      .add(main, { type: 'step-discarded', reason: 'superseded' }).model
    expect(row.discards).toMatchObject([{ from: 30, to: 50, label: 'superseded' }])
    expect(row.steps.map(({ state }) => state)).toEqual(['done', 'discarded'])
    expect(row.markers.get('discard')?.at).toEqual([50])
  })
})

describe('time', () => {
  test('shortens long gaps by kind, and the axis shows real time', () => {
    const model = new Written()
      .add(main, started)
      .add(main, { type: 'run-paused', awaits: [] })
      .add(main, { type: 'run-resumed', mode: 'continue' }, 60_000)
      .add(main, finished)
      .add(on('main', 's'), started, 3_600_000)
      .add(on('main', 's'), { type: 'start' }, 50_000).model
    expect(model.axis.gaps.map(({ kind, ms }) => [kind, ms])).toEqual([
      ['paused', 60_000],
      ['idle', 3_600_000],
    ])
    expect(spans(model.pauses)).toEqual([[10, 1510, 'done']])
    expect(model.axis.end).toBeLessThan(60_000)
    expect(model.axis.elapsedAt(model.axis.end)).toBe(3_710_020)
    expect(model.axis.elapsedAt(5)).toBe(5)
  })
})

test('merges overlapping rewinds into one cut', () => {
  const written = new Written()
  for (let run = 0; run < 3; run++) {
    const writer = on('main', `r${run}`)
    if (run > 0) written.add(writer, { type: 'rewind', toSequence: run === 1 ? 3 : 0, reason: 'edit' })
    written.add(writer, started).add(writer, { type: 'start' }).add(writer, { type: 'start' }).add(writer, finished)
  }
  const { cuts, main: row } = written.model
  expect(cuts).toEqual([{ from: 0, to: 90 }])
  expect(row.markers.get('rewind')?.index).toEqual([4, 9])
})

test('draws waits, answers, stops, takeovers and errors', () => {
  const model = new Written()
    .add(main, started)
    .add(main, call('a'))
    .add(on('main/a'), { type: 'tool-approval-request', toolCallId: 'a', approvalId: 'p', input: 1 })
    .add({ guest: 'ann' }, { type: 'tool-approval-response', toolCallId: 'a', approvalId: 'p', approved: true })
    .add({ guest: 'ann' }, { type: 'stop-requested', runId: 'r' })
    .add(main, { type: 'executor-superseded' })
    .add(main, { type: 'error', message: 'no' }).model
  const [row] = model.main.below
  expect(row?.waits).toMatchObject([{ from: 20, to: 30, label: 'waiting for approval' }])
  expect(row?.markers.get('answer')?.index).toEqual([3])
  expect([...model.main.markers.keys()]).toEqual(['stop', 'takeover', 'error'])
})

test('draws the same however the log is split', () => {
  const log = logOf(5, 7)
  fc.assert(
    fc.property(fc.array(fc.nat(log.length)), counts => {
      const bit = new TimelineModel()
      for (const count of [...counts, log.length]) bit.take(log, Math.max(bit.count, count))
      const model = new TimelineModel()
      model.take(log, log.length)
      const range = { from: 0, to: model.axis.end, width: 800 }
      expect(draw(bit, range)).toEqual(draw(model, range))
    }),
  )
})

describe('drawing', () => {
  const log = logOf(5000, 12)
  const model = new TimelineModel()
  model.take(log, log.length)

  test('draws at most as many shapes as pixels for any visible range', () => {
    const width = 1000
    const positions = fc.tuple(fc.nat(1000), fc.nat(1000)).filter(([a, b]) => a !== b)
    fc.assert(
      fc.property(positions, ([a, b]) => {
        const at = (share: number) => (model.axis.end * share) / 1000
        const drawing = draw(model, { from: at(Math.min(a, b)), to: at(Math.max(a, b)), width })
        const [row] = drawing.rows
        expect(drawing.runs.length).toBeLessThanOrEqual(width / 3 + 2)
        expect(drawing.gaps.length).toBeLessThanOrEqual(width / 3 + 2)
        expect(row?.steps.length).toBeLessThanOrEqual(width / 3 + 2)
        expect(row?.deltas.text.length).toBeLessThanOrEqual(width + 2)
        expect(row?.markers.length).toBeLessThanOrEqual((2 * width) / 9 + 8)
        expect(drawing.axis.length).toBeLessThanOrEqual(width / 90 + 2)
      }),
    )
  })

  test('merges narrow spans and leaves none out', () => {
    const range = { from: 0, to: model.axis.end, width: 700 }
    const { runs, rows } = draw(model, range)
    expect(runs.reduce((sum, { count }) => sum + count, 0)).toBe(5000)
    expect(rows[0]?.deltas.text.reduce((sum, { count }) => sum + count, 0)).toBe(5000 * 12)
    expect(
      rows[0]?.markers.filter(({ marker }) => marker === 'commit').reduce((sum, { count }) => sum + count, 0),
    ).toBe(5000)
  })

  test('keeps boxes in order and counts every span', () => {
    const lengths = fc.array(fc.tuple(fc.nat(50), fc.nat(50)), { maxLength: 60 })
    fc.assert(
      fc.property(lengths, fc.integer({ min: 5, max: 300 }), (list, width) => {
        let at = 0
        const spans = list.map(([gap, length]) => {
          const from = at + gap
          at = from + length
          return { from, to: at }
        })
        const boxes = boxesOf(spans, { from: 0, to: at + 1, width }, at)
        expect(boxes.reduce((sum, { count }) => sum + count, 0)).toBe(list.length)
        boxes.forEach(({ x }, i) => {
          if (i > 0) expect(x).toBeGreaterThanOrEqual(boxes[i - 1]?.x ?? 0)
        })
        expect(
          columnsOf(
            spans.map(({ from }) => from),
            { from: 0, to: at + 1, width },
          ).reduce((n, { count }) => n + count, 0),
        ).toBe(list.length)
      }),
    )
  })

  test('finds the nearest entry within a distance', () => {
    const positions = { at: [0, 10, 20], index: [4, 5, 9] }
    expect(nearest(positions as never, 14, 5)).toBe(5)
    expect(nearest(positions as never, 16, 5)).toBe(9)
    expect(nearest(positions as never, 40, 5)).toBeUndefined()
  })
})
