// A connection of a client that reconnects whenever it is lost. Silence counts as a loss, and so does an end without a closing frame.

import { setTimeout as pause } from 'node:timers/promises'
import { type Frame, NdjsonDecoder, SseDecoder } from '@millrace/protocol'
import type { FaultProxy } from '../../../../../scripts/faults/proxy.ts'
import type { Random } from '../../../../../scripts/faults/random.ts'
import { SECRET } from './followed-agents.fixture.ts'
import { type SentRequest, send } from './single-request.fixture.ts'

export type Format = 'sse' | 'ndjson'

/** The user of a connection. */
export interface Reader {
  /** Whether it has received everything that it requested. */
  readonly isOver: boolean
  readonly format: Format
  readonly problems: string[]
  /** Loads the snapshots that it needs before it connects, through the same proxy. */
  prepare(port: number, signal: AbortSignal): Promise<void>
  request(): SentRequest
  /** Handles a response other than 200. Returns whether to connect again. */
  onRefused(status: number, code: string): boolean
  onAccepted(): void
  /** Takes a frame. Returns whether the connection is still useful. */
  onFrame(frame: Frame): boolean
}

const ACCEPT = { sse: 'text/event-stream', ndjson: 'application/x-ndjson' }
/** Maximum number of faults that one `FaultyConnection` draws, one per connect. */
const MAX_FAULTY = 4
const RETRY_MS = 4

/** Calls back when nothing was received for `allowedMs`. */
class SilenceTimer {
  /** The limit, in ms, until the server has sent its heartbeat interval. */
  allowedMs = 5_000
  readonly #onTooLong: () => void
  #timer: NodeJS.Timeout | undefined

  constructor(onTooLong: () => void) {
    this.#onTooLong = onTooLong
    this.restart()
  }

  /** Restarts the time limit, because something was received. */
  restart(): void {
    this.stop()
    this.#timer = setTimeout(this.#onTooLong, this.allowedMs)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}

interface FaultyConnectionOptions {
  readonly random: Random
  /** Called for every connection that gets a fault. */
  readonly onFault: () => void
  /** Called for every connection that has ended. */
  readonly onClose: () => void
}

export class FaultyConnection {
  readonly proxy: FaultProxy
  /** Number of times that the connection was lost. */
  drops = 0
  readonly #reader: Reader
  readonly #random: Random
  readonly #abortController = new AbortController()
  readonly #onFault: () => void
  readonly #onClose: () => void
  readonly #ended: Promise<void>
  #faulty = 0

  constructor(proxy: FaultProxy, reader: Reader, { random, onFault, onClose }: FaultyConnectionOptions) {
    this.#onFault = onFault
    this.#onClose = onClose
    this.proxy = proxy
    this.#reader = reader
    this.#random = random
    this.#ended = this.#run()
  }

  /** Injects no more faults, and lifts the current ones. */
  stopFaults(): void {
    this.#faulty = MAX_FAULTY
    this.proxy.refuse(false)
    this.proxy.set({ up: NO_FAULTS, down: NO_FAULTS })
  }

  /** Resolves when the reader has received everything that it requested. */
  get ended(): Promise<void> {
    return this.#ended
  }

  async leave(): Promise<void> {
    this.#abortController.abort()
    await this.#ended
    await this.proxy.stop()
  }

  async #run(): Promise<void> {
    const { signal } = this.#abortController
    while (!signal.aborted && !this.#reader.isOver) {
      const disconnect = new AbortController()
      const leave = () => disconnect.abort()
      signal.addEventListener('abort', leave)
      const silence = new SilenceTimer(leave)
      try {
        await this.#reader.prepare(this.proxy.port, disconnect.signal)
        await this.#connect(disconnect, silence)
      } catch {
        // The server was killed, and restarts.
      }
      silence.stop()
      leave()
      signal.removeEventListener('abort', leave)
      this.#onClose()
      await pause(RETRY_MS)
    }
  }

  async #connect(disconnect: AbortController, silence: SilenceTimer): Promise<void> {
    const reader = this.#reader
    const { signal } = disconnect
    this.#drawFault()
    silence.restart()
    const { headers, ...request } = reader.request()
    const response = await send(
      this.proxy.port,
      { ...request, headers: { accept: ACCEPT[reader.format], ...headers } },
      signal,
    )
    if (response.statusCode !== 200) {
      const pieces: Buffer[] = []
      for await (const piece of response) pieces.push(piece as Buffer)
      const { error } = JSON.parse(Buffer.concat(pieces).toString())
      if (!reader.onRefused(response.statusCode ?? 0, error.code)) this.#abortController.abort()
      return
    }
    reader.onAccepted()
    let isClosed = false
    let isUseful = true
    const onFrame = (frame: Frame) => {
      // Frames after one that could not be applied are ignored.
      if (!isUseful) return
      if (frame.type === 'open') silence.allowedMs = frame.heartbeatMs * 3
      if (frame.type === 'end' || frame.type === 'truncated' || frame.type === 'fail') isClosed = true
      isUseful = reader.onFrame(frame)
    }
    const decoder = new (reader.format === 'sse' ? SseDecoder : NdjsonDecoder)({ onFrame })
    let tail = ''
    try {
      for await (const piece of response as AsyncIterable<Buffer>) {
        silence.restart()
        tail = tail.slice(-SECRET.length) + piece.toString('latin1')
        if (tail.includes(SECRET)) reader.problems.push('an internal entry was sent to a client')
        decoder.push(piece)
        if (!isUseful) disconnect.abort()
      }
      decoder.end()
    } catch (error) {
      if ((error as { name?: string }).name === 'ProtocolError') reader.problems.push(`no frame: ${String(error)}`)
    }
    if (!isClosed) this.drops++
  }

  /** Draws the fault of the next connection. */
  #drawFault(): void {
    const random = this.#random
    if (this.#faulty >= MAX_FAULTY) return
    this.#faulty++
    const at = random.below(random.pick([400, 3_000, 12_000]))
    const kind = random.pick(['none', 'none', 'cutAt', 'cutAt', 'resetAt', 'endAt', 'stallAt'] as const)
    if (kind !== 'none') this.#onFault()
    this.proxy.next({
      up: random.below(8) === 0 ? { splitAt: random.between(1, 40) } : {},
      down: {
        ...(kind !== 'none' && { [kind]: at }),
        ...(random.below(3) === 0 && { splitAt: random.between(1, 200) }),
        ...(random.below(4) === 0 && { delayMs: random.between(1, 15) }),
      },
    })
  }
}

const NO_FAULTS = {
  delayMs: 0,
  cutAt: Infinity,
  resetAt: Infinity,
  stallAt: Infinity,
  endAt: Infinity,
  splitAt: Infinity,
}
