import type { ForkResult } from '../../store/log-store.ts'
import { type Mutant, yields } from './mutant.fixture.ts'

/** Faults in snapshots, blobs and forks. */
export const copies: readonly Mutant[] = [
  {
    fault: 'the newest snapshot is always returned',
    caught: { 'snapshots: returns the newest at or below a sequence, unchanged': /the snapshots at or below/ },
    within: ['snapshotsAndBlobs', 'forking', 'invalidArguments'],
    handle: memory => store => ({
      getSnapshot: (id, atMost) =>
        store.getSnapshot(id, memory.logs.get(id)?.snapshots.length === 1 ? atMost : 2 ** 40),
    }),
  },
  {
    fault: 'a snapshot at the same sequence stays beside the new one',
    caught: { 'snapshots: one at the same sequence is replaced': /the snapshot before it, which is still kept/ },
    within: ['snapshotsAndBlobs'],
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
    fault: "a snapshot's body is parsed and serialised again",
    caught: { 'snapshots: returns a large body of any text unchanged': /whether the body is the same/ },
    within: ['snapshotsAndBlobs'],
    handle: () => store => ({
      putSnapshot: (id, snapshot, keep) => store.putSnapshot(id, { ...snapshot, body: anew(snapshot.body) }, keep),
    }),
  },
  {
    fault: 'a blob belongs to every log',
    caught: { 'blobs: belong to one log and are deleted only with it': /in a log that it was not put into/ },
    within: ['snapshotsAndBlobs', 'forking'],
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
    caught: { 'remove: deletes everything of a log and returns whether it existed': /getBlob: expected undefined/ },
    within: ['snapshotsAndBlobs', 'removal'],
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
    fault: 'a trim deletes entries before it raises the floor',
    caught: { 'trim: a concurrent reader gets every entry or a truncated page': /whether the entry after/ },
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
    fault: 'a trim deletes the snapshots below its floor',
    caught: { 'trim: leaves snapshots and blobs': /a snapshot below the floor/ },
    within: ['trimming', 'snapshotsAndBlobs'],
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
      'fork: reports a missing source, an existing target and an invalid position, and makes nothing':
        /a fork above the head: expected "out-of-range", found "forked"/,
    },
    within: ['forking', 'invalidArguments'],
    handle: memory => store => ({
      fork: (source, at, target, fork) =>
        store.fork(source, Math.min(at, memory.logs.get(source)?.head ?? at), target, fork),
    }),
  },
  {
    fault: 'a fork is under the lease of its source',
    caught: {
      'fork: is due by its own ticket, also while its source has a lease': /the due logs/,
      'fork: has no lease and no epoch, and its source keeps both': /claim: expected 'claimed', found 'busy'/,
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
    fault: 'a fork checks and creates without a lock',
    caught: { 'fork: one of several concurrent forks into one target is made': /the forks: expected/ },
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
    fault: 'a list shortens long tickets',
    caught: { 'list: a row has the current ticket, whatever its size': /the tickets of the list/ },
    within: ['listing'],
    handle: () => store => ({
      list: async (principal, limit, after) => {
        const { streams, next } = await store.list(principal, limit, after)
        return { streams: streams.map(line => ({ ...line, ticket: line.ticket.slice(0, 1024) })), next }
      },
    }),
  },
  {
    fault: 'a list returns the head at the last ticket move',
    caught: { 'list: a row has the head, ticket and times of its log': /the list: expected/ },
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
    fault: 'a page token is an offset',
    caught: {
      'list: the next page continues when the last log was removed or touched': /after a log that was removed/,
    },
    within: ['listing', 'invalidArguments'],
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
