import type { Chunk, Entry, Origin } from '@millrace/protocol'
import fc from 'fast-check'
import { agent, createRuntime, memoryStore, ProviderError, scriptedModel } from 'millrace'
import { expect, onTestFinished, test } from 'vitest'
import { countTicks, durationOf, durationTicks, numberOf, numberTicks } from './axis.ts'
import { costOf, pricesOf } from './prices.ts'
import { Rate } from './rate.ts'
import { RunMeters } from './run-meters.ts'
import { bucketOf, bucketRange, SizeHistogram, sizesSummary } from './size-histogram.ts'
import { WordCount } from './word-count.ts'

const main: Origin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'echo', step: 1, model: 'm' }

/** A log from timestamps and chunks. */
const logOf = (...chunks: readonly (readonly [number, Chunk, Origin?])[]): Entry[] =>
  chunks.map(([timestamp, chunk, origin = main], i) => ({ sequence: i + 1, timestamp, origin, chunk }))

const figuresOf = (entries: readonly Entry[]): RunMeters => {
  const runMeters = new RunMeters()
  runMeters.take(entries, entries.length)
  return runMeters
}

const story = logOf(
  [0, { type: 'run-requested', runId: 'r', program: 'agent:echo@1' }, { guest: 'g', runId: 'r' }],
  [100, { type: 'run-started', program: 'agent:echo@1' }],
  [100, { type: 'step-start' }],
  [400, { type: 'text-delta', id: 't', delta: 'Let me ' }],
  [600, { type: 'text-delta', id: 't', delta: 'see.' }],
  [700, { type: 'tool-input-available', toolCallId: 'a', toolName: 'x', input: {} }],
  [750, { type: 'tool-input-available', toolCallId: 'b', toolName: 'x', input: {} }],
  [800, { type: 'step-finish', usage: { inputTokens: 10, outputTokens: 6 } }],
  [900, { type: 'tool-output-available', toolCallId: 'a', output: 1, preliminary: true }],
  [1000, { type: 'tool-output-available', toolCallId: 'a', output: 1 }],
  [1200, { type: 'run-paused', awaits: [] }],
  [9200, { type: 'tool-output-available', toolCallId: 'b', output: 1 }, { guest: 'g', runId: 'r' }],
  [9200, { type: 'run-resumed', mode: 'continue' }],
  [9300, { type: 'checkpoint-created', checkpointId: 'c', closesStep: true }],
  [9300, { type: 'step-start', attempt: 1 }, { ...main, step: 2 } as Origin],
  [9400, { type: 'text-delta', id: 'u', delta: 'Well' }],
  [9450, { type: 'step-finish', usage: { inputTokens: 20, outputTokens: 2 } }],
  [9500, { type: 'step-discarded', reason: 'x', usage: { inputTokens: 20, outputTokens: 2 } }],
  [9600, { type: 'step-start', attempt: 2 }, { ...main, step: 2 } as Origin],
  [9700, { type: 'run-finished', status: 'completed' }],
)

test('measures a run without the time it was paused', () => {
  const [run] = figuresOf(story).runs
  expect(run).toMatchObject({ program: 'echo', status: 'completed', firstMs: 400, workedMs: 1600, at: 2 })
  expect(run?.steps).toMatchObject([
    { agent: 'echo', step: 1, startMs: 0, firstMs: 300, modelEndMs: 700, endMs: 1200, toolMs: 500, state: 'done' },
    { step: 2, attempt: 1, startMs: 1200, firstMs: 1300, endMs: 1400, state: 'discarded', toolMs: 0 },
    { step: 2, attempt: 2, startMs: 1500, endMs: 1600, state: 'done' },
  ])
  expect(Object.fromEntries(run?.usage ?? [])).toEqual({
    m: { input: 30, output: 8, discardedInput: 20, discardedOutput: 2 },
  })
  expect(run?.sizes.count).toBe(3)
})

test('spreads the reported tokens over the deltas', () => {
  const [run] = figuresOf(story).runs
  const { buckets = [], widthMs = 0 } = run?.rate ?? {}
  expect(widthMs).toBe(125)
  const sum = (unit: 'deltas' | 'words' | 'tokens') => buckets.reduce((all, bucket) => all + bucket[unit], 0)
  expect({ deltas: sum('deltas'), words: sum('words'), tokens: sum('tokens') }).toEqual({
    deltas: 3,
    words: 4,
    tokens: 8,
  })
  expect(buckets[Math.floor(300 / 125)]?.tokens).toBeCloseTo((6 * 7) / 11)
})

test('measures the same however the log is split', () => {
  const whole = JSON.stringify(figuresOf(story).runs)
  fc.assert(
    fc.property(fc.array(fc.nat(story.length)), cuts => {
      const runMeters = new RunMeters()
      for (const count of [...cuts.toSorted((a, b) => a - b), story.length]) runMeters.take(story, count)
      expect(JSON.stringify(runMeters.runs)).toBe(whole)
    }),
  )
})

test('measures a run with a failed attempt', async () => {
  let isFirst = true
  const model = scriptedModel(() => {
    const error = new ProviderError('provider_overloaded', 'overloaded', { retryable: true })
    const fails = isFirst
    isFirst = false
    return { text: 'There it is.', ...(fails && { error }) }
  })
  const runtime = createRuntime({
    store: memoryStore(),
    agents: [agent({ name: 'looker', model })],
    backoff: { firstMs: 1 },
    logger: { warn() {}, error() {} },
  })
  onTestFinished(() => runtime.close())
  const run = await runtime.start({ session: 's', agent: 'looker', input: 'Look' })
  const entries: Entry[] = []
  for await (const entry of run.stream()) entries.push(entry)
  const [runMeters] = figuresOf(entries).runs
  expect(runMeters).toMatchObject({ program: 'looker', status: 'completed' })
  expect(runMeters?.steps.map(({ step, attempt, state }) => [step, attempt, state])).toEqual([
    [1, 1, 'discarded'],
    [1, 2, 'done'],
  ])
  expect(runMeters?.steps.every(({ startMs, endMs = -1 }) => endMs >= startMs)).toBe(true)
  expect(runMeters?.rate.buckets.reduce((all, { words }) => all + words, 0)).toBe(6)
})

test('keeps a bounded number of buckets and counts everything', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(10_000_000), fc.nat(5)), { minLength: 1 }), deltas => {
      const rate = new Rate()
      const inOrder = deltas.toSorted(([a], [b]) => a - b)
      for (const [ms, words] of inOrder) rate.add('s', ms, words, 3)
      rate.addTokens('s', 1000)
      const sum = (unit: 'deltas' | 'words' | 'tokens') => rate.buckets.reduce((all, one) => all + one[unit], 0)
      expect(rate.buckets.length).toBeLessThanOrEqual(192)
      expect(sum('deltas')).toBe(deltas.length)
      expect(sum('words')).toBe(deltas.reduce((all, [, words]) => all + words, 0))
      expect(sum('tokens')).toBeCloseTo(1000)
      const last = inOrder.at(-1)?.[0] ?? 0
      expect(rate.buckets.length).toBe(Math.floor(last / rate.widthMs) + 1)
    }),
  )
})

test('counts words across deltas', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n', '-') })), segments => {
      const count = new WordCount()
      const counted = segments.reduce((all, piece) => all + count.add('t', piece), 0)
      expect(counted).toBe(segments.join('').split(/\s+/).filter(Boolean).length)
    }),
  )
})

test('assigns every size to one bucket', () => {
  fc.assert(
    fc.property(fc.nat(1_000_000), size => {
      const [low, high] = bucketRange(bucketOf(size))
      expect(size).toBeGreaterThanOrEqual(low)
      expect(size).toBeLessThanOrEqual(high)
    }),
  )
  const sizes = new SizeHistogram()
  for (const size of [1, 1, 2, 4, 8]) sizes.add(size)
  expect(sizes.counts).toEqual([2, 1, 1, 1])
  expect(sizes.mean).toBe(3.2)
  expect(sizesSummary(sizes)).toBe('5 deltas, 3.2 characters on average')
  const one = new SizeHistogram()
  expect(sizesSummary(one)).toBe('No deltas yet.')
  one.add(8)
  expect(sizesSummary(one)).toBe('1 delta, 8 characters')
})

test('computes the cost only if all models have a price', () => {
  const usage = new Map([['m', { input: 1_000_000, output: 500_000, discardedInput: 0, discardedOutput: 0 }]])
  expect(costOf(usage, {})).toBeUndefined()
  expect(costOf(usage, { m: { input: 3, output: 10 } })).toBe(8)
  expect(costOf(new Map(), {})).toBe(0)
  expect(costOf(new Map([['constructor', [...usage.values()][0] as never]]), {})).toBeUndefined()
  expect(pricesOf('{"m":{"input":3,"output":10},"n":{"input":-1,"output":1},"o":null,"p":{"input":"3"}}')).toEqual({
    m: { input: 3, output: 10 },
  })
  for (const odd of [null, '', 'x', '[]', '3', 'null']) expect(pricesOf(odd)).toEqual({})
})

test('chooses a few round ticks up to the maximum', () => {
  expect(numberTicks(0)).toEqual([0, 1])
  expect(numberTicks(7)).toEqual([0, 2, 4, 6, 8])
  fc.assert(
    fc.property(fc.double({ min: 1e-3, max: 1e9, noNaN: true }), max => {
      const ticks = numberTicks(max)
      expect(ticks.length).toBeGreaterThanOrEqual(2)
      expect(ticks.length).toBeLessThanOrEqual(6)
      expect(ticks.at(-1)).toBeGreaterThanOrEqual(max * 0.999)
      const durations = durationTicks(max)
      expect(durations.length).toBeGreaterThanOrEqual(2)
      expect(durations.length).toBeLessThanOrEqual(6)
      expect(durations.at(-1)).toBeGreaterThanOrEqual(max)
    }),
  )
  expect([1, 2, 7].map(max => countTicks(max))).toEqual([
    [0, 1],
    [0, 1, 2],
    [0, 2, 4, 6, 8],
  ])
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1e9 }), fc.integer({ min: 2, max: 4 }), (max, about) => {
      const counts = countTicks(max, about)
      expect(counts.every(Number.isInteger)).toBe(true)
      expect(counts.length).toBeLessThanOrEqual(6)
      expect(counts.at(-1)).toBeGreaterThanOrEqual(max * 0.999)
    }),
  )
  expect(durationTicks(1_600_000).map(durationOf)).toEqual(['0 ms', '10 min', '20 min', '30 min'])
  expect([numberOf(1234.5), numberOf(12.34), numberOf(0.123)]).toEqual(['1,235', '12.3', '0.12'])
  expect([durationOf(12.3), durationOf(1240), durationOf(75_000), durationOf(119_900)]).toEqual([
    '12 ms',
    '1.24 s',
    '1 min 15 s',
    '2 min',
  ])
})
