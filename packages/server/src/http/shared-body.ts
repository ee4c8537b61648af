// A body for more than one reader: `authorize` and `context` may look at it, and the route takes it all the same.

import { markParsed, tooLarge, wasParsed } from './body.ts'

const READS = ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text'] as const
type Reads = (typeof READS)[number]

const isReads = (key: unknown): key is Reads => (READS as readonly unknown[]).includes(key)

/** The body of a request, read once, up to a limit, and given to whoever asks. */
export class SharedBody {
  /** The request, with a body that can be read again and again. */
  readonly request: Request
  readonly #limit: number
  readonly #type: string
  readonly #reader: () => ReadableStreamDefaultReader<Uint8Array> | undefined
  #pieces: Uint8Array[] = []
  #length = 0
  #isOver = false
  #isGone = false
  #isWanted = false
  #pulling: Promise<void> | undefined

  constructor(request: Request, limit: number) {
    this.#limit = limit
    this.#type = request.headers.get('content-type') ?? ''
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
    this.#reader = () => (reader ??= request.body?.getReader())
    this.request = new Proxy(request, { get: (target, key) => this.#get(target, key) })
    if (wasParsed(request)) markParsed(this.request)
  }

  /** Whether anybody has looked at it. */
  get isWanted(): boolean {
    return this.#isWanted
  }

  /** Lets go of what was read: nobody can read it any more. */
  forget(): void {
    this.#pieces = []
    this.#isGone = true
  }

  #get(request: Request, key: string | symbol): unknown {
    if (key === 'body') return this.#stream()
    if (key === 'bodyUsed') return false
    if (key === 'clone') return () => this.request
    if (isReads(key)) return () => new Response(this.#stream(), { headers: { 'content-type': this.#type } })[key]()
    const value: unknown = Reflect.get(request, key, request)
    return typeof value === 'function' ? value.bind(request) : value
  }

  #stream(): ReadableStream<Uint8Array> {
    this.#isWanted = true
    let at = 0
    return new ReadableStream<Uint8Array>(
      {
        pull: async controller => {
          const piece = await this.#piece(at++)
          if (piece) controller.enqueue(piece)
          else controller.close()
        },
      },
      { highWaterMark: 0 },
    )
  }

  async #piece(at: number): Promise<Uint8Array | undefined> {
    while (at >= this.#pieces.length && !this.#isOver) await this.#pull()
    if (this.#isGone) throw new Error('the body was let go, because nobody had looked at it when the request came')
    return this.#pieces[at]
  }

  /** Reads on, for all who wait. */
  #pull(): Promise<void> {
    this.#pulling ??= this.#next().finally(() => {
      this.#pulling = undefined
    })
    return this.#pulling
  }

  async #next(): Promise<void> {
    // Whoever has seen more than there may be has stopped by itself, or is stopped here.
    if (this.#length > this.#limit) throw tooLarge(this.#limit)
    const { value } = (await this.#reader()?.read()) ?? {}
    if (value === undefined) this.#isOver = true
    else {
      this.#pieces.push(value)
      this.#length += value.byteLength
    }
  }
}
