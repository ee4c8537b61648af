// Checks that a store can be opened, written, read and leased, and compares its clock.

import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type LogStore, openStore } from '@millrace/log'
import { schemeOf } from '@millrace/log/internal'
import { CREDENTIALS_HINT, hasPlainCredentials, nameOf } from '../source/source.ts'
import { checkDisk, checkFolder } from './check-machine.ts'
import { errorMessages, type Finding, fail, note, ok, warn } from './finding.ts'

/** The tolerated clock difference, in ms. Leases use only the clock of the store, but users compare its timestamps with their own clock. */
const SKEW_MS = 2_000
const TIMEOUT_MS = 10_000

/** Checks the store of a URL. */
export async function checkStore(url: string): Promise<readonly Finding[]> {
  const name = nameOf(url)
  const scheme = schemeOf(url)
  if (scheme === 'memory') return [note('store', 'memory: sessions are lost when the process ends')]
  // It is unclear where the password ends and the host begins, so no connection is attempted.
  if (!hasPlainCredentials(url)) return [fail('store', `${name} is not a valid URL`, CREDENTIALS_HINT)]
  const findings: Finding[] = []
  if (scheme === 'sqlite') {
    const path = url.slice('sqlite:'.length)
    findings.push(await checkFolder(path), await checkDisk(path))
    if (!existsSync(path)) return [...findings, note('store', `${name} does not exist yet: the first start creates it`)]
  }
  let store: LogStore
  try {
    store = await openStore(url)
  } catch (error) {
    return [...findings, fail('store', `${name} cannot be opened: ${errorMessages(error)}`, STORE_HINT)]
  }
  try {
    return [...findings, ...(await checkOpenStore(store, name))]
  } finally {
    await store.close().catch(() => {})
  }
}

const STORE_HINT =
  'check that it is running and its URL is correct; a file must be on a local disk and not belong to another application'

/** Checks an open store with a temporary log, which is removed again. */
export async function checkOpenStore(store: LogStore, name: string): Promise<readonly Finding[]> {
  const streamId = `millrace-doctor-${randomUUID()}`
  const startedAt = performance.now()
  try {
    return await withTimeout(TIMEOUT_MS, readWriteFindings(store, streamId, name, startedAt))
  } catch (error) {
    return [fail('store', `${name}: ${errorMessages(error)}`, STORE_HINT)]
  } finally {
    await withTimeout(TIMEOUT_MS, store.remove(streamId)).catch(() => {})
  }
}

async function readWriteFindings(
  store: LogStore,
  streamId: string,
  name: string,
  startedAt: number,
): Promise<readonly Finding[]> {
  await store.create(streamId, null)
  const before = Date.now()
  const claim = await store.claim(streamId, 'doctor', 5_000, false)
  const after = Date.now()
  if (claim.outcome !== 'claimed') throw new Error(`the new log cannot be claimed: ${claim.outcome}`)
  const { epoch, clock } = claim
  const empty = await store.read(streamId, { sequence: 0 }, { batches: 1, bytes: 1024 })
  if (empty === undefined) throw new Error('the new log does not exist')
  const lastAcked = { sequence: 0, incarnation: empty.incarnation, epoch: '0' }
  const appended = await store.append(streamId, { body: TEST_BODY, count: 1 }, { epoch, counter: 1, lastAcked })
  if (appended.outcome !== 'appended') throw new Error(`the append failed: ${appended.outcome}`)
  const page = await store.read(streamId, { sequence: 0 }, { batches: 1, bytes: 1024 })
  if (page?.batches[0]?.body !== TEST_BODY) throw new Error('the read data differs from the written data')
  if ((await store.renew(streamId, epoch, 5_000)) === undefined) throw new Error('a lease cannot be renewed')
  await store.release(streamId, epoch)
  const ms = Math.round(performance.now() - startedAt)
  const skew = clock < before ? clock - before : Math.max(0, clock - after)
  return [ok('store', `${name} can be opened, written, read and leased (${ms} ms)`), clockFinding(skew)]
}

const TEST_BODY = JSON.stringify([{ origin: { guest: 'doctor' }, chunk: { type: 'status', message: 'checked' } }])

function clockFinding(ms: number): Finding {
  if (Math.abs(ms) < SKEW_MS) return ok('clock', 'this machine and the store agree on the time')
  const direction = ms > 0 ? 'ahead of' : 'behind'
  const text = `the store is ${(Math.abs(ms) / 1000).toFixed(1)} s ${direction} this machine`
  return warn(
    'clock',
    text,
    'synchronize both clocks with NTP: leases still work, but timestamps in logs and lists will be off',
  )
}

async function withTimeout<T>(ms: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no answer within ${ms / 1000} s`)), ms)
  return Promise.race([work, promise]).finally(() => clearTimeout(timer))
}
