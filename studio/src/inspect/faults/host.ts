import { useSyncExternalStore } from 'react'

/** The status of the processes behind this page, from `GET /studio/host`. */
export interface Host {
  readonly file: string
  readonly server: { readonly pid: number; readonly starts: number }
  readonly worker: { readonly state: 'up' | 'down' | 'starting'; readonly pid?: number; readonly starts: number }
  /** Delay of the responses to each tab, in ms. */
  readonly delays: { readonly [tab: string]: number }
}

/** Connection to the host. `unsupported` if the server of this page cannot inject faults. */
export interface HostState {
  readonly status: 'connecting' | 'connected' | 'unreachable' | 'unsupported'
  /** The last known status. */
  readonly host?: Host
}

const RETRY_MS = 300

/** Parses a host status; undefined if it is invalid. */
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

let state: HostState = { status: 'connecting' }
let source: EventSource | undefined
let retryTimer: ReturnType<typeof setTimeout> | undefined
const listeners = new Set<() => void>()

function set(next: HostState): void {
  state = next
  for (const listener of listeners) listener()
}

/** The current state. */
export const hostState = (): HostState => state

/** Subscribes to the host status. Connects while there is a listener. */
export function subscribeToHost(listener: () => void): () => void {
  listeners.add(listener)
  if (listeners.size === 1) connect()
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearTimeout(retryTimer)
    source?.close()
    source = undefined
  }
}

/** The host status. Renders again when it changes. */
export const useHost = (): HostState => useSyncExternalStore(subscribeToHost, hostState, hostState)

function connect(): void {
  const current = new EventSource('/studio/host')
  source = current
  current.onmessage = ({ data }) => {
    const host = hostOf(data)
    if (host) set({ status: 'connected', host })
  }
  current.onerror = () => {
    // A server that answers without this route will never have it. A known host is restarting.
    const isRefused = current.readyState === EventSource.CLOSED && state.host === undefined
    current.close()
    set({ ...state, status: isRefused ? 'unsupported' : 'unreachable' })
    if (!isRefused) retryTimer = setTimeout(connect, RETRY_MS)
  }
}
