import { appendFault, type Call, type Mutant, yields } from './mutant.fixture.ts'

/** An append that heeds no version if its batch says this. */
const unconditional = (type: string): Mutant => ({
  fault: `a ${type} heeds no version`,
  caught: {
    [`a ${type} on an old version is moved, a writer's as well as a guest's`]: /expected "moved", saw "appended/,
  },
  within: ['tickets'],
  handle: appendFault(({ log: { version }, batch, ticket, go }) =>
    go(ticket && batch.body.includes(`"${type}"`) ? { ticket: { ...ticket, ifVersion: version } } : {}),
  ),
})

const knownKey = ({ log, by }: Call): boolean => 'key' in by && log.keys.has(by.key)
const knownCounter = ({ log, by }: Call): boolean =>
  'epoch' in by && by.epoch === log.epoch && by.counter === log.latest?.counter

/** Faults in what an append is known by and decided on (laws 5 and 7). */
export const appends: readonly Mutant[] = [
  {
    fault: "a writer's append is not known again",
    caught: {
      "a writer's last append, sent again, is a duplicate with its first sequences, whatever else is wrong":
        /expected "duplicate 4..5", saw/,
      "a writer's append that is sent twice at once is taken once": /the two sends/,
      "a writer's append is known by its counter alone until the next is taken": /expected "duplicate 1..2"/,
    },
    within: ['outcomes', 'keys', 'trimming', 'restarts'],
    handle: appendFault(({ log, by, go }) => {
      if ('epoch' in by) log.latest = undefined
      return go()
    }),
  },
  {
    fault: 'a writer is told an old append is the last',
    caught: {
      "an append older than the writer's last is fenced, whatever else is wrong": /expected "fenced", saw "duplicate/,
      "a writer's append is known by its counter alone until the next is taken": /an append before the last/,
    },
    within: ['outcomes', 'keys'],
    handle: appendFault(call => {
      const { log, by, go } = call
      const last = log.latest?.counter ?? 0
      return go('epoch' in by && by.counter < last ? { by: { ...by, counter: last } } : {})
    }),
  },
  {
    fault: "a guest's key is not known again",
    caught: {
      "a guest's key is looked at before the version and the size": /expected "duplicate 2..3", saw/,
      'of several appends at once under one key one is taken, and all are told its sequences': /under one key/,
    },
    within: ['outcomes', 'keys', 'trimming', 'forking', 'texts', 'removal', 'regress', 'restarts'],
    handle: appendFault(({ log, by, go }) => {
      if ('key' in by) log.keys.delete(by.key)
      return go()
    }),
  },
  {
    fault: "a guest's key is looked at after the version",
    caught: {
      "a guest's key is looked at before the version and the size": /expected "duplicate 2..3", saw "moved"/,
      'a duplicate does not move the ticket again': /a guest's again: expected "duplicate 1..1", saw "moved"/,
    },
    within: ['outcomes', 'keys'],
    handle: appendFault(async call => {
      const late = knownKey(call) && call.ticket !== undefined && call.ticket.ifVersion !== call.log.version
      return late ? { outcome: 'moved' } : call.go()
    }),
  },
  {
    fault: "a writer's counter is looked at after the version",
    caught: {
      "a writer's last append, sent again, is a duplicate with its first sequences, whatever else is wrong":
        /expected "duplicate 4..5", saw "moved"/,
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
    fault: 'a duplicate is told the present head',
    caught: {
      "a writer's last append, sent again, is a duplicate with its first sequences, whatever else is wrong": /saw/,
      "a guest's key is looked at before the version and the size": /expected "duplicate 2..3", saw "duplicate 5..5"/,
    },
    within: ['outcomes', 'keys', 'trimming', 'forking', 'texts', 'removal', 'regress', 'restarts'],
    handle: appendFault(async ({ log, go }) => {
      const result = await go()
      return result.outcome === 'duplicate' ? { ...result, first: log.head, last: log.head } : result
    }),
  },
  {
    fault: 'no append heeds a version',
    caught: {
      'an append on any version but the present one is moved': /expected "moved", saw "appended/,
      'of several appends at once on one version one moves the ticket': /the appends on one version/,
      'of several ends of a run at once one is written': /the ends/,
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
    fault: 'the version is looked at before the writer is asked for what it saw',
    caught: {
      'a writer whose last acknowledged entry is lost has regressed, before the version and the size':
        /expected "regressed", saw "moved"/,
    },
    within: ['outcomes'],
    handle: appendFault(async call => {
      const { log, by, ticket, go } = call
      const next = 'epoch' in by && by.epoch === log.epoch && by.counter > (log.latest?.counter ?? 0)
      return next && ticket && ticket.ifVersion !== log.version ? { outcome: 'moved' } : go()
    }),
  },
  {
    fault: 'the size is looked at before the version',
    caught: {
      "a writer's append on another version is moved, before the size": /expected "moved", saw "too-large"/,
      "a guest's append on another version is moved, before the size": /expected "moved", saw "too-large"/,
    },
    within: ['outcomes'],
    handle: appendFault(({ batch, ticket, log, go }) => {
      const large = batch.body.length > 64 * 1024 && ticket !== undefined
      return go(large ? { ticket: { ...ticket, ifVersion: log.version } } : {})
    }),
  },
  {
    fault: 'a ticket moves before its entries are there',
    caught: { 'the ticket is never seen without the entries that moved it': /and the ticket that it moved/ },
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
    caught: { 'what was too large took no sequence, no key, no count and no ticket': /the log after that/ },
    within: ['texts', 'outcomes'],
    handle: appendFault(async ({ log, ticket, go }) => {
      const result = await go()
      if (result.outcome === 'too-large' && ticket) log.ticket = ticket.next
      return result
    }),
  },
  {
    fault: 'entries are there although the ticket has moved',
    caught: {
      'an append on any version but the present one is moved': /the log after them all/,
      "a guest's append on another version is moved, before the size": /the log after an append/,
    },
    within: ['outcomes', 'tickets', 'removal', 'trimming'],
    handle: appendFault(async ({ go }) => {
      const result = await go()
      if (result.outcome === 'moved') await go({ ticket: undefined })
      return result
    }),
  },
]
