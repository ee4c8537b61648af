import { useSyncExternalStore } from 'react'

/** How the host of this page stands, as `GET /studio/host` tells it. */
export interface Host {
  readonly file: string
  readonly server: { readonly pid: number; readonly starts: number }
  readonly worker: { readonly state: 'up' | 'down' | 'starting'; readonly pid?: number; readonly starts: number }
  /** For how long the replies of each tab are held, in milliseconds. */
  readonly delays: { readonly [tab: string]: number }
}

/** What is known of the host: `absent`, where the page is served by something that cannot fail on demand. */
export interface HostState {
  readonly status: 'asking' | 'there' | 'away' | 'absent'
  /** As it was told last. */
  readonly host?: Host
}

const AGAIN_MS = 300

/** Reads what a host tells; nothing, where it is something else. */
export function hostOf(text: string): Host | undefined {
  try {
    const { file, server, worker, delays } = Object(JSON.parse(text)) as Partial<Host>
    const isHost =
      typeof file === 'string' &&
      Number.isInteger(server?.pid) &&
      Number.isInteger(server?.starts) &&
      ['up', 'down', 'starting'].includes(String(worker?.state)) &&
      Number.isInteger(worker?.starts)
    return isHost ? ({ file, server, worker, delays: Object(delays) } as Host) : undefined
  } catch {
    return undefined
  }
}

let state: HostState = { status: 'asking' }
let source: EventSource | undefined
let again: ReturnType<typeof setTimeout> | undefined
const listeners = new Set<() => void>()

function set(next: HostState): void {
  state = next
  for (const listener of listeners) listener()
}

/** How the host stands now. */
export const hostState = (): HostState => state

/** Calls when the host stands otherwise; it is asked for as long as somebody listens. */
export function subscribeToHost(listener: () => void): () => void {
  listeners.add(listener)
  if (listeners.size === 1) ask()
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearTimeout(again)
    source?.close()
    source = undefined
  }
}

/** How the host stands: renders again when that changes. */
export const useHost = (): HostState => useSyncExternalStore(subscribeToHost, hostState, hostState)

function ask(): void {
  const asked = new EventSource('/studio/host')
  source = asked
  asked.onmessage = ({ data }) => {
    const host = hostOf(data)
    if (host) set({ status: 'there', host })
  }
  asked.onerror = () => {
    // Who answers, and has no such thing, never will; who was there is about to be there again.
    const isRefused = asked.readyState === EventSource.CLOSED && state.host === undefined
    asked.close()
    set({ ...state, status: isRefused ? 'absent' : 'away' })
    if (!isRefused) again = setTimeout(ask, AGAIN_MS)
  }
}
