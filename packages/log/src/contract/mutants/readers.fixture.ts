import type { Page } from '../../store/log-store.ts'
import { appendFault, type Mutant } from './mutant.fixture.ts'

const MOVES = 'watch: a claim, a trim and a removal wake, from any handle'

/** Faults in cursors and wake-ups (law 2). */
export const readers: readonly Mutant[] = [
  {
    fault: 'a cursor is not checked against the mark of its entry',
    caught: { 'a cursor with another mark than the entry there is truncated': /expected \{"truncated":"epoch"/ },
    within: ['reading', 'trimming', 'forking'],
    handle: () => store => ({
      read: async (id, after, limit) => {
        const page = await store.read(id, after, limit)
        return page?.truncated === 'epoch' ? store.read(id, { sequence: after.sequence }, limit) : page
      },
    }),
  },
  {
    fault: 'a cursor past the head gets an empty page',
    caught: { 'a cursor past the head is truncated instead of an empty page': /expected \{"truncated":"past-head"/ },
    within: ['reading'],
    handle: () => store => ({
      read: async (id, after, limit) => {
        const page = await store.read(id, after, limit)
        return page?.truncated === 'past-head' ? { ...page, truncated: null } : page
      },
    }),
  },
  {
    fault: 'a cursor below the floor continues at the floor',
    caught: {
      'a cursor below the floor is truncated, one at the floor is not': /expected \{"truncated":"below-floor"/,
    },
    within: ['reading', 'trimming', 'forking'],
    handle: () => store => ({
      read: async (id, after, limit) => {
        const page = await store.read(id, after, limit)
        return page?.truncated === 'below-floor' ? store.read(id, { sequence: page.floor }, limit) : page
      },
    }),
  },
  {
    fault: 'a cursor is not checked against the incarnation',
    caught: {
      'a cursor of another incarnation is truncated, before all other reasons': /expected \{"truncated":"incarnation"/,
      'cursors from before a regression are truncated': /expected \["incarnation"/,
      'remove: a log created again under the same id is a different log': /an old cursor/,
    },
    within: ['reading', 'regression', 'removal', 'forking'],
    handle: memory => store => ({
      read: (id, after, limit) => {
        const incarnation = memory.logs.get(id)?.incarnation
        return store.read(id, after.epoch && incarnation ? { ...after, incarnation } : after, limit)
      },
    }),
  },
  {
    fault: 'the incarnation is not checked first',
    caught: {
      'a cursor of another incarnation is truncated, before all other reasons': /found \{"truncated":"(past|below)-/,
    },
    within: ['reading', 'regression'],
    handle: () => store => ({
      read: async (id, after, limit) => {
        const page = await store.read(id, after, limit)
        return page?.truncated === 'incarnation' ? { ...page, truncated: bounds(page, after.sequence) } : page
      },
    }),
  },
  {
    fault: 'a truncated page holds batches',
    caught: { 'a cursor of another incarnation is truncated, before all other reasons': /"batches":\[\{/ },
    within: ['reading', 'regression', 'removal'],
    handle: () => store => ({
      read: async (id, after, limit) => {
        const page = await store.read(id, after, limit)
        if (!page?.truncated) return page
        const sequence = Math.max(page.floor, Math.min(after.sequence, page.head))
        return { ...page, batches: (await store.read(id, { sequence }, limit))?.batches ?? [] }
      },
    }),
  },
  {
    fault: 'a cursor inside a batch skips the rest of it',
    caught: { 'a read returns all whole batches that end after the cursor': /the batches after/ },
    within: ['reading', 'trimming', 'forking', 'restarts'],
    handle: () => store => ({
      read: async (id, after, limit) => {
        const page = await store.read(id, after, limit)
        return page && { ...page, batches: page.batches.filter(({ first }) => first > after.sequence) }
      },
    }),
  },
  {
    fault: 'a read ignores its byte limit',
    caught: {
      'a read stops after the batch that reaches the byte limit, and returns at least one batch': /of one byte/,
    },
    within: ['reading', 'invalidArguments'],
    handle: () => store => ({ read: (id, after, limit) => store.read(id, after, { ...limit, bytes: 2 ** 30 }) }),
  },
  {
    fault: 'an append by another handle does not wake',
    caught: {
      'watch: every append wakes, from another handle': /expected a wake-up that shows append 1/,
      'watch: the last of many appends wakes': /expected a wake-up that shows/,
    },
    within: ['watching', 'removal', 'restarts'],
    handle: () => store => {
      const listeners = new Map<string, Set<() => void>>()
      const wake = (id: string) => {
        for (const each of listeners.get(id) ?? []) each()
      }
      const waking =
        <A extends [string, ...unknown[]], R>(call: (...args: A) => Promise<R>) =>
        async (...args: A): Promise<R> => {
          const result = await call.apply(store, args)
          wake(args[0])
          return result
        }
      return {
        watch: (id, call) => {
          listeners.set(id, (listeners.get(id) ?? new Set()).add(call))
          return () => listeners.get(id)?.delete(call)
        },
        append: waking(store.append),
        claim: waking(store.claim),
        trim: waking(store.trim),
        remove: waking(store.remove),
        close: async () => {
          listeners.clear()
          await store.close()
        },
      }
    },
  },
  {
    fault: 'a restoration does not wake',
    caught: {
      'watch: a release, a fork into the log and a restoration wake': /expected a wake-up that shows a restoration/,
    },
    within: ['watching'],
    handle: memory => store => ({
      restored: async () => {
        const watchers = new Map(memory.watchers)
        memory.watchers.clear()
        const count = await store.restored()
        for (const [id, wakes] of watchers) memory.watchers.set(id, wakes)
        return count
      },
    }),
  },
  {
    fault: 'a regression does not wake',
    caught: {
      'watch: an append that finds the log regressed wakes, from any handle':
        /expected a wake-up that shows the new incarnation/,
    },
    within: ['watching'],
    handle: appendFault(async ({ log, streamId, go }, memory) => {
      const { incarnation } = log
      const watchers = memory.watchers.get(streamId)
      memory.watchers.delete(streamId)
      const result = go()
      if (watchers) memory.watchers.set(streamId, watchers)
      if (log.incarnation === incarnation) memory.wake(streamId)
      return result
    }),
  },
  {
    fault: 'a watch starts late',
    caught: { 'watch: an append right after the start of the watch wakes': /expected a wake-up that shows/ },
    within: ['watching', 'removal', 'restarts'],
    handle: () => store => ({
      watch: (id, wake) => {
        let stop: () => void = () => {}
        const timer = setImmediate(() => {
          stop = store.watch(id, wake)
        })
        return () => {
          clearImmediate(timer)
          stop()
        }
      },
    }),
  },
  {
    fault: 'a watch wakes once',
    caught: {
      'watch: every append wakes, from the same handle': /expected a wake-up that shows append 2/,
    },
    within: ['watching', 'removal', 'restarts'],
    handle: () => store => ({
      watch: (id, wake) => {
        const stop = store.watch(id, () => {
          stop()
          wake()
        })
        return stop
      },
    }),
  },
  {
    fault: 'every third wake-up is missed',
    caught: { 'watch: every append wakes, from another handle': /expected a wake-up that shows append 3/ },
    within: ['watching', 'restarts'],
    handle: () => store => ({
      watch: (id, wake) => {
        let count = 0
        return store.watch(id, () => {
          if (++count % 3 !== 0) wake()
        })
      },
    }),
  },
  ...(['claim', 'trim', 'remove'] as const).map(
    (call): Mutant => ({
      fault: `a ${call} does not wake`,
      caught: { [MOVES]: /expected a wake-up that shows a (claim|trim|removal)/ },
      within: ['watching'],
      handle: memory => store => {
        const quietly =
          <A extends [string, ...unknown[]], R>(run: (...args: A) => Promise<R>) =>
          (...args: A): Promise<R> => {
            const watchers = memory.watchers.get(args[0])
            memory.watchers.delete(args[0])
            const done = run.apply(store, args)
            if (watchers) memory.watchers.set(args[0], watchers)
            return done
          }
        const { claim, trim, remove } = store
        return { claim: { claim: quietly(claim) }, trim: { trim: quietly(trim) }, remove: { remove: quietly(remove) } }[
          call
        ]
      },
    }),
  ),
  {
    fault: 'wake-ups name the head before the append',
    caught: { 'watch: every append wakes, from the same handle': /expected a wake-up that shows append 2/ },
    within: ['watching', 'restarts', 'removal'],
    handle: () => store => ({
      watch: (id, wake) => store.watch(id, head => wake(head === undefined ? undefined : head - 1)),
    }),
  },
  {
    fault: 'wake-ups of other changes name the head',
    caught: { [MOVES]: /expected a wake-up that shows a (claim|takeover|trim|removal)/ },
    within: ['watching', 'restarts', 'removal'],
    handle: memory => store => ({
      watch: (id, wake) => store.watch(id, () => wake(memory.logs.get(id)?.head)),
    }),
  },
  {
    fault: 'stop does not stop',
    caught: { 'watch: stop ends only its own watch': /the wake-ups after stop/ },
    within: ['watching'],
    handle: () => store => ({
      watch: (id, wake) => {
        store.watch(id, wake)
        return () => {}
      },
    }),
  },
  {
    fault: 'a restart ends all watches',
    caught: { 'restart: a watch continues and misses no later append': /expected a wake-up that shows append 2/ },
    within: ['restarts'],
    restart: memory => memory.watchers.clear(),
  },
  {
    fault: 'a restart loses the tail without a new incarnation',
    caught: { 'restart: acknowledged data is unchanged': /the log: expected/ },
    within: ['restarts'],
    restart: memory => {
      for (const log of memory.logs.values()) {
        log.batches.pop()
        const end = log.batches.at(-1)
        Object.assign(log, { head: end?.last ?? log.floor, mark: end?.mark ?? log.floorMark })
      }
    },
  },
]

function bounds({ head, floor }: Page, sequence: number): Page['truncated'] {
  if (sequence > head) return 'past-head'
  return sequence < floor ? 'below-floor' : 'incarnation'
}
