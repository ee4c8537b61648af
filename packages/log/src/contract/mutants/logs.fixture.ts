import { newLog } from '../../stores/memory/log.ts'
import { appendFault, type Mutant, yields } from './mutant.fixture.ts'

const MANY = 100_000

/** Faults in create, claim, touch, paging and close. */
export const logs: readonly Mutant[] = [
  {
    fault: 'create empties an existing log',
    caught: { 'create makes an empty log once and leaves an existing log unchanged': /after a second create/ },
    within: ['order'],
    handle: memory => store => ({
      create: async (id, principal) => {
        const created = await store.create(id, principal)
        if (!created) memory.logs.set(id, newLog(principal, memory.clock()))
        return created
      },
    }),
  },
  {
    fault: 'create checks and creates without a lock',
    caught: { 'one of several concurrent creates makes the log': /the creates that made the log: expected 1, found 4/ },
    within: ['order'],
    handle: memory => store => ({
      create: async (id, principal) => {
        const free = !memory.logs.has(id)
        await yields()
        if (free) memory.logs.delete(id)
        return store.create(id, principal)
      },
    }),
  },
  {
    fault: 'an append creates its log',
    caught: {
      'only create and fork make a log; other calls report it as missing': /expected "moved", found "app/,
    },
    within: ['order', 'removal'],
    handle: memory => store => ({
      append: async (id, batch, by, ticket) => {
        if (!memory.logs.has(id) && 'key' in by && ticket === undefined) await store.create(id, null)
        return store.append(id, batch, by, ticket)
      },
    }),
  },
  {
    fault: 'a page starts after the timestamp of its cursor',
    caught: { 'reading page by page returns every batch once': /the log in pages of/ },
    within: [
      'reading',
      'watching',
      'tickets',
      'regression',
      'trimming',
      'forking',
      'removal',
      'texts',
      'restarts',
      'invalidArguments',
    ],
    handle: memory => store => ({
      read: async (id, after, limit) => {
        const at = memory.logs.get(id)?.batches.find(({ last }) => last === after.sequence)
        const page = await store.read(id, after, { ...limit, batches: limit.batches && MANY })
        const later = page?.batches.filter(({ timestamp }) => at === undefined || timestamp > at.timestamp) ?? []
        const [batches, bytes] = [later.slice(0, limit.batches), limit.bytes]
        const end = batches.findIndex(
          (_, i) => batches.slice(0, i + 1).reduce((n, { body }) => n + body.length, 0) >= bytes,
        )
        return page && { ...page, batches: end < 0 ? batches : batches.slice(0, end + 1) }
      },
    }),
  },
  {
    fault: 'every append changes the version',
    caught: {
      "a ticket's version is the cursor of the last entry of the append that moved it":
        /an append that does not move it/,
      'a valid append of a writer is appended, and moves the ticket if requested': /the ticket after/,
      'a valid append of a guest is appended, and moves the ticket if requested': /the ticket after/,
    },
    within: ['outcomes', 'tickets', 'removal', 'reading', 'texts'],
    handle: appendFault(async ({ log, go }) => {
      const result = await go()
      if (result.outcome === 'appended') log.version = `${log.head}.${log.incarnation}.${log.mark}`
      return result
    }),
  },
  {
    fault: 'every append touches',
    caught: {
      'touchedAt is the time at which the ticket last moved': /touchedAt after appends that leave the ticket/,
      'list: last touched first; an append without a ticket move does not touch': /the list after one log was touched/,
    },
    within: ['tickets', 'listing', 'listingOldest'],
    handle: appendFault(async ({ log, go }, memory) => {
      const result = await go()
      if (result.outcome === 'appended') log.touchedAt = memory.clock()
      return result
    }),
  },
  {
    fault: 'a claim moves the ticket',
    caught: { 'a claim takes a free log for its ttlMs under a new epoch': /the log after a claim, without the lease/ },
    within: ['leases', 'tickets', 'regression', 'reading', 'removal', 'texts'],
    handle: memory => store => ({
      claim: async (id, owner, ttlMs, takeover) => {
        const claim = await store.claim(id, owner, ttlMs, takeover)
        const log = memory.logs.get(id)
        if (log && claim.outcome === 'claimed') log.version = `${log.head}.${log.incarnation}.${claim.epoch}`
        return claim
      },
    }),
  },
  {
    fault: 'counters continue in the next epoch',
    caught: { 'counters of appends start again under every epoch': /expected "appended 2..2", found "duplicate 1..1"/ },
    within: ['leases', 'regression', 'removal'],
    handle: memory => store => ({
      claim: async (id, owner, ttlMs, takeover) => {
        const latest = memory.logs.get(id)?.latest
        const claim = await store.claim(id, owner, ttlMs, takeover)
        const log = memory.logs.get(id)
        if (log && claim.outcome === 'claimed') log.latest = latest
        return claim
      },
    }),
  },
  {
    fault: 'due returns logs that are never due',
    caught: {
      'due: finds a log with a ticket due now, not one that is never due or never moved': /the log that is due/,
    },
    within: ['due'],
    handle: appendFault(async ({ log, ticket, go }) => {
      const result = await go()
      if (result.outcome === 'appended' && ticket && log.dueAt === null) log.dueAt = log.touchedAt
      return result
    }),
  },
  {
    fault: 'due returns removed logs',
    caught: {
      'due: a removed or recreated log is not due': /a log that was removed/,
      'remove: a concurrent append leaves nothing behind': /whether it is due/,
    },
    within: ['due', 'removal'],
    handle: memory => {
      const removed = new Map<string, string | null>()
      return store => ({
        remove: async (id, version) => {
          const due = memory.logs.get(id)?.ticket.due
          const was = await store.remove(id, version)
          if (was && due && due.at !== null) removed.set(id, due.program)
          return was
        },
        due: async (programs, limit) => {
          const found = await store.due(programs, limit)
          const ghosts = [...removed].filter(([, program]) => program !== null && programs.includes(program))
          return [...ghosts.map(([id]) => id), ...found].slice(0, limit)
        },
      })
    },
  },
  {
    fault: 'a closed handle continues to work',
    caught: { 'close: rejects every call of this handle; other handles continue': /found the result true/ },
    within: ['removal', 'heartbeats'],
    handle: () => () => ({ close: async () => {} }),
  },
  {
    fault: 'close does not wake the watchers of the handle',
    caught: {
      'close: wakes the watchers of this handle, and their reads reject with closed': /waited \d+ ms for: each/,
    },
    within: ['removal'],
    handle: () => store => {
      let isClosed = false
      return {
        watch: (id, wake) => store.watch(id, () => isClosed || wake()),
        close: async () => {
          isClosed = true
          await store.close()
        },
      }
    },
  },
  {
    fault: 'a handle wakes before it is closed',
    caught: {
      'close: wakes the watchers of this handle, and their reads reject with closed': /waited \d+ ms for: each/,
    },
    within: ['removal'],
    handle: () => store => {
      const wakes = new Set<() => void>()
      return {
        watch: (id, wake) => {
          wakes.add(wake)
          return store.watch(id, () => wakes.has(wake) && wake())
        },
        close: async () => {
          for (const wake of wakes) wake()
          wakes.clear()
          await store.close()
        },
      }
    },
  },
  {
    fault: "whitespace around a ticket's text is removed",
    caught: { 'a ticket is returned unchanged for any text': /the text of the ticket/ },
    within: ['texts'],
    handle: appendFault(({ ticket, go }) =>
      go(ticket ? { ticket: { ...ticket, next: { ...ticket.next, state: ticket.next.state.trim() } } } : {}),
    ),
  },
]
