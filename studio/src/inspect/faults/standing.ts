// What goes wrong on this page, and what came of it: one for the page, whichever of its parts are shown.

import type { SessionLog } from '@millrace/client/log'
import { connection, tab } from '../../app/connection.ts'
import { type Fault, FaultLog, type FaultName, type Standing } from './fault-log.ts'
import { hostState, subscribeToHost } from './host.ts'
import { logReader } from './read-log.ts'
import { Verification } from './verification.ts'

const log = new FaultLog()
const listeners = new Set<() => void>()
/** By which a fault that nothing tells of is noticed to be over. */
const LOOK_MS = 500

const changed = (): void => {
  for (const listener of listeners) listener()
}

/** The faults of this page, first to last. */
export const faultsSoFar = (): readonly Fault[] => log.faults

/** Calls when something of the faults changes. */
export function subscribeToFaults(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

const standingOf = (inspected: SessionLog): Standing => {
  const { host } = hostState()
  return {
    isLive: inspected.state.status === 'live',
    delayMs: host?.delays[tab] ?? 0,
    server: host?.server,
    worker: host?.worker,
    head: inspected.state.head,
  }
}

/** Looks what comes of faults by a log, until the returned function is called. */
export function watch(inspected: SessionLog): () => void {
  let seen = inspected.state.count
  const look = () => {
    let isChanged = log.see(standingOf(inspected), performance.now())
    const { count } = inspected.state
    // A log that begins anew has fewer.
    for (seen = Math.min(seen, count); seen < count; seen++) {
      const entry = inspected.entries[seen]
      if (entry?.chunk.type === 'executor-superseded') isChanged = log.tookOver(entry.sequence) || isChanged
    }
    if (!isChanged) return
    changed()
    verificationOf(inspected).check()
  }
  const leave = [inspected.subscribe(look), subscribeToHost(look), connection.subscribe(look)]
  const timer = setInterval(look, LOOK_MS)
  return () => {
    clearInterval(timer)
    for (const one of leave) one()
  }
}

/** Has the host fail, and notes it. */
export async function cause(name: FaultName, inspected: SessionLog, ms?: number): Promise<void> {
  const id = log.cause(name, standingOf(inspected), performance.now(), ms)
  changed()
  const isOfTab = name === 'drop' || name === 'delay'
  const body = JSON.stringify({ fault: name, ...(isOfTab && { tab }), ...(ms !== undefined && { ms }) })
  try {
    // Who drops this tab's connection drops no request that does not say whose it is.
    const reply = await fetch('/studio/faults', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    if (reply.ok) return
    const told: { readonly error?: { readonly message?: string } } = await reply.json().catch(() => ({}))
    log.refuse(id, told.error?.message ?? `the host answered with ${reply.status}`)
  } catch {
    // A server that is killed may not get to answer.
    if (name === 'restart-server') return
    log.refuse(id, 'the host cannot be reached')
  }
  changed()
}

const read = logReader()
const verifications = new WeakMap<SessionLog, Verification>()

/** The comparison of a log with that of the server: one for each, from the first time that somebody asks. */
export function verificationOf(inspected: SessionLog): Verification {
  const known = verifications.get(inspected)
  if (known) return known
  const made = new Verification(inspected, read)
  verifications.set(inspected, made)
  return made
}
