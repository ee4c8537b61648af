// The injected faults of this page and their outcomes: one state for the page, whichever panels are mounted.

import type { SessionLog } from '@millrace/client/log'
import { connection, tab } from '../../app/connection.ts'
import { ChatVerification, type ObservedChat } from './chat-verification.ts'
import { type Fault, FaultLog, type FaultName, type SystemState } from './fault-log.ts'
import { hostState, subscribeToHost } from './host.ts'
import { logReader } from './read-log.ts'
import { Verification } from './verification.ts'

const log = new FaultLog()
const listeners = new Set<() => void>()
/** Interval at which open faults are checked, for outcomes that cause no event. */
const POLL_MS = 500

const changed = (): void => {
  for (const listener of listeners) listener()
}

/** The faults of this page, oldest first. */
export const faultsSoFar = (): readonly Fault[] => log.faults

/** Calls `listener` after each change of the faults. */
export function subscribeToFaults(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

const systemStateOf = (inspected: SessionLog): SystemState => {
  const { host } = hostState()
  return {
    isLive: inspected.state.status === 'live',
    delayMs: host?.delays[tab] ?? 0,
    server: host?.server,
    worker: host?.worker,
    head: inspected.state.head,
  }
}

/** Updates the faults from a log until the returned function is called. */
export function watch(inspected: SessionLog): () => void {
  let checked = inspected.state.count
  const look = () => {
    let isChanged = log.update(systemStateOf(inspected), performance.now())
    const { count } = inspected.state
    // A log that restarts has fewer entries.
    for (checked = Math.min(checked, count); checked < count; checked++) {
      const entry = inspected.entries[checked]
      if (entry?.chunk.type === 'executor-superseded') isChanged = log.tookOver(entry.sequence) || isChanged
      if (entry?.chunk.type === 'run-finished') isChanged = log.ended(entry.sequence) || isChanged
    }
    if (!isChanged) return
    changed()
    verificationOf(inspected).check()
    chatVerifications.get(inspected)?.check()
  }
  const leave = [inspected.subscribe(look), subscribeToHost(look), connection.subscribe(look)]
  const timer = setInterval(look, POLL_MS)
  return () => {
    clearInterval(timer)
    for (const one of leave) one()
  }
}

/** Whether the log has a running run. */
function isRunning(inspected: SessionLog): boolean {
  try {
    return inspected.viewAt(inspected.state.head).runs.some(({ status }) => status === 'running')
  } catch {
    // The entries before were trimmed.
    return false
  }
}

/** Injects a fault and records it. */
export async function injectFault(name: FaultName, inspected: SessionLog, ms?: number): Promise<void> {
  const id = log.add(name, systemStateOf(inspected), performance.now(), { ms, isRunning: isRunning(inspected) })
  changed()
  const isOfTab = name === 'drop' || name === 'delay'
  const request = JSON.stringify({ fault: name, ...(isOfTab && { tab }), ...(ms !== undefined && { ms }) })
  try {
    // Without the header of this tab: a drop must not cut this request.
    const reply = await fetch('/studio/faults', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: request,
    })
    if (reply.ok) return
    const body: { readonly error?: { readonly message?: string } } = await reply.json().catch(() => ({}))
    log.reject(id, body.error?.message ?? `the server answered with status ${reply.status}`)
  } catch {
    // A killed server may not answer.
    if (name === 'restart-server') return
    log.reject(id, 'cannot reach the server')
  }
  changed()
}

const read = logReader()
const verifications = new WeakMap<SessionLog, Verification>()

/** The verification of a log, created on the first call. */
export function verificationOf(inspected: SessionLog): Verification {
  const known = verifications.get(inspected)
  if (known) return known
  const verification = new Verification(inspected, read)
  verifications.set(inspected, verification)
  return verification
}

const chatVerifications = new WeakMap<SessionLog, ChatVerification>()

/** The verification of a chat against its log, created on the first call; undefined if the chat shows another session. */
export function chatVerificationOf(
  inspected: SessionLog,
  chat: ObservedChat | undefined,
): ChatVerification | undefined {
  if (chat?.state.sessionId !== inspected.sessionId) return undefined
  const known = chatVerifications.get(inspected)
  if (known?.chat === chat) return known
  const verification = new ChatVerification(inspected, chat)
  chatVerifications.set(inspected, verification)
  return verification
}
