import type { StoredBatch } from '../../store/log-store.ts'
import { batch, guest, textsOf } from '../writer.ts'
import { appendFault, type Mutant, yields } from './mutant.fixture.ts'

const WHOLE = 'sequences start at 1 without gaps, and each batch is contiguous'
const AT_ONCE = 'concurrent appends get contiguous batches without gap or overlap'
const UNTOUCHED = 'a discard, a rewind or an end changes no earlier batch'

/** A discard that changes earlier batches. */
const discard = (fault: string, change: (batches: StoredBatch[]) => StoredBatch[]): Mutant => ({
  fault,
  caught: { [UNTOUCHED]: /the batches before a step-discarded/ },
  within: ['tickets'],
  handle: appendFault(({ log, batch, go }) => {
    if (batch.body.includes('"step-discarded"') && log.batches.length > 1) log.batches = change(log.batches)
    return go()
  }),
})

/** Faults in the order and the wholeness of entries (laws 1, 3 and 6). */
export const entries: readonly Mutant[] = [
  {
    fault: 'a batch is stored as two, with other batches between them',
    caught: { [WHOLE]: /the batches/, [AT_ONCE]: /the log, compared with the acknowledgements/ },
    within: ['order', 'reading', 'outcomes', 'keys', 'trimming', 'forking', 'restarts'],
    handle: appendFault(async ({ log, batch: { body, count }, by, ticket, go }) => {
      if (count < 2 || ticket !== undefined || !body.startsWith('[{"text"')) return go()
      const [first = '', ...rest] = textsOf(body)
      const result = await go({ batch: batch(first) })
      if (result.outcome !== 'appended') return result
      await yields()
      const second = await go({ batch: batch(...rest), by: guest() })
      if ('epoch' in by) log.mark = by.epoch
      log.batches.push({ ...(log.batches.pop() as StoredBatch), mark: log.mark })
      return { ...result, last: 'last' in second ? second.last : result.last }
    }),
  },
  {
    fault: 'the second part of a batch is lost',
    caught: { [AT_ONCE]: /the entries of the batch at|the log, compared/, [WHOLE]: /the batches/ },
    within: ['order', 'watching'],
    handle: appendFault(({ batch: { body, count }, go }) =>
      count < 2 || !body.startsWith('[{"text"')
        ? go()
        : go({ batch: { body: JSON.stringify([{ text: textsOf(body)[0] }]), count } }),
    ),
  },
  {
    fault: 'sequences are given before the lock is held',
    caught: { [AT_ONCE]: /the first sequence of the batch/ },
    within: ['order', 'keys', 'watching', 'restarts'],
    handle: appendFault(async ({ log, ticket, go }) => {
      const { head } = log
      await yields()
      if (ticket === undefined && log.head > head && log.floor <= head) log.head = head
      return go()
    }),
  },
  {
    fault: 'a page and its head are read separately',
    caught: { 'a page is a consistent read while other writers append': /the head: expected|the mark of the head/ },
    within: ['order', 'tickets'],
    handle: () => store => ({
      read: async (id, after, limit) => {
        const page = await store.read(id, after, limit)
        await yields()
        const later = page && (await store.read(id, after, { ...limit, batches: 0 }))
        return later && { ...later, batches: page.batches, truncated: page.truncated }
      },
    }),
  },
  {
    fault: 'timestamps decrease with the clock',
    caught: { 'timestamps do not decrease when the clock is moved back': /timestamps never decrease/ },
    within: ['order'],
    handle: appendFault(({ log, go }) => {
      log.timestamp = 0
      return go()
    }),
  },
  {
    fault: 'an append returns the time instead of its timestamp',
    caught: { 'timestamps do not decrease when the clock is moved back': /the timestamp that each append returned/ },
    within: ['order'],
    handle: memory =>
      appendFault(async ({ go }) => {
        const result = await go()
        return result.outcome === 'appended' ? { ...result, clock: memory.clock() } : result
      })(memory),
  },
  {
    fault: 'timestamps are those of the process that appends',
    caught: { 'timestamps come from the clock of the store and never decrease': /timestamps never decrease/ },
    within: ['order'],
    handle: memory => {
      let handles = 0
      return store => {
        const skew = (handles++ % 2) * 5000
        const { append } = appendFault(async ({ log, go }) => {
          const result = await go()
          const last = log.batches.at(-1)
          if (result.outcome === 'appended' && last)
            log.batches[log.batches.length - 1] = { ...last, timestamp: last.timestamp - skew }
          return result
        })(memory)(store)
        return { append } as Partial<typeof store>
      }
    },
  },
  {
    fault: 'a sequence is reused after a trim of everything',
    caught: { 'trim: sequences continue after a trim of everything': /expected/ },
    within: ['trimming', 'regression'],
    handle: memory => store => ({
      trim: async (id, floor, version) => {
        const trimmed = await store.trim(id, floor, version)
        const log = memory.logs.get(id)
        if (log && log.batches.length === 0) Object.assign(log, { head: 0, mark: '0' })
        return trimmed
      },
    }),
  },
  {
    fault: 'a sequence is reused after a removal',
    caught: { 'remove: a log created again under the same id is a different log': /the incarnation is new/ },
    within: ['removal'],
    handle: memory => {
      const incarnations = new Map<string, string>()
      return store => ({
        remove: (id, version) => {
          incarnations.set(id, memory.logs.get(id)?.incarnation ?? '')
          return store.remove(id, version)
        },
        create: async (id, principal) => {
          const created = await store.create(id, principal)
          const [log, incarnation] = [memory.logs.get(id), incarnations.get(id)]
          if (created && log && incarnation) Object.assign(log, { incarnation, version: `0.${incarnation}.0` })
          return created
        },
      })
    },
  },
  {
    fault: 'the size is checked after a sequence was assigned',
    caught: {
      'an append that was too large changes no sequence, key, counter or ticket': /the log after the refused calls/,
    },
    within: ['texts', 'outcomes'],
    handle: appendFault(async ({ log, go }) => {
      const result = await go()
      if (result.outcome === 'too-large') log.head++
      return result
    }),
  },
  {
    fault: 'the size is counted in characters instead of bytes',
    caught: { 'bytes are counted, not characters': /expected "too-large", found "appended/ },
    within: ['texts'],
    handle: appendFault(async ({ log, batch, go }) => {
      const result = await go()
      if (result.outcome !== 'too-large' || batch.body.length > 64 * 1024) return result
      const small = await go({ batch: { body: '[]', count: batch.count } })
      log.batches.push({ ...(log.batches.pop() as StoredBatch), body: batch.body })
      return small
    }),
  },
  discard("a discard removes a neighbour's draft from the log", batches =>
    batches.map((each, i) => (i === 0 ? { ...each, body: '[]' } : each)),
  ),
  discard("a discard deletes a guest's entry", batches => batches.filter(({ first }) => first !== 3)),
  discard('a discard deletes what was written since the guest', batches => batches.filter(({ first }) => first <= 3)),
  {
    fault: 'a body is parsed and serialised again',
    caught: { 'a body is returned unchanged for any JSON text': /whether the body/ },
    within: ['texts'],
    handle: appendFault(({ batch, go }) => go({ batch: { ...batch, body: JSON.stringify(JSON.parse(batch.body)) } })),
  },
]
