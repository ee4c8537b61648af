// Streams over a store in memory, with fake time, for clients of any speed.

import { LogError, type LogStore, Memory, memoryStore, StreamManager, type StreamManagerOptions } from '@millrace/log'
import { type Chunk, type Entry, Fold, type View } from '@millrace/protocol'
import type { Logger } from '@millrace/runtime'
import { vi } from 'vitest'
import { Clock } from '../../../../scripts/clock.ts'
import type { SessionIdentity } from '../sessions/session-access.ts'
import { Connections, type StreamReplyOptions } from './connections.ts'
import { Follower, type FollowOptions } from './follower.ts'
import type { Format } from './format.ts'
import { SessionLists } from './session-lists.ts'
import { SlowClient } from './slow-client.fixture.ts'
import type { StreamSettings } from './stream-settings.ts'
import { DEFAULT_STREAM } from './stream-settings.ts'

export const ID = 's'

/** Waits until a condition holds, however busy the machine is. */
export const eventually = (holds: () => void): Promise<void> => vi.waitFor(holds, { timeout: 60_000, interval: 5 })

/** A store that counts its watches, and that a test can slow down or make unavailable. */
export class InstrumentedStore {
  readonly store: LogStore
  watches = 0
  reads = 0
  lists = 0
  isDown = false
  delay: (() => Promise<void>) | undefined

  constructor(inner: LogStore) {
    this.store = new Proxy(inner, {
      get: (_, name: keyof LogStore) => {
        if (typeof inner[name] !== 'function') return inner[name]
        if (name === 'watch') return (streamId: string, wake: () => void) => this.#watch(inner, streamId, wake)
        const call = inner[name] as (...args: unknown[]) => Promise<unknown>
        return async (...args: unknown[]) => {
          if (name === 'read') this.reads++
          if (name === 'list') this.lists++
          await this.delay?.()
          if (this.isDown) throw new LogError('unavailable', 'the test makes the store unavailable')
          return call.apply(inner, args)
        }
      },
    })
  }

  #watch(inner: LogStore, streamId: string, wake: () => void): () => void {
    const stop = inner.watch(streamId, wake)
    this.watches++
    let isStopped = false
    return () => {
      if (!isStopped) this.watches--
      isStopped = true
      stop()
    }
  }
}

export interface StreamServerOptions {
  /** @default in memory */
  readonly store?: LogStore
  readonly settings?: Partial<StreamSettings>
  readonly manager?: Partial<StreamManagerOptions>
}

export class StreamServer {
  readonly clock = new Clock()
  readonly memory = new Memory({ clock: this.clock.now })
  readonly instrumented: InstrumentedStore
  readonly manager: StreamManager
  readonly settings: StreamSettings
  readonly logged: { readonly message: string; readonly fields: Parameters<Logger['error']>[1] }[] = []
  readonly connections: Connections
  readonly lists: SessionLists

  constructor({ settings, manager, store }: StreamServerOptions = {}) {
    this.instrumented = new InstrumentedStore(store ?? memoryStore(undefined, this.memory))
    const log = (message: string, fields: Parameters<Logger['error']>[1]) => void this.logged.push({ message, fields })
    this.settings = { timers: this.clock, ...DEFAULT_STREAM, ...settings }
    this.manager = this.otherManager(manager)
    this.connections = new Connections(this.settings, { warn: log, error: log })
    this.lists = new SessionLists(this.manager, this.clock)
  }

  /** A second manager on the same store, as in another process. */
  otherManager(options: Partial<StreamManagerOptions> = {}): StreamManager {
    return new StreamManager({ store: this.instrumented.store, timers: this.clock, ...options })
  }

  /** A client that follows a session. */
  follow(
    options: Partial<FollowOptions> = {},
    client = new SlowClient(),
    serving: Partial<StreamReplyOptions> = {},
  ): SlowClient {
    const { heartbeatMs } = this.settings
    const followOptions = {
      after: '0',
      isNamed: false,
      merge: true,
      includeDiscarded: false,
      isLive: true,
      heartbeatMs,
      ...options,
    }
    const serve: StreamReplyOptions['serve'] = async channel => {
      const identity = options.identity ?? (await this.identity())
      await new Follower(this.manager, channel, { ...followOptions, identity }).run()
    }
    return this.serve(serve, client, serving)
  }

  /** The identity of a session; a missing session gets one of no log. */
  async identity(sessionId = ID): Promise<SessionIdentity> {
    return (await this.manager.getInfo(sessionId)) ?? { streamId: sessionId, principal: null, incarnation: '' }
  }

  /** A client of any stream. */
  serve(
    serve: StreamReplyOptions['serve'],
    client = new SlowClient(),
    serving: Partial<StreamReplyOptions> = {},
  ): SlowClient {
    const format: Format = serving.format ?? 'sse'
    this.connections.reply({ format, recheck: async () => {}, serve, ...serving }).stream(client)
    return client
  }

  /** All entries of a log. */
  async log(sessionId = ID): Promise<Entry[]> {
    const { head = 0, floor = 0 } = (await this.manager.getInfo(sessionId)) ?? {}
    return this.manager.entries(sessionId, floor, head)
  }

  /** The entries that clients may see. */
  async publicEntries(sessionId = ID): Promise<Entry[]> {
    return (await this.log(sessionId)).filter(({ internal }) => !internal)
  }

  /** A short run that ends. */
  async completeRun(runId: string, words: string, sessionId = ID): Promise<void> {
    const writer = await this.manager.createWriter(sessionId, { runId, agentType: 'assistant' })
    for (const word of words.split(' ')) await writer.write(delta(`${word} `)).appended
    await this.manager.endStream(sessionId)
    await writer.close()
  }

  /** The resources that are still in use. */
  get resources() {
    const { connections, manager, lists, instrumented, clock } = this
    return {
      connections: connections.size,
      liveStreams: manager.liveStreamCount,
      lists: lists.size,
      watches: instrumented.watches,
      timers: clock.alarms,
    }
  }
}

/** No resources. */
export const NO_RESOURCES = { connections: 0, liveStreams: 0, lists: 0, watches: 0, timers: 0 }

export const delta = (text: string, id = '1'): Chunk => ({ type: 'text-delta', id, delta: text })

/** The part of a view that leaves the server. All followers must agree on it, wherever they started. */
export const shownOf = ({ internal, ...shown }: View): Omit<View, 'internal'> => shown

/** The view of a client that started from a view or from nothing. At a rewind it reads a snapshot. */
export async function viewOf(
  manager: StreamManager,
  { frames }: Pick<SlowClient, 'frames'>,
  from = 0,
  sessionId = ID,
): Promise<View> {
  const fold = from === 0 ? new Fold() : (await manager.fold(sessionId, from)).fold
  for (const frame of frames) {
    if (frame.type !== 'entries' || (frame.sessionId ?? sessionId) !== sessionId) continue
    for (let refold = fold.apply(frame.entries, frame.sequence); refold; ) {
      const { toSequence, rest, through } = refold
      fold.adopt((await manager.fold(sessionId, toSequence)).fold)
      refold = fold.apply(rest, through)
    }
  }
  return fold.view()
}
