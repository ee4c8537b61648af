// A browser tab with its own connection through a proxy and a chat per session, and a reader that uses `for await`.

import { type Entry, Fold, foldLog, type View } from '@millrace/protocol'
import { type FaultProxy, proxy } from '../../../../../scripts/faults/proxy.ts'
import { Random } from '../../../../../scripts/faults/random.ts'
import { HttpChat } from '../../chat/http-chat.ts'
import { createConnection, type PageConnection } from '../../connection/page-connection.ts'
import type { RequestError } from '../../error/chat-error.ts'
import { TabRecorder } from './tab-recorder.fixture.ts'
import { tamperingFetch } from './tamper.fixture.ts'

const BACKOFF = { firstMs: 4, longestMs: 60 }

export interface TabOptions {
  readonly name: string
  readonly port: number
  readonly sessionIds: readonly string[]
  readonly seed: number
  /** Average number of frames for each one that is tampered with. */
  readonly tamperEvery: number
  /** Minimum interval between notifications, in ms. */
  readonly flushIntervalMs: number
  /** Called after each visible change. */
  readonly onChange: () => void
  /** Called for each frame that is tampered with. */
  readonly onTamper: () => void
  /** Called when a session is unknown to the server, so that the tab has stopped following it. */
  readonly onUnknown: (sessionId: string, tab: Tab) => void
  /** Runs the tools of the tab. */
  readonly onTool: (toolCallId: string, tab: Tab) => Promise<unknown>
}

interface TabSession {
  readonly chat: HttpChat
  readonly recorder: TabRecorder
  stop: () => void
}

export class Tab {
  readonly name: string
  readonly gate: FaultProxy
  readonly connection: PageConnection
  readonly sessions = new Map<string, TabSession>()
  /** How often its chats were stopped. */
  absences = 0
  /** Sessions for which it took a snapshot. */
  readonly snapshots = new Set<string>()
  tampered = 0

  private constructor(gate: FaultProxy, options: TabOptions) {
    const { name, sessionIds, seed, tamperEvery, flushIntervalMs, onChange, onTamper, onUnknown, onTool } = options
    this.name = name
    this.gate = gate
    const random = new Random(seed)
    const fetchTampered = tamperingFetch(random, tamperEvery, () => {
      this.tampered++
      onTamper()
    })
    this.connection = createConnection({
      api: `http://127.0.0.1:${gate.port}/api`,
      backoff: BACKOFF,
      fetch: (input, init) => {
        const [, sessionId] = /\/sessions\/([^/?]+)\?/.exec(String(input)) ?? []
        if (sessionId !== undefined) this.snapshots.add(sessionId)
        return fetchTampered(input, init)
      },
    })
    for (const session of sessionIds) {
      const recorder: TabRecorder = new TabRecorder(() => chat.store, onChange)
      const tools = { locate: (_: never, { toolCallId }: { toolCallId: string }) => onTool(toolCallId, this) }
      const chat = new HttpChat({
        session,
        connection: this.connection,
        agent: 'teller',
        streamFlushInterval: flushIntervalMs,
        tools,
      })
      chat.callbacks = recorder
      chat.store.subscribe(['any'], recorder.check)
      chat.subscribe(() => {
        const { connection, error } = chat.state
        if (connection.status === 'offline' && error?.code === 'session_unknown') onUnknown(session, this)
        onChange()
      })
      this.sessions.set(session, { chat, recorder, stop: chat.start() })
    }
  }

  static async open(options: TabOptions): Promise<Tab> {
    return new Tab(await proxy({ host: '127.0.0.1', port: options.port }), options)
  }

  session(sessionId: string): TabSession {
    return this.sessions.get(sessionId) as TabSession
  }

  chat(sessionId: string): HttpChat {
    return this.session(sessionId).chat
  }

  /** Whether all sessions are live, and no message is in flight. */
  get isLive(): boolean {
    const states = [...this.sessions.values()].map(({ chat }) => chat.state)
    return states.every(({ connection, status }) => connection.status === 'live' && status !== 'submitted')
  }

  /** Stops all chats until the promise resolves. */
  async awayWhile(until: Promise<void>): Promise<void> {
    this.absences++
    for (const session of this.sessions.values()) session.stop()
    await until
    for (const session of this.sessions.values()) session.stop = session.chat.start()
  }

  /** Ends all faults of this tab. */
  stopFaults(): void {
    this.gate.refuse(false)
    for (const link of this.gate.links) link.set({ down: { cutAt: Infinity, resetAt: Infinity } })
    this.gate.resume()
    this.connection.wake()
  }

  async close(): Promise<void> {
    for (const session of this.sessions.values()) session.stop()
    this.gate.refuse(true)
    await this.gate.stop()
  }
}

/** Reads all sessions with `for await`. */
export class Reader {
  readonly problems: string[] = []
  readonly #sessions = new Map<string, { base: View | undefined; entries: Entry[]; at: number }>()
  readonly #connection: PageConnection
  readonly #onChange: () => void
  #isClosed = false

  constructor(port: number, session: readonly string[], fetch: typeof globalThis.fetch, onChange: () => void) {
    for (const sessionId of session) this.#sessions.set(sessionId, { base: undefined, entries: [], at: 0 })
    this.#onChange = onChange
    this.#connection = createConnection({
      api: `http://127.0.0.1:${port}/api`,
      session,
      fetch,
      backoff: BACKOFF,
      onSnapshot: ({ view, sequence }, sessionId) => {
        this.#sessions.set(sessionId, { base: view, entries: [], at: sequence })
        onChange()
      },
    })
    void this.#loop()
  }

  async #loop(): Promise<void> {
    try {
      for await (const { sessionId, ...entry } of this.#connection) this.#record(sessionId, entry)
      if (!this.#isClosed) this.problems.push('the loop ended by itself')
    } catch (error) {
      const { code, message } = error as RequestError
      // A deleted log cannot be read on.
      if (code === 'session_unknown') this.#isClosed = true
      else this.problems.push(`the loop threw ${code}: ${message}`)
      this.#onChange()
    }
  }

  #record(sessionId: string, entry: Entry): void {
    const read = this.#sessions.get(sessionId)
    if (read === undefined) return void this.problems.push(`an entry of ${sessionId}, which it does not follow`)
    if (entry.sequence <= read.at) this.problems.push(`${sessionId}: sequence ${entry.sequence} after ${read.at}`)
    read.at = entry.sequence
    read.entries.push(entry)
    this.#onChange()
  }

  has(sessionId: string, head: number): boolean {
    return this.#isClosed || (this.#sessions.get(sessionId)?.at ?? 0) >= head
  }

  /** View of the entries read. Undefined if it is unknown. */
  view(sessionId: string): View | undefined {
    const { base, entries } = this.#sessions.get(sessionId) ?? {}
    if (this.#isClosed || entries === undefined) return undefined
    if (base === undefined) return foldLog(entries).view()
    const fold = Fold.from(base)
    return fold.apply(entries) ? undefined : fold.view()
  }

  close(): void {
    this.#isClosed = true
    this.#connection.close()
  }
}
