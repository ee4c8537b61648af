import { appendFault, type Call, type Mutant, yields } from './mutant.fixture.ts'

/** Ignores the version of appends with a chunk of this type. */
const unconditional = (type: string): Mutant => ({
  fault: `a ${type} ignores the version`,
  caught: {
    [`a ${type} on an old version is refused as moved, for writers and guests`]: /expected "moved", found "appended/,
  },
  within: ['tickets'],
  handle: appendFault(({ log: { version }, batch, ticket, go }) =>
    go(ticket && batch.body.includes(`"${type}"`) ? { ticket: { ...ticket, ifVersion: version } } : {}),
  ),
})

const knownKey = ({ log, by }: Call): boolean => 'key' in by && log.keys.has(by.key)
const knownCounter = ({ log, by }: Call): boolean =>
  'epoch' in by && by.epoch === log.epoch && by.counter === log.latest?.counter

/** Faults in keys, counters and ticket versions of appends (laws 5 and 7). */
export const appends: readonly Mutant[] = [
  {
    fault: "a writer's append is not recognised when sent again",
    caught: {
      "a writer's last append sent again is a duplicate with its first sequences, before all later checks":
        /expected "duplicate 4..5", found/,
      "a writer's append sent twice concurrently is appended once": /the two sends/,
      "a writer's append is recognised by its counter until the next one is appended": /expected "duplicate 1..2"/,
    },
    within: ['outcomes', 'keys', 'trimming', 'restarts'],
    handle: appendFault(({ log, by, go }) => {
      if ('epoch' in by) log.latest = undefined
      return go()
    }),
  },
  {
    fault: 'a writer gets a duplicate for an older append',
    caught: {
      "an append older than the writer's last is fenced, before all later checks":
        /expected "fenced", found "duplicate/,
      "a writer's append is recognised by its counter until the next one is appended":
        /a repeated append that is not the last/,
    },
    within: ['outcomes', 'keys'],
    handle: appendFault(call => {
      const { log, by, go } = call
      const last = log.latest?.counter ?? 0
      return go('epoch' in by && by.counter < last ? { by: { ...by, counter: last } } : {})
    }),
  },
  {
    fault: "a guest's key is not recognised when sent again",
    caught: {
      "a guest's key is checked before the version and the size": /expected "duplicate 2..3", found/,
      'one of several concurrent appends under one key is appended, and all return its sequences': /under one key/,
    },
    within: ['outcomes', 'keys', 'trimming', 'forking', 'texts', 'removal', 'regression', 'restarts'],
    handle: appendFault(({ log, by, go }) => {
      if ('key' in by) log.keys.delete(by.key)
      return go()
    }),
  },
  {
    fault: "a guest's key is checked after the version",
    caught: {
      "a guest's key is checked before the version and the size": /expected "duplicate 2..3", found "moved"/,
      'a duplicate does not move the ticket again':
        /a guest's repeated append: expected "duplicate 1..1", found "moved"/,
    },
    within: ['outcomes', 'keys'],
    handle: appendFault(async call => {
      const late = knownKey(call) && call.ticket !== undefined && call.ticket.ifVersion !== call.log.version
      return late ? { outcome: 'moved' } : call.go()
    }),
  },
  {
    fault: "a writer's counter is checked after the version",
    caught: {
      "a writer's last append sent again is a duplicate with its first sequences, before all later checks":
        /expected "duplicate 4..5", found "moved"/,
    },
    within: ['outcomes', 'keys'],
    handle: appendFault(async call => {
      const late = knownCounter(call) && call.ticket !== undefined && call.ticket.ifVersion !== call.log.version
      return late ? { outcome: 'moved' } : call.go()
    }),
  },
  {
    fault: 'a duplicate moves the ticket again',
    caught: { 'a duplicate does not move the ticket again': /the log after the duplicates/ },
    within: ['outcomes', 'keys'],
    handle: appendFault(async ({ log, ticket, go }) => {
      const result = await go()
      if (result.outcome === 'duplicate' && ticket?.ifVersion === log.version) log.ticket = ticket.next
      return result
    }),
  },
  {
    fault: 'a duplicate returns the current head',
    caught: {
      "a writer's last append sent again is a duplicate with its first sequences, before all later checks": /found/,
      "a guest's key is checked before the version and the size": /expected "duplicate 2..3", found "duplicate 5..5"/,
    },
    within: ['outcomes', 'keys', 'trimming', 'forking', 'texts', 'removal', 'regression', 'restarts'],
    handle: appendFault(async ({ log, go }) => {
      const result = await go()
      return result.outcome === 'duplicate' ? { ...result, first: log.head, last: log.head } : result
    }),
  },
  {
    fault: 'every append ignores its version',
    caught: {
      'an append on any version but the current one is refused as moved': /expected "moved", found "appended/,
      'one of several concurrent appends on one version moves the ticket': /the appends on one version/,
      'one of several concurrent ends of a run is appended': /the ends/,
    },
    within: ['outcomes', 'tickets', 'due', 'removal', 'trimming'],
    handle: appendFault(({ log: { version }, ticket, go }) =>
      go(ticket ? { ticket: { ...ticket, ifVersion: version } } : {}),
    ),
  },
  unconditional('run-paused'),
  unconditional('session-info'),
  unconditional('run-finished'),
  unconditional('step-discarded'),
  {
    fault: 'the version is checked before the last acknowledged entry',
    caught: {
      'a writer without its last acknowledged entry has regressed, before the version and the size':
        /expected "regressed", found "moved"/,
    },
    within: ['outcomes'],
    handle: appendFault(async call => {
      const { log, by, ticket, go } = call
      const next = 'epoch' in by && by.epoch === log.epoch && by.counter > (log.latest?.counter ?? 0)
      return next && ticket && ticket.ifVersion !== log.version ? { outcome: 'moved' } : go()
    }),
  },
  {
    fault: 'the size is checked before the version',
    caught: {
      "a writer's append on another version is refused as moved, before the size":
        /expected "moved", found "too-large"/,
      "a guest's append on another version is refused as moved, before the size": /expected "moved", found "too-large"/,
    },
    within: ['outcomes'],
    handle: appendFault(({ batch, ticket, log, go }) => {
      const large = batch.body.length > 64 * 1024 && ticket !== undefined
      return go(large ? { ticket: { ...ticket, ifVersion: log.version } } : {})
    }),
  },
  {
    fault: 'a ticket moves before its entries are appended',
    caught: { 'no read returns the ticket without the entries that moved it': /and the ticket that it moved/ },
    within: ['tickets'],
    handle: appendFault(async ({ log, batch, by, ticket, go }) => {
      if (ticket === undefined || ticket.ifVersion !== log.version || !('nonce' in by)) return go()
      if (log.keys.has(by.key) || batch.body.length > 1000) return go()
      const { version } = log
      Object.assign(log, { version: `${log.head + batch.count}.${log.incarnation}.${by.nonce}`, ticket: ticket.next })
      await yields()
      const taken = log.version
      Object.assign(log, { version })
      const result = await go()
      if (result.outcome !== 'appended') log.version = taken
      return result
    }),
  },
  {
    fault: 'a ticket moves although its entries are too large',
    caught: {
      'an append that was too large changes no sequence, key, counter or ticket': /the log after the refused calls/,
    },
    within: ['texts', 'outcomes'],
    handle: appendFault(async ({ log, ticket, go }) => {
      const result = await go()
      if (result.outcome === 'too-large' && ticket) log.ticket = ticket.next
      return result
    }),
  },
  {
    fault: 'entries are appended although the ticket has moved',
    caught: {
      'an append on any version but the current one is refused as moved': /the log after all refused appends/,
      "a guest's append on another version is refused as moved, before the size": /the log after an append/,
    },
    within: ['outcomes', 'tickets', 'removal', 'trimming'],
    handle: appendFault(async ({ go }) => {
      const result = await go()
      if (result.outcome === 'moved') await go({ ticket: undefined })
      return result
    }),
  },
]
