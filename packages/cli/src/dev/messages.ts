// The messages between the processes of a dev host.

/** The status of a dev host, as its page gets it. */
export interface HostStatus {
  readonly file: string
  readonly server: { readonly pid: number; readonly starts: number }
  readonly worker: { readonly state: WorkerState; readonly pid?: number; readonly starts: number }
  readonly delays: Delays
}

/** The state of the worker that drives runs. */
export type WorkerState = 'up' | 'down' | 'starting'

/** The delay of responses by tab, in ms. */
export type Delays = Readonly<Record<string, number>>

/** The start options of a child process. */
export interface ChildStart {
  readonly file: string
  readonly page: string
  /** The port of the app. 0 selects a free port. */
  readonly port: number
  /** The port of the studio, if it has its own. */
  readonly studioPort?: number
  readonly delays: Delays
}

/** Why a child cannot start. A retry fails until this changes. */
type StartObstacle = 'file' | 'port' | 'store'

/** A message from a child to the supervisor. */
export type ChildMessage =
  /** The app is loaded. With a memory store, the server also drives runs. */
  | { readonly type: 'loaded'; readonly isSingleProcess: boolean }
  | { readonly type: 'listening'; readonly port: number; readonly studioPort: number }
  /** The worker drives runs. */
  | { readonly type: 'driving' }
  | { readonly type: 'failed'; readonly obstacle: StartObstacle; readonly message: string; readonly port?: number }
  | { readonly type: 'fault'; readonly fault: 'kill-worker' | 'restart-server' }
  | { readonly type: 'delays'; readonly delays: Delays }

/** A message from the supervisor to a child. */
export type SupervisorMessage = { readonly type: 'stop' } | { readonly type: 'host'; readonly host: HostStatus }
