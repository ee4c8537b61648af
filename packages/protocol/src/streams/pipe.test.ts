// The common behaviour of all stream helpers: the source is always released.

import { describe, expect, it } from 'vitest'
import type { Chunk } from '../catalogue/chunk.ts'
import type { Entry } from '../entry/entry.ts'
import { collectAll, collectText } from './collect.ts'
import { combineStreams } from './combine-streams.ts'
import { excludeTypes, filterByAgentId, filterByAgentType, filterByType, filterWith } from './filter.ts'
import type { StreamOptions } from './pipe.ts'
import { skip, take } from './slice.ts'
import { Source } from './source.fixture.ts'

const entry = (sequence: number): Entry => ({
  sequence,
  timestamp: sequence,
  origin: { runId: 'r', lane: 'main', agentId: 'r', agentType: 'poet', step: 1 },
  chunk: { type: 'text-delta', id: 't', delta: String(sequence) },
})
const three = [1, 2, 3].map(entry)

type Helper = (stream: AsyncIterable<Entry>, options?: StreamOptions) => AsyncIterableIterator<Entry<Chunk>, undefined>

/** Every helper, with arguments that let all three items pass. */
const helpers: [string, Helper][] = [
  ['filterByAgentId', (stream, options) => filterByAgentId(stream, 'r', options)],
  ['filterByAgentType', (stream, options) => filterByAgentType(stream, 'poet', options)],
  ['filterByType', (stream, options) => filterByType(stream, ['text-delta'], options)],
  ['excludeTypes', (stream, options) => excludeTypes(stream, ['error'], options)],
  ['filterWith', (stream, options) => filterWith(stream, () => true, options)],
  ['take', (stream, options) => take(stream, 9, options)],
  ['skip', (stream, options) => skip(stream, 0, options)],
  ['combineStreams', (stream, options) => combineStreams([stream], options)],
  ['a chain', (stream, options) => take(filterByType(combineStreams([skip(stream, 0)]), ['text-delta']), 9, options)],
]

const goneError = new Error('gone')

describe.each(helpers)('%s', (_, helper) => {
  it('passes on all items and the end, and does not release an ended source', async () => {
    const source = new Source(three)
    expect(await collectAll(helper(source))).toEqual(three)
    expect(source).toMatchObject({ pulls: 4, returns: 0, maxPending: 1 })
  })

  it('requests nothing before the first `next()`', async () => {
    const source = new Source(three)
    helper(source)
    await new Promise(resolve => setTimeout(resolve))
    expect(source.pulls).toBe(0)
  })

  it('requests one item at a time', async () => {
    const source = new Source(three)
    const stream = helper(source)
    const results = await Promise.all([stream.next(), stream.next(), stream.next(), stream.next()])
    expect(results.map(({ value }) => value)).toEqual([...three, undefined])
    expect(source.maxPending).toBe(1)
  })

  it('releases the source when the consumer returns', async () => {
    const source = new Source(three, 'silence')
    for await (const item of helper(source)) if (item.sequence === 2) break
    expect(source).toMatchObject({ pulls: 2, returns: 1 })
  })

  it('releases the source when the consumer throws', async () => {
    const source = new Source(three, 'silence')
    const run = async () => {
      for await (const _ of helper(source)) throw goneError
    }
    await expect(run()).rejects.toBe(goneError)
    expect(source.returns).toBe(1)
  })

  it('releases the source when the consumer returns before the first item', async () => {
    const source = new Source(three)
    await helper(source).return?.()
    expect(source).toMatchObject({ pulls: 0, returns: 1 })
  })

  it('releases the source when the consumer returns while the source is silent', async () => {
    const source = new Source<Entry>([], 'silence')
    const stream = helper(source)
    const next = stream.next()
    await new Promise(resolve => setTimeout(resolve))
    expect(await (stream.return?.() as Promise<unknown>)).toEqual({ done: true, value: undefined })
    expect(await next).toEqual({ done: true, value: undefined })
    expect(source.returns).toBe(1)
    expect(await stream.next()).toEqual({ done: true, value: undefined })
  })

  it('passes on an error once and then ends', async () => {
    const source = new Source(three.slice(0, 1), goneError)
    const stream = helper(source)
    expect(await stream.next()).toEqual({ done: false, value: three[0] })
    await expect(stream.next()).rejects.toBe(goneError)
    expect(await stream.next()).toEqual({ done: true, value: undefined })
    expect(source).toMatchObject({ pulls: 2, returns: 0 })
  })

  it('throws the reason and releases the source when aborted while the source is silent', async () => {
    const source = new Source(three, 'silence')
    const controller = new AbortController()
    const seen: Entry[] = []
    const run = async () => {
      for await (const item of helper(source, controller)) seen.push(item)
    }
    const done = run()
    setTimeout(() => controller.abort(goneError), 5)
    await expect(done).rejects.toBe(goneError)
    expect(seen).toEqual(three)
    expect(source.returns).toBe(1)
  })

  it('throws the reason and releases the source when aborted between two items', async () => {
    const source = new Source(three)
    const controller = new AbortController()
    const stream = helper(source, controller)
    await stream.next()
    controller.abort(goneError)
    expect(source.returns).toBe(1)
    await expect(stream.next()).rejects.toBe(goneError)
    expect(await stream.next()).toEqual({ done: true, value: undefined })
    expect(source.returns).toBe(1)
  })

  it('throws the reason and requests nothing when aborted before the start', async () => {
    const source = new Source(three)
    await expect(helper(source, { signal: AbortSignal.abort(goneError) }).next()).rejects.toBe(goneError)
    expect(source).toMatchObject({ pulls: 0, returns: 1 })
  })

  it('ignores an abort after its end', async () => {
    const source = new Source(three)
    const controller = new AbortController()
    const stream = helper(source, controller)
    for await (const _ of stream);
    controller.abort(goneError)
    expect(await stream.next()).toEqual({ done: true, value: undefined })
    expect(source.returns).toBe(0)
  })

  it('leaves no listener on the signal', async () => {
    const { signal } = new AbortController()
    let listeners = 0
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners++
      add(...args)
    }
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners--
      remove(...args)
    }
    for (let i = 0; i < 3; i++) await collectAll(helper(new Source(three), { signal }))
    for await (const _ of helper(new Source(three), { signal })) break
    expect(listeners).toBe(0)
  })
})

describe('the release of the source', () => {
  it('is awaited, and its error is passed on', async () => {
    let open = true
    async function* source() {
      try {
        yield* three
      } finally {
        await new Promise(resolve => setTimeout(resolve, 5))
        open = false
      }
    }
    for await (const _ of take(skip(source(), 1), 1));
    expect(open).toBe(false)

    async function* stubborn() {
      try {
        yield* three
      } finally {
        // biome-ignore lint/correctness/noUnsafeFinally: what the source does on release
        throw goneError
      }
    }
    const leave = async () => {
      for await (const _ of skip(stubborn(), 0)) break
    }
    await expect(leave()).rejects.toBe(goneError)
  })

  it('is not awaited for a generator that never settles', async () => {
    async function* silent(): AsyncGenerator<Entry> {
      yield entry(1)
      await new Promise(() => {})
    }
    const stream = filterWith(silent(), () => true)
    await stream.next()
    const next = stream.next()
    await (stream.return?.() as Promise<unknown>)
    expect(await next).toEqual({ done: true, value: undefined })
  })

  it('passes on an error that the source throws synchronously', async () => {
    const source = {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          throw goneError
        },
      }),
    }
    await expect(collectAll(take(source, 1))).rejects.toBe(goneError)
    const locked = {
      [Symbol.asyncIterator]: () => {
        throw goneError
      },
    }
    await expect(collectAll(take(locked, 1))).rejects.toBe(goneError)
  })

  it('does not need a `return` of the source', async () => {
    const source = { [Symbol.asyncIterator]: () => ({ next: async () => ({ done: false as const, value: 1 }) }) }
    expect(await collectAll(take(source, 2))).toEqual([1, 1])
  })
})

const collectors: [string, (stream: AsyncIterable<Entry>, options?: StreamOptions) => Promise<unknown>][] = [
  ['collectAll', collectAll],
  ['collectText', collectText],
]

describe.each(collectors)('%s', (_, collect) => {
  it('throws the reason and releases the source when aborted while the source is silent', async () => {
    const source = new Source(three, 'silence')
    const controller = new AbortController()
    const done = collect(source, controller)
    setTimeout(() => controller.abort(goneError), 5)
    await expect(done).rejects.toBe(goneError)
    expect(source.returns).toBe(1)
  })

  it('passes on an error', async () => {
    await expect(collect(new Source(three, goneError))).rejects.toBe(goneError)
  })
})
