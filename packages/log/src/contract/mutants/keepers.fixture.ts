import type { LogStore } from '../../store/log-store.ts'
import { appendFault, type Mutant } from './mutant.fixture.ts'

const MANY = 100_000

/** Faults in due, retention, forks, lists and removal. */
export const keepers: readonly Mutant[] = [
  {
    fault: 'due forgets deadlines',
    caught: {
      'due: a deadline is due once the clock of the store has passed it': /deadlines that have/,
    },
    within: ['due'],
    handle: appendFault(async ({ log, ticket, go }) => {
      const result = await go()
      if (typeof ticket?.next.due.at === 'number') log.dueAt = null
      return result
    }),
  },
  {
    fault: 'due ignores the time of a deadline',
    caught: {
      'due: a deadline is due once the clock of the store has passed it': /deadlines that have/,
    },
    within: ['due', 'invalidArguments'],
    handle: appendFault(async ({ log, ticket, go }) => {
      const result = await go()
      if (ticket && log.dueAt !== null) log.dueAt = Math.min(log.dueAt, log.touchedAt)
      return result
    }),
  },
  {
    fault: 'due forgets a log that was released',
    caught: { 'due: a live lease hides a log; an expired or released lease does not': /a log that was released/ },
    within: ['due'],
    handle: memory => store => ({
      release: async (id, epoch) => {
        const log = memory.logs.get(id)
        if (log?.epoch === epoch) log.dueAt = null
        await store.release(id, epoch)
      },
    }),
  },
  {
    fault: 'due forgets a log whose lease ran out',
    caught: { 'due: a live lease hides a log; an expired or released lease does not': /a log whose lease ran out/ },
    within: ['due', 'invalidArguments'],
    handle: memory => store => ({
      due: async (programs, limit) =>
        (await store.due(programs, MANY)).filter(id => memory.logs.get(id)?.lease === null).slice(0, limit),
    }),
  },
  {
    fault: 'due ignores leases',
    caught: {
      'due: a live lease hides a log; an expired or released lease does not': /a log under a live lease is not due/,
    },
    within: ['due', 'restarts'],
    handle: memory => store => ({
      due: (programs, limit) => {
        const leases = [...memory.logs.values()].map(log => [log, log.lease] as const)
        for (const [log] of leases) log.lease = null
        const found = store.due(programs, limit)
        for (const [log, lease] of leases) log.lease = lease
        return found
      },
    }),
  },
  {
    fault: 'due stops at a log of another program',
    caught: { 'due: a ticket is due to its program alone, or to every driver': /the logs due to 1 programs/ },
    within: ['due', 'invalidArguments'],
    handle: memory => store => ({
      due: async (programs, limit) => {
        const every = [...memory.logs.values()].map(({ ticket }) => ticket.due.program ?? '')
        const all = await store.due(every, MANY)
        const dueIds = new Set(await store.due(programs, MANY))
        const end = all.findIndex(id => !dueIds.has(id))
        return all.slice(0, end < 0 ? limit : Math.min(end, limit))
      },
    }),
  },
  {
    fault: 'due counts logs of other programs into its limit',
    caught: { 'due: returns at most the limit, longest due first': /a limit of 1/ },
    within: ['due'],
    handle: memory => store => ({
      due: async (programs, limit) => {
        const every = [...memory.logs.values()].map(({ ticket }) => ticket.due.program ?? '')
        const dueIds = new Set(await store.due(programs, MANY))
        return (await store.due(every, limit)).filter(id => dueIds.has(id))
      },
    }),
  },
  {
    fault: 'due omits logs that are due to every driver',
    caught: { 'due: a ticket is due to its program alone, or to every driver': /the logs due to/ },
    within: ['due', 'invalidArguments'],
    handle: memory => store => ({
      due: async (programs, limit) =>
        (await store.due(programs, MANY))
          .filter(id => memory.logs.get(id)?.ticket.due.program !== null)
          .slice(0, limit),
    }),
  },
  {
    fault: 'a fork shares entries with its source',
    caught: { 'fork: shares nothing with its source': /the fork after changes of the source/ },
    within: ['forking'],
    handle: memory => store => ({
      fork: async (source, at, target, fork) => {
        const result = await store.fork(source, at, target, fork)
        const [from, to] = [memory.logs.get(source), memory.logs.get(target)]
        if (result === 'forked' && from && to && to.head === from.head) to.batches = from.batches
        return result
      },
    }),
  },
  {
    fault: 'a fork shares keys with its source',
    caught: { 'fork: shares nothing with its source': /a later key of the source/ },
    within: ['forking'],
    handle: memory => store => ({
      fork: async (source, at, target, fork) => {
        const result = await store.fork(source, at, target, fork)
        const [from, to] = [memory.logs.get(source), memory.logs.get(target)]
        if (result === 'forked' && from && to) memory.logs.set(target, { ...to, keys: from.keys })
        return result
      },
    }),
  },
  {
    fault: 'a fork is removed with its source',
    caught: { 'fork: outlives the removal of its source': /read of the log/ },
    within: ['forking'],
    handle: memory => {
      const forks = new Map<string, string>()
      return store => ({
        fork: async (source, at, target, fork) => {
          const result = await store.fork(source, at, target, fork)
          if (result === 'forked') forks.set(source, target)
          return result
        },
        remove: (id, version) => {
          const fork = forks.get(id)
          if (fork !== undefined) memory.logs.delete(fork)
          return store.remove(id, version)
        },
      })
    },
  },
  {
    fault: 'a fork has the incarnation of its source',
    caught: {
      'fork: has a new incarnation, so that cursors of its source are truncated': /the number of incarnations/,
    },
    within: ['forking'],
    handle: memory => store => ({
      fork: async (source, at, target, fork) => {
        const result = await store.fork(source, at, target, fork)
        const [from, to] = [memory.logs.get(source), memory.logs.get(target)]
        if (result === 'forked' && from && to) to.incarnation = from.incarnation
        return result
      },
    }),
  },
  {
    fault: 'a fork inside a batch has the whole batch',
    caught: {
      'fork: has the entries up to its position, also inside a batch, and its own ticket': /head of a fork/,
    },
    within: ['forking'],
    handle: memory => store => ({
      fork: (source, at, target, fork) => {
        const around = memory.logs.get(source)?.batches.find(({ first, last }) => first <= at && at < last)
        return store.fork(source, around?.last ?? at, target, fork)
      },
    }),
  },
  {
    fault: 'a trim drops keys that are kept',
    caught: { 'trim: deletes the keys of its entries except kept ones': /the keys gone,kept/ },
    within: ['trimming', 'forking'],
    handle: memory => store => ({
      trim: async (id, floor, version) => {
        const trimmed = await store.trim(id, floor, version)
        const log = memory.logs.get(id)
        for (const [key, { last }] of log?.keys ?? []) if (last <= (log?.floor ?? 0)) log?.keys.delete(key)
        return trimmed
      },
    }),
  },
  {
    fault: 'a trim leaves the keys of its entries',
    caught: { 'trim: deletes the keys of its entries except kept ones': /the keys gone,kept/ },
    within: ['trimming', 'forking'],
    handle: memory => store => ({
      trim: async (id, floor, version) => {
        const keys = new Map(memory.logs.get(id)?.keys)
        const trimmed = await store.trim(id, floor, version)
        for (const [key, range] of keys) memory.logs.get(id)?.keys.set(key, range)
        return trimmed
      },
    }),
  },
  {
    fault: 'a trim forgets the mark at the floor',
    caught: { 'a cursor below the floor is truncated, one at the floor is not': /a cursor at the floor|expected null/ },
    within: ['trimming', 'reading', 'forking', 'regression'],
    handle: memory => store => ({
      trim: async (id, floor, version) => {
        const trimmed = await store.trim(id, floor, version)
        const log = memory.logs.get(id)
        if (log && log.floor > 0) log.floorMark = '0'
        return trimmed
      },
    }),
  },
  {
    fault: 'a trim ignores the version',
    caught: {
      'trim: with a version, drops entries only if the ticket still has that version': /expected false, found true/,
    },
    within: ['trimming'],
    handle: () => store => ({ trim: (id, floor) => store.trim(id, floor) }),
  },
  {
    fault: 'a trim leaves the version',
    caught: { 'trim: a decision on the version before the trim is refused as moved': /expected false, found true/ },
    within: ['trimming', 'tickets'],
    handle: memory => store => ({
      trim: async (id, floor, ifVersion) => {
        const log = memory.logs.get(id)
        const version = log?.version ?? ''
        const trimmed = await store.trim(id, floor, ifVersion)
        if (log) log.version = version
        return trimmed
      },
    }),
  },
  {
    fault: 'a list loses logs that were touched at the same time',
    caught: { 'list: pages of any size return every log once, also with equal times': /pages of 1:/ },
    within: ['listing'],
    handle: memory => store => ({
      list: async (principal, limit, after) => {
        if (after === undefined) return store.list(principal, limit)
        const [touchedAt] = JSON.parse(after) as [number]
        const page = await store.list(principal, MANY, after)
        const streams = page.streams.filter(line => line.touchedAt < touchedAt)
        const end = streams[limit - 1]
        const next = end && streams.length > limit ? JSON.stringify([end.touchedAt, end.streamId]) : null
        return memory.logs.size > 0 ? { streams: streams.slice(0, limit), next } : page
      },
    }),
  },
  {
    fault: 'a list shows the logs of all principals',
    caught: { 'list: each principal, also null, has a separate list': /the logs of one principal/ },
    within: ['listing', 'texts'],
    handle: memory => (store: LogStore) => ({
      list: async (principal, limit, after) => {
        const others = new Set([...memory.logs.values()].map(log => log.principal).filter(each => each !== principal))
        const pages = await Promise.all([...others].map(each => store.list(each, limit)))
        const listPage = await store.list(principal, limit, after)
        return {
          ...listPage,
          streams: [...listPage.streams, ...pages.flatMap(({ streams }) => streams)].slice(0, limit),
        }
      },
    }),
  },
  {
    fault: 'an oldest row does not show that its log is leased',
    caught: {
      'listOldest: a row has the head, floor, ticket, times and lease of its log': /the row of a claimed log/,
    },
    within: ['listingOldest'],
    handle: () => store => ({
      listOldest: async (limit, after) => {
        const page = await store.listOldest(limit, after)
        return { ...page, streams: page.streams.map(log => ({ ...log, lease: null })) }
      },
    }),
  },
  {
    fault: 'the oldest logs are those that were created first',
    caught: {
      'listOldest: lists the logs of all principals, least recently touched first; only a ticket move touches a log':
        /the logs after one was touched/,
    },
    within: ['listingOldest', 'invalidArguments'],
    handle: () => store => ({
      listOldest: async (limit, after = '0') => {
        if (!/^\d+$/.test(after)) return store.listOldest(limit, after)
        const { streams, clock } = await store.listOldest(MANY)
        const end = Number(after) + limit
        const page = streams.toSorted((a, b) => a.createdAt - b.createdAt).slice(Number(after), end)
        return { streams: page, next: end < streams.length ? `${end}` : null, clock }
      },
    }),
  },
  {
    fault: 'the oldest logs are those without a principal',
    caught: {
      'listOldest: lists the logs of all principals, least recently touched first; only a ticket move touches a log':
        /the order of their creation/,
    },
    within: ['listingOldest'],
    handle: memory => store => ({
      listOldest: async (limit, after) => {
        const page = await store.listOldest(limit, after)
        return { ...page, streams: page.streams.filter(log => memory.logs.get(log.streamId)?.principal === null) }
      },
    }),
  },
  {
    fault: 'an oldest page loses logs that were touched at the same time',
    caught: {
      'listOldest: pages of any size return every log once, also with equal times': /oldest pages of 1:/,
    },
    within: ['listingOldest'],
    handle: () => store => ({
      listOldest: async (limit, after) => {
        if (after === undefined) return store.listOldest(limit)
        const [touchedAt] = JSON.parse(after) as [number]
        const { clock, ...page } = await store.listOldest(MANY, after)
        const streams = page.streams.filter(log => log.touchedAt > touchedAt)
        const end = streams[limit - 1]
        const next = end && streams.length > limit ? JSON.stringify([end.touchedAt, end.streamId]) : null
        return { streams: streams.slice(0, limit), next, clock }
      },
    }),
  },
  {
    fault: 'an oldest page continues at an offset',
    caught: {
      'listOldest: the next page continues when logs of earlier and later pages were removed or touched':
        /after one that was removed/,
    },
    within: ['listingOldest', 'invalidArguments'],
    handle: () => store => ({
      listOldest: async (limit, after = '0') => {
        if (!/^\d+$/.test(after)) return store.listOldest(limit, after)
        const { streams, clock } = await store.listOldest(MANY)
        const end = Number(after) + limit
        return { streams: streams.slice(Number(after), end), next: end < streams.length ? `${end}` : null, clock }
      },
    }),
  },
  {
    fault: 'an oldest page with an invalid token is the first one',
    caught: { 'listOldest: rejects a token that no page returned as invalid': /expected a rejection/ },
    within: ['listingOldest'],
    handle: () => store => ({
      listOldest: (limit, after) => store.listOldest(limit, after).catch(() => store.listOldest(limit)),
    }),
  },
  {
    fault: 'remove ignores the version',
    caught: {
      'remove: with a version, deletes the log only if the ticket still has that version': /expected false, found true/,
    },
    within: ['removal', 'trimming'],
    handle: () => store => ({ remove: id => store.remove(id) }),
  },
  {
    fault: 'restored leaves leases and epochs',
    caught: {
      'restored: gives every log a new incarnation, ends leases and epochs, and leaves the rest unchanged':
        /the leases/,
    },
    within: ['removal'],
    handle: memory => store => ({
      restored: async () => {
        const before = [...memory.logs.values()].map(log => [log, log.lease, log.epoch] as const)
        const count = await store.restored()
        for (const [log, lease, epoch] of before) Object.assign(log, { lease, epoch })
        return count
      },
    }),
  },
  {
    fault: 'snapshots are kept by insertion order',
    caught: {
      'snapshots: keeps the given number of newest ones, by sequence': /the snapshots after an older one was put/,
    },
    within: ['snapshotsAndBlobs', 'invalidArguments'],
    handle: memory => store => ({
      putSnapshot: async (id, snapshot, keep) => {
        await store.putSnapshot(id, snapshot, MANY)
        const log = memory.logs.get(id)
        if (log === undefined) return
        const others = log.snapshots.filter(({ sequence }) => sequence !== snapshot.sequence)
        log.snapshots = [snapshot, ...others.slice(0, keep - 1)].sort((a, b) => b.sequence - a.sequence)
      },
    }),
  },
  {
    fault: 'the snapshot at the floor is deleted with the old ones',
    caught: { 'snapshots: always keeps the newest at or below the floor': /found \[9,8\]/ },
    within: ['snapshotsAndBlobs'],
    handle: memory => store => ({
      putSnapshot: async (id, snapshot, keep) => {
        await store.putSnapshot(id, snapshot, keep)
        const log = memory.logs.get(id)
        if (log) log.snapshots = log.snapshots.slice(0, keep)
      },
    }),
  },
  {
    fault: 'blobs are kept as text',
    caught: { 'blobs: every handle returns the stored bytes': /the blob 'every'|the blob 'not-utf8'/ },
    within: ['snapshotsAndBlobs', 'restarts'],
    handle: () => store => ({
      putBlob: (id, hash, data) => store.putBlob(id, hash, Buffer.from(Buffer.from(data).toString())),
    }),
  },
  {
    fault: 'blobs are measured whatever their hash begins with',
    caught: {
      'blobs: measures those of a log or a principal by the beginning of their hash': /the blobs a-\* of a log/,
    },
    within: ['snapshotsAndBlobs', 'invalidArguments'],
    handle: () => store => ({
      blobUsage: async scope => (await store.blobUsage?.(scope, '')) ?? { count: 0, bytes: 0 },
    }),
  },
  {
    fault: 'a probe of writes overwrites a blob',
    caught: { 'a probe of writes changes no log': /a blob after a probe/ },
    within: ['snapshotsAndBlobs'],
    handle: memory => () => ({
      probeWrite: async () => {
        for (const { blobs } of memory.logs.values())
          for (const hash of blobs.keys()) blobs.set(hash, new Uint8Array(1))
      },
    }),
  },
  {
    fault: 'a lone surrogate is replaced by another character',
    caught: { 'rejects names with lone surrogates as invalid': /create, of "\\ud800": expected a rejection/ },
    within: ['invalidArguments'],
    handle: () => store => ({ create: (id, principal) => store.create(id.toWellFormed(), principal) }),
  },
  {
    fault: 'an invalid limit means no limit',
    caught: {
      'rejects invalid counts and sequences as invalid': /a limit of due logs of NaN: expected a rejection/,
    },
    within: ['invalidArguments'],
    handle: () => store => ({ due: (programs, limit) => store.due(programs, Number.isNaN(limit) ? MANY : limit) }),
  },
  {
    fault: 'a distant deadline means never',
    caught: { 'rejects inexact deadlines as invalid': /a due at Infinity: expected a rejection/ },
    within: ['invalidArguments'],
    handle: appendFault(({ ticket, go }) => {
      const at = ticket?.next.due.at
      if (!ticket || typeof at !== 'number' || !(at > Number.MAX_SAFE_INTEGER)) return go()
      return go({ ticket: { ...ticket, next: { ...ticket.next, due: { ...ticket.next.due, at: null } } } })
    }),
  },
  {
    fault: 'similar names collide',
    caught: { 'a stream id is any text, and different ids never collide': /expected true, found false/ },
    within: ['texts'],
    handle: () => store => ({
      create: (id, principal) => store.create(id.normalize(), principal),
    }),
  },
]
