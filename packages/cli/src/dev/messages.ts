// What the processes of a dev host say to each other.

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

/** What stands in the way of a child: until that changes, trying again leads to the same. */
type Obstacle = 'file' | 'port' | 'store'

/** What a child tells the supervisor. */
export type Told =
  /** The file has an app; where its store is this process's memory, the server drives too. */
  | { readonly type: 'loaded'; readonly isAlone: boolean }
  | { readonly type: 'listening'; readonly port: number; readonly studioPort: number }
  /** The worker drives. */
  | { readonly type: 'driving' }
  | { readonly type: 'failed'; readonly obstacle: Obstacle; readonly message: string; readonly port?: number }
  | { readonly type: 'fault'; readonly fault: 'kill-worker' | 'restart-server' }
  | { readonly type: 'delays'; readonly delays: Delays }

/** What the supervisor tells a child. */
export type Asked = { readonly type: 'stop' } | { readonly type: 'host'; readonly host: Host }
