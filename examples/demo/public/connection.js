import { refusalOf } from './api.js'

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 10_000
const SILENCE_MS = 20_000

/**
 * A stream of frames, a line of JSON each, that comes back by itself. It says truly how it is:
 * `connecting`, `catching-up`, `live`, `offline` (with the milliseconds until it tries again) or `closed` (with the reason).
 */
export class Connection {
  #urlOf
  #told
  #isClosed = false
  #abort = new AbortController()
  #cursor
  #sequence = 0
  #silenceMs = SILENCE_MS
  #failures = 0

  /** `urlOf` is given the cursor to go on from; `told` has `frame`, `state` and `reset`, which says that all before is void. */
  constructor(urlOf, told) {
    this.#urlOf = urlOf
    this.#told = told
    // Not before whoever makes it has it.
    queueMicrotask(() => this.#run())
  }

  /** Cuts it, as a network would: it comes back. */
  drop() {
    this.#abort.abort()
  }

  /** Ends it for good. */
  close() {
    this.#isClosed = true
    this.#abort.abort()
  }

  async #run() {
    while (!this.#isClosed) {
      const reason = await this.#connect().catch(() => undefined)
      if (this.#isClosed) return
      if (reason !== undefined) return this.#told.state('closed', reason)
      const wait = Math.min(FIRST_WAIT_MS * 2 ** this.#failures++, LONGEST_WAIT_MS) * (0.75 + Math.random() / 2)
      this.#told.state('offline', wait)
      await sleep(wait)
    }
  }

  /** One connection, until it is over; gives the reason where there is no use in another. */
  async #connect() {
    this.#abort = new AbortController()
    const { signal } = this.#abort
    this.#told.state('connecting')
    const headers = { accept: 'application/x-ndjson' }
    const response = await fetch(this.#urlOf(this.#cursor), { headers, signal, cache: 'no-store' })
    if (!response.ok) {
      const refusal = await refusalOf(response)
      return refusal.retryable ? undefined : refusal.message
    }
    for await (const line of linesOf(this.#listened(response.body))) {
      if (signal.aborted) return undefined
      const frame = JSON.parse(line)
      if (frame.type === 'entries') this.#prove(frame)
      if (frame.cursor !== undefined) this.#cursor = frame.cursor
      this.#told.frame(frame)
      if (frame.type === 'open') {
        this.#silenceMs = frame.heartbeatMs
        this.#told.state('catching-up')
      } else if (frame.type === 'caught-up' || frame.type === 'sessions') {
        this.#failures = 0
        this.#told.state('live')
      } else if (frame.type === 'truncated') {
        this.#cursor = undefined
        this.#sequence = 0
        this.#told.reset()
      } else if (frame.type === 'fail' && !frame.recoverable) return frame.error.message
    }
    return undefined
  }

  /** Throws where something between this frame and the one before was not seen. */
  #prove(frame) {
    const after = frame.after ?? this.#sequence
    if (after !== this.#sequence) throw new Error(`expected what lies after ${this.#sequence}, found ${after}`)
    this.#sequence = frame.sequence
  }

  /** What comes, and a drop where nothing does for too long: also a network that is gone says nothing. */
  async *#listened(body) {
    const reader = body.getReader()
    const abort = this.#abort
    for (;;) {
      const silence = setTimeout(() => abort.abort(), this.#silenceMs)
      const { done, value } = await reader.read().finally(() => clearTimeout(silence))
      if (done) return
      yield value
    }
  }
}

async function* linesOf(chunks) {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop()
    // An empty one is a heartbeat.
    for (const line of lines) if (line.trim()) yield line
  }
}

/** Waits, but no longer than until the network is back. */
function sleep(ms) {
  return new Promise(resolve => {
    const done = () => {
      clearTimeout(timer)
      removeEventListener('online', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    addEventListener('online', done)
  })
}
