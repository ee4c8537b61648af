import type { Mutant } from './mutant.fixture.ts'

/** Faults in the heartbeat of a store. */
export const heartbeatMutants: readonly Mutant[] = [
  {
    fault: 'a heartbeat never renews',
    caught: {
      'a heartbeat renews a lease without calls of renew; without one it expires': /the heartbeat renews the lease/,
    },
    within: ['heartbeats'],
    heartbeat: () => ({ neverRenews: true }),
  },
  {
    fault: 'a heartbeat renews after a stop',
    caught: { 'a heartbeat renews nothing after a stop': /the lease that was stopped/ },
    within: ['heartbeats'],
    heartbeat: () => ({ renewsAfterStop: true }),
  },
  {
    fault: 'a heartbeat renews a lease that was released',
    caught: {
      'a heartbeat reports a released lease as lost, and does not renew it': /reports the lease as lost/,
    },
    within: ['heartbeats'],
    heartbeat: memory => ({
      renew: async (streamId, _, ttlMs) => {
        const log = memory.logs.get(streamId)
        if (log) log.lease = { owner: 'heartbeat', until: memory.clock() + ttlMs }
        return log !== undefined
      },
    }),
  },
  {
    fault: 'a heartbeat renews the lease of another epoch, and reports it as lost',
    caught: {
      'a heartbeat reports a lease of another epoch as lost, and does not renew it': /the lease of the next epoch/,
    },
    within: ['heartbeats'],
    heartbeat: memory => ({
      renew: async (streamId, epoch, ttlMs) => {
        const log = memory.logs.get(streamId)
        if (log?.lease) log.lease = { ...log.lease, until: memory.clock() + ttlMs }
        return log?.epoch === epoch
      },
    }),
  },
  {
    fault: 'a heartbeat reports no lost lease',
    caught: {
      'a heartbeat reports a released lease as lost, and does not renew it': /reports the lease as lost/,
      'a heartbeat lets a lease expire while the event loop is blocked, and renews it afterwards':
        /renews the lease and reports it/,
    },
    within: ['heartbeats'],
    heartbeat: () => ({ reportsNothing: true }),
  },
  {
    fault: 'a heartbeat confirms a renewal for longer than the lease',
    caught: { 'a heartbeat confirms a renewal no longer than the lease lasts': /the confirmed end is not after/ },
    within: ['heartbeats'],
    heartbeat: () => ({ confirmsMs: 1000 }),
  },
  {
    fault: 'a heartbeat renews however long the event loop is blocked',
    caught: {
      'a heartbeat lets a lease expire while the event loop is blocked, and renews it afterwards':
        /no longer renews the lease of a blocked event loop/,
    },
    within: ['heartbeats'],
    heartbeat: () => ({ renewsWhileBlocked: true }),
  },
  {
    fault: 'a heartbeat renews after its handle was closed',
    caught: { 'a heartbeat ends with its handle': /a lease of a closed handle/ },
    within: ['heartbeats'],
    heartbeat: () => ({ renewsAfterClose: true }),
  },
]
