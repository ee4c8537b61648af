import type { LogStore } from '../../store/log-store.ts'
import { appendFault, type Mutant } from './mutant.fixture.ts'

/** Faults in fencing, claims and acknowledged entries (law 4). */
export const writers: readonly Mutant[] = [
  {
    fault: 'no fence',
    caught: {
      'a writer of another epoch is fenced, before all other checks':
        /expected "fenced", found "(appended|regressed|moved|too-large)/,
      'a takeover claims a log under a live lease and fences the previous writer':
        /append of the old writer: expected "fenced"/,
      'release ends the lease and the epoch': /under a released epoch: expected "fenced"/,
      'a writer appends nothing after a takeover': /marks from the first append/,
    },
    within: ['outcomes', 'leases', 'regression', 'forking', 'removal'],
    handle: appendFault(({ log, by, go }) => {
      if (!('epoch' in by) || by.epoch === log.epoch) return go()
      const { epoch, latest } = log
      Object.assign(log, { epoch: by.epoch, latest: undefined })
      const done = go()
      if (log.epoch !== null) Object.assign(log, { epoch, latest })
      return done
    }),
  },
  {
    fault: 'a writer continues although its last acknowledged entry is lost',
    caught: {
      'a writer without its last acknowledged entry has regressed, before the version and the size':
        /expected "regressed", found "(appended|moved|too-large)/,
      'a log without the last acknowledged entry has regressed': /expected "regressed", found "appended/,
    },
    within: ['outcomes', 'regression', 'watching', 'invalidArguments'],
    handle: appendFault(({ log: { head, mark, incarnation }, by, go }) =>
      go('epoch' in by ? { by: { ...by, lastAcked: { sequence: head, incarnation, epoch: mark } } } : {}),
    ),
  },
  {
    fault: 'a trimmed entry counts as lost',
    caught: { 'a trimmed entry counts as present': /expected "appended 5..5", found "regressed"/ },
    within: ['regression'],
    handle: appendFault(({ log: { floor }, by, go }) => {
      const trimmed = 'epoch' in by && by.lastAcked.sequence < floor
      return go(trimmed ? { by: { ...by, lastAcked: { ...by.lastAcked, incarnation: 'lost' } } } : {})
    }),
  },
  {
    fault: 'regressed keeps the incarnation',
    caught: {
      'a log without the last acknowledged entry has regressed': /the incarnation is new/,
      'cursors from before a regression are truncated': /expected \["incarnation",\[\]\]/,
    },
    within: ['outcomes', 'regression'],
    handle: appendFault(async ({ log, go }) => {
      const { incarnation } = log
      const result = await go()
      if (result.outcome === 'regressed') log.incarnation = incarnation
      return result
    }),
  },
  {
    fault: 'regressed keeps the epoch',
    caught: {
      'a new claim continues a regressed log after its last entry, with the same ticket':
        /renew of the epoch that regressed/,
    },
    within: ['outcomes', 'regression'],
    handle: appendFault(async ({ log, go }) => {
      const { epoch, lease } = log
      const result = await go()
      if (result.outcome === 'regressed') Object.assign(log, { epoch, lease })
      return result
    }),
  },
  {
    fault: "release ends another's lease",
    caught: { 'release of another epoch does nothing': /the lease: expected/ },
    within: ['leases', 'removal', 'due'],
    handle: memory => store => ({
      release: id => store.release(id, memory.logs.get(id)?.epoch ?? ''),
    }),
  },
  {
    fault: 'release ends the lease and leaves the epoch',
    caught: { 'release ends the lease and the epoch': /an append under a released epoch: expected "fenced"/ },
    within: ['leases', 'watching'],
    handle: memory => store => ({
      release: async (id, epoch) => {
        await store.release(id, '')
        const log = memory.logs.get(id)
        if (log?.epoch === epoch) log.lease = null
      },
    }),
  },
  {
    fault: 'a claim ignores leases',
    caught: {
      'a claim under a live lease is busy, also for its owner, and leaves the lease unchanged':
        /expected \{"outcome":"busy"/,
      'one of several concurrent claims of a free log succeeds': /"busy","busy","busy","claimed"/,
    },
    within: ['leases'],
    handle: () => (store: LogStore) => ({ claim: (id, owner, ttlMs) => store.claim(id, owner, ttlMs, true) }),
  },
  {
    fault: 'a claim ignores leases of other owners',
    caught: {
      'a claim under a live lease is busy, also for its owner, and leaves the lease unchanged':
        /expected \{"outcome":"busy"/,
    },
    within: ['leases'],
    handle: memory => store => ({
      claim: (id, owner, ttlMs, takeover) =>
        store.claim(id, owner, ttlMs, takeover || memory.logs.get(id)?.lease?.owner === owner),
    }),
  },
  {
    fault: 'an expired lease is not renewed',
    caught: { 'renew sets the lease from now on, shorter or longer, expired or not': /renew of the current epoch/ },
    within: ['leases', 'due', 'invalidArguments'],
    handle: memory => store => ({
      renew: async (id, epoch, ttlMs) =>
        (memory.logs.get(id)?.lease?.until ?? 0) > memory.clock() ? store.renew(id, epoch, ttlMs) : undefined,
    }),
  },
  {
    fault: 'the epoch ends with its lease',
    caught: {
      'an expired lease allows a new claim, and only the claim fences its writer':
        /before another claim: expected "app/,
    },
    within: ['leases'],
    handle: appendFault(({ log, by, go }, memory) => {
      if ('epoch' in by && log.lease !== null && log.lease.until <= memory.clock()) log.epoch = null
      return go()
    }),
  },
]
