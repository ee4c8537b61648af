// What goes wrong on this page, and what came of it: one for the page, whichever of its parts are shown.

import type { SessionLog } from '@millrace/client/log'
import { connection, tab } from '../../app/connection.ts'
import { type Fault, FaultLog, type FaultName, type Standing } from './fault-log.ts'
import { hostState, subscribeToHost } from './host.ts'
import { logReader } from './read-log.ts'
import { type ReadChat, Reading } from './reading.ts'
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
      if (entry?.chunk.type === 'run-finished') isChanged = log.ended(entry.sequence) || isChanged
    }
    if (!isChanged) return
    changed()
    verificationOf(inspected).check()
    readings.get(inspected)?.check()
  }
  const leave = [inspected.subscribe(look), subscribeToHost(look), connection.subscribe(look)]
  const timer = setInterval(look, LOOK_MS)
  return () => {
    clearInterval(timer)
    for (const one of leave) one()
  }
}

/** Whether a run is being driven, as far as a log tells. */
function isAtWork(inspected: SessionLog): boolean {
  try {
    return inspected.viewAt(inspected.state.head).runs.some(({ status }) => status === 'running')
  } catch {
    // What it goes back to is not in the log any more.
    return false
  }
}

/** Has the host fail, and notes it. */
export async function cause(name: FaultName, inspected: SessionLog, ms?: number): Promise<void> {
  const id = log.cause(name, standingOf(inspected), performance.now(), { ms, isAtWork: isAtWork(inspected) })
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

const readings = new WeakMap<SessionLog, Reading>()

/** The comparison of what a chat shows with its log: one for each log, from the first time that somebody asks; none, where the chat is another session's. */
export function readingOf(inspected: SessionLog, chat: ReadChat | undefined): Reading | undefined {
  if (chat?.state.sessionId !== inspected.sessionId) return undefined
  const known = readings.get(inspected)
  if (known?.chat === chat) return known
  const made = new Reading(inspected, chat)
  readings.set(inspected, made)
  return made
}
