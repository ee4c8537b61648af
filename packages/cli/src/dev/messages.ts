// The messages between the processes of a dev host.

/** How a dev host stands, as its page is told. */
export interface Host {
  readonly file: string
  readonly server: { readonly pid: number; readonly starts: number }
  readonly worker: { readonly state: WorkerState; readonly pid?: number; readonly starts: number }
  readonly delays: Delays
}

/** Whether something drives runs. */
export type WorkerState = 'up' | 'down' | 'starting'

/** For how long the pieces of replies are held, in milliseconds, by tab. */
export type Delays = Readonly<Record<string, number>>

/** What a process of a dev host is started with. */
export interface Start {
  readonly file: string
  readonly page: string
  /** Where the app is; 0 for any that is free. */
  readonly port: number
  /** Where the studio is, once it has a port of its own. */
  readonly studioPort?: number
  readonly delays: Delays
}

/** Why a child cannot start. A retry fails until this changes. */
type StartObstacle = 'file' | 'port' | 'store'

/** A message from a child to the supervisor. */
export type ChildMessage =
  /** The file has an app; where its store is this process's memory, the server drives too. */
  | { readonly type: 'loaded'; readonly isAlone: boolean }
  | { readonly type: 'listening'; readonly port: number; readonly studioPort: number }
  /** The worker drives. */
  | { readonly type: 'driving' }
  | { readonly type: 'failed'; readonly obstacle: StartObstacle; readonly message: string; readonly port?: number }
  | { readonly type: 'fault'; readonly fault: 'kill-worker' | 'restart-server' }
  | { readonly type: 'delays'; readonly delays: Delays }

/** A message from the supervisor to a child. */
export type SupervisorMessage = { readonly type: 'stop' } | { readonly type: 'host'; readonly host: Host }
