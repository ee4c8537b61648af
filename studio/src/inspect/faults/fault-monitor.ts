// The injected faults of this page and their outcomes: one state for the page, whichever panels are mounted.

import type { SessionLog } from '@millrace/client/log'
import { connection, tab } from '../../app/connection.ts'
import { ChatVerification, type ObservedChat } from './chat-verification.ts'
import { type Fault, FaultLog, type FaultName, type SystemState } from './fault-log.ts'
import { hostState, subscribeToHost } from './host.ts'
import { logReader } from './read-log.ts'
import { Verification } from './verification.ts'

const faultLog = new FaultLog()
const listeners = new Set<() => void>()
/** Interval of checks of open faults, in ms, for outcomes that cause no event. */
const POLL_MS = 500

const notify = (): void => {
  for (const listener of listeners) listener()
}

/** The faults of this page, oldest first. */
export const faultsSoFar = (): readonly Fault[] => faultLog.faults

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
export function watchFaults(inspected: SessionLog): () => void {
  let checked = inspected.state.count
  const update = () => {
    let isChanged = faultLog.update(systemStateOf(inspected), performance.now())
    const { count } = inspected.state
    // A log that restarts has fewer entries.
    for (checked = Math.min(checked, count); checked < count; checked++) {
      const entry = inspected.entries[checked]
      if (entry?.chunk.type === 'executor-superseded') isChanged = faultLog.recordTakeover(entry.sequence) || isChanged
      if (entry?.chunk.type === 'run-finished') isChanged = faultLog.recordRunEnd(entry.sequence) || isChanged
    }
    if (!isChanged) return
    notify()
    verificationOf(inspected).check()
    chatVerifications.get(inspected)?.check()
  }
  const unsubscribers = [inspected.subscribe(update), subscribeToHost(update), connection.subscribe(update)]
  const timer = setInterval(update, POLL_MS)
  return () => {
    clearInterval(timer)
    for (const unsubscribe of unsubscribers) unsubscribe()
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
  const id = faultLog.add(name, systemStateOf(inspected), performance.now(), { ms, isRunning: isRunning(inspected) })
  notify()
  const isForTab = name === 'drop' || name === 'delay'
  const request = JSON.stringify({ fault: name, ...(isForTab && { tab }), ...(ms !== undefined && { ms }) })
  try {
    // Without the header of this tab: a drop must not cut this request.
    const reply = await fetch('/studio/faults', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: request,
    })
    if (reply.ok) return
    const body: { readonly error?: { readonly message?: string } } = await reply.json().catch(() => ({}))
    faultLog.reject(id, body.error?.message ?? `the server answered with status ${reply.status}`)
  } catch {
    // A killed server may not answer.
    if (name === 'restart-server') return
    faultLog.reject(id, 'cannot reach the server')
  }
  notify()
}

const read = logReader()
const verifications = new WeakMap<SessionLog, Verification>()

/** The verification of a log, created on the first call. */
export function verificationOf(inspected: SessionLog): Verification {
  const existing = verifications.get(inspected)
  if (existing) return existing
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
  const existing = chatVerifications.get(inspected)
  if (existing?.chat === chat) return existing
  const verification = new ChatVerification(inspected, chat)
  chatVerifications.set(inspected, verification)
  return verification
}
