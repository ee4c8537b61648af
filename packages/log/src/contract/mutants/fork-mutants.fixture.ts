import type { ForkResult } from '../../store/log-store.ts'
import { type Mutant, yields } from './mutant.fixture.ts'

/** Faults in what lies beside the entries, and in copies of them. */
export const copies: readonly Mutant[] = [
  {
    fault: 'the newest snapshot is given, whatever was asked for',
    caught: { 'snapshots: the newest at or below a sequence is given, as it was put': /the snapshots at or below/ },
    within: ['keeping', 'forking', 'calls'],
    handle: memory => store => ({
      getSnapshot: (id, atMost) =>
        store.getSnapshot(id, memory.logs.get(id)?.snapshots.length === 1 ? atMost : 2 ** 40),
    }),
  },
  {
    fault: 'a snapshot at the same sequence stays beside the new one',
    caught: { 'snapshots: one at the same sequence is replaced': /which still counts as the second/ },
    within: ['keeping'],
    handle: memory => store => ({
      putSnapshot: async (id, snapshot, keep) => {
        const log = memory.logs.get(id)
        const twin = log?.snapshots.find(({ sequence }) => sequence === snapshot.sequence)
        await store.putSnapshot(id, snapshot, keep)
        if (log && twin) log.snapshots = [snapshot, twin, ...log.snapshots.slice(1)].slice(0, keep)
      },
    }),
  },
  {
    fault: "a snapshot's body is read and written anew",
    caught: { 'snapshots: a large body of any text comes back as it was': /whether the body is the same/ },
    within: ['keeping'],
    handle: () => store => ({
      putSnapshot: (id, snapshot, keep) => store.putSnapshot(id, { ...snapshot, body: anew(snapshot.body) }, keep),
    }),
  },
  {
    fault: 'a blob belongs to every log',
    caught: { 'blobs: belong to their log, and go with it and with no other': /in a log that was not given it/ },
    within: ['keeping', 'forking'],
    handle: memory => store => ({
      getBlob: async (id, hash) => {
        const found = await store.getBlob(id, hash)
        const [other] = [...memory.logs.values()].flatMap(({ blobs }) => blobs.get(hash) ?? [])
        return memory.logs.has(id) ? (found ?? other) : found
      },
    }),
  },
  {
    fault: 'blobs outlive their log',
    caught: { 'remove: takes all there is of a log, and tells whether there was one': /getBlob: expected undefined/ },
    within: ['keeping', 'removal'],
    handle: memory => {
      const left = new Map<string, ReadonlyMap<string, Uint8Array>>()
      return store => ({
        remove: (id, version) => {
          const blobs = memory.logs.get(id)?.blobs
          if (blobs) left.set(id, blobs)
          return store.remove(id, version)
        },
        getBlob: async (id, hash) => (await store.getBlob(id, hash)) ?? left.get(id)?.get(hash),
      })
    },
  },
  {
    fault: 'a trim takes the entries before the floor has risen',
    caught: { 'trim: a reader beside it gets every entry, or is told that it cannot': /whether the entry after/ },
    within: ['trimming'],
    handle: memory => store => ({
      trim: async (id, floor, version) => {
        const log = memory.logs.get(id)
        const all = log?.batches ?? []
        if (log) log.batches = all.filter(({ last }) => last > floor)
        await yields()
        if (log) log.batches = all
        return store.trim(id, floor, version)
      },
    }),
  },
  {
    fault: 'a trim takes the snapshots below its floor',
    caught: { 'trim: snapshots and blobs stay': /a snapshot below the floor/ },
    within: ['trimming', 'keeping'],
    handle: memory => store => ({
      trim: async (id, floor, version) => {
        const trimmed = await store.trim(id, floor, version)
        const log = memory.logs.get(id)
        if (log) log.snapshots = log.snapshots.filter(({ sequence }) => sequence >= log.floor)
        return trimmed
      },
    }),
  },
  {
    fault: 'a fork above the head is made at the head',
    caught: {
      'fork: says what is not there, already there or out of range, and then makes nothing':
        /a fork above the head: expected "out-of-range", saw "forked"/,
    },
    within: ['forking', 'calls'],
    handle: memory => store => ({
      fork: (source, at, target, fork) =>
        store.fork(source, Math.min(at, memory.logs.get(source)?.head ?? at), target, fork),
    }),
  },
  {
    fault: 'a fork is under the lease of its source',
    caught: {
      'fork: is due as its ticket says, whatever lease its source is under': /what is due/,
      'fork: has no lease and no epoch, and its source keeps both': /claim: expected 'claimed', saw 'busy'/,
    },
    within: ['forking'],
    handle: memory => store => ({
      fork: async (source, at, target, fork): Promise<ForkResult> => {
        const result = await store.fork(source, at, target, fork)
        const log = memory.logs.get(target)
        if (result === 'forked' && log) log.lease = memory.logs.get(source)?.lease ?? null
        return result
      },
    }),
  },
  {
    fault: 'a fork looks before it makes',
    caught: { 'fork: of several at once into one target one is made, whole': /the forks: expected/ },
    within: ['forking'],
    handle: memory => store => ({
      fork: async (source, at, target, fork) => {
        const free = !memory.logs.has(target)
        await yields()
        if (free) memory.logs.delete(target)
        return store.fork(source, at, target, fork)
      },
    }),
  },
  {
    fault: 'a list has room for so much of a ticket',
    caught: { 'list: a line tells the ticket as it last moved, however much that holds': /the tickets of the list/ },
    within: ['listing'],
    handle: () => store => ({
      list: async (principal, limit, after) => {
        const { streams, next } = await store.list(principal, limit, after)
        return { streams: streams.map(line => ({ ...line, ticket: line.ticket.slice(0, 1024) })), next }
      },
    }),
  },
  {
    fault: 'a list tells the head of the last move',
    caught: { 'list: a line tells what the log is': /the list: expected/ },
    within: ['listing'],
    handle: memory => store => ({
      list: async (principal, limit, after) => {
        const { streams, next } = await store.list(principal, limit, after)
        const head = (id: string) => Number.parseInt(memory.logs.get(id)?.version ?? '', 10)
        return { streams: streams.map(line => ({ ...line, head: head(line.streamId) })), next }
      },
    }),
  },
  {
    fault: 'a list counts how far it came',
    caught: {
      'list: a page goes on after the log at which it ended was removed or touched': /after a log that was removed/,
    },
    within: ['listing', 'calls'],
    handle: () => store => ({
      list: async (principal, limit, after) => {
        const from = Number(after ?? 0) || 0
        const { streams } = await store.list(principal, 100_000)
        const next = streams.length > from + limit ? `${from + limit}` : null
        return { streams: streams.slice(from, from + limit), next }
      },
    }),
  },
]

const anew = (body: string): string => (body.startsWith('{') ? JSON.stringify(JSON.parse(body)) : body)
