import type { LogStore } from '../store/log-store.ts'
import { assertEqual, assertRejects } from './assert.ts'
import { type ContractCase, define } from './contract-case.ts'
import { ALL, LONG_MS } from './trial.ts'
import { batch, guest, move } from './writer.ts'

const INVALID_COUNTS = [Number.NaN, -1, 0.5, 2 ** 53, Number.POSITIVE_INFINITY]
const INVALID_NAMES = ['\ud800', 'a\udfffb', '\udc00\ud800']
const NEVER = { at: null, program: null }

/** The interface: every store rejects invalid arguments as `invalid`, which is not retryable. */
export const invalidArguments: readonly ContractCase[] = [
  define('interface', 'rejects invalid counts and sequences as invalid', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const { incarnation } = await trial.head(store, streamId)
    const fork = { principal: null, ticket: { state: '', due: NEVER }, closing: null }
    for (const n of INVALID_COUNTS) {
      const by = { epoch: 'e', counter: 1, lastAcked: { sequence: 0, incarnation, epoch: '0' } }
      const snapshot = { sequence: 0, mark: '0', version: 1, body: '{}' }
      const invalidCalls: Record<string, () => Promise<unknown>> = {
        'a count': () => store.append(streamId, { body: '[]', count: n }, guest()),
        'a counter': () => store.append(streamId, batch('a'), { ...by, counter: n }),
        'a last sequence': () =>
          store.append(streamId, batch('a'), { ...by, lastAcked: { ...by.lastAcked, sequence: n } }),
        'a sequence to read after': () => store.read(streamId, { sequence: n }, ALL),
        'a limit of batches': () => store.read(streamId, { sequence: 0 }, { batches: n, bytes: 1 }),
        'a limit of bytes': () => store.read(streamId, { sequence: 0 }, { batches: 1, bytes: n }),
        'a limit of due logs': () => store.due([], n),
        'a sequence of a snapshot': () => store.putSnapshot(streamId, { ...snapshot, sequence: n }, 1),
        'a number of snapshots': () => store.putSnapshot(streamId, snapshot, n),
        'a bound of a snapshot': () => store.getSnapshot(streamId, n),
        'a floor': () => store.trim(streamId, n),
        'a place of a fork': () => store.fork(streamId, n, trial.id('fork'), fork),
        'a limit of a list': () => store.list(null, n),
        'a limit of the oldest logs': () => store.listOldest(n),
      }
      for (const [label, call] of Object.entries(invalidCalls))
        await assertRejects(call(), 'invalid', `${label} of ${n}`)
    }
    for (const ttlMs of INVALID_COUNTS.filter(n => n !== 0.5)) {
      await assertRejects(store.claim(streamId, 'me', ttlMs, true), 'invalid', `a claim for ${ttlMs} ms`)
      await assertRejects(store.renew(streamId, 'e', ttlMs), 'invalid', `a renewal for ${ttlMs} ms`)
    }
    const { head, lease } = await trial.head(store, streamId)
    assertEqual([head, lease], [0, null], 'the head and the lease after the invalid calls')
  }),

  define('interface', 'rejects inexact deadlines as invalid', async trial => {
    const store = await trial.open()
    const streamId = await trial.log(store)
    const { version } = await trial.head(store, streamId)
    for (const at of [Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, -(2 ** 53), 1e300]) {
      const due = { at, program: null }
      await assertRejects(
        store.append(streamId, batch('a'), guest(), move(version, 's', due)),
        'invalid',
        `a due at ${at}`,
      )
      const fork = { principal: null, ticket: { state: '', due }, closing: null }
      await assertRejects(store.fork(streamId, 0, trial.id('fork'), fork), 'invalid', `a fork that is due at ${at}`)
    }
    const last = move(version, 's', { at: Number.MAX_SAFE_INTEGER, program: null })
    assertEqual(
      (await store.append(streamId, batch('a'), guest(), last)).outcome,
      'appended',
      'the latest valid deadline',
    )
    assertEqual((await store.due([], 1000)).includes(streamId), false, 'whether it is due')
  }),

  define('interface', 'rejects names with lone surrogates as invalid', async trial => {
    const store: LogStore = await trial.open()
    const streamId = await trial.log(store)
    const { version } = await trial.head(store, streamId)
    for (const name of INVALID_NAMES) {
      const ticket = { state: '', due: { at: null, program: name } }
      const fork = { principal: null, ticket: { state: '', due: NEVER }, closing: null }
      const invalidCalls: Record<string, () => Promise<unknown>> = {
        create: () => store.create(name, null),
        'create for a principal': () => store.create(trial.id('new'), name),
        append: () => store.append(name, batch('a'), guest()),
        'append under a key': () => store.append(streamId, batch('a'), guest(name)),
        'append for a program': () => store.append(streamId, batch('a'), guest(), { ifVersion: version, next: ticket }),
        read: () => store.read(name, { sequence: 0 }, ALL),
        find: () => store.find(streamId, name),
        claim: () => store.claim(streamId, name, LONG_MS, true),
        renew: () => store.renew(name, 'e', LONG_MS),
        release: () => store.release(name, 'e'),
        due: () => store.due(['p', name], 1),
        putSnapshot: () => store.putSnapshot(name, { sequence: 0, mark: '0', version: 1, body: '{}' }, 1),
        getSnapshot: () => store.getSnapshot(name, 1),
        putBlob: () => store.putBlob(streamId, name, new Uint8Array(1)),
        getBlob: () => store.getBlob(streamId, name),
        ...(store.blobUsage && {
          'blobUsage of a log': () => store.blobUsage?.({ streamId: name }, '') as Promise<unknown>,
          'blobUsage of a principal': () => store.blobUsage?.({ principal: name }, '') as Promise<unknown>,
          'blobUsage of hashes': () => store.blobUsage?.({ streamId }, name) as Promise<unknown>,
        }),
        trim: () => store.trim(name, 1),
        'fork from': () => store.fork(name, 0, trial.id('fork'), fork),
        'fork into': () => store.fork(streamId, 0, name, fork),
        'fork for a principal': () => store.fork(streamId, 0, trial.id('fork'), { ...fork, principal: name }),
        'fork for a program': () => store.fork(streamId, 0, trial.id('fork'), { ...fork, ticket }),
        list: () => store.list(name, 1),
        remove: () => store.remove(name),
      }
      for (const [label, call] of Object.entries(invalidCalls)) {
        await assertRejects(call(), 'invalid', `${label}, of ${JSON.stringify(name)}`)
      }
    }
  }),
]
