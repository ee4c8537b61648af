// A request body that can be read several times: by `authorize`, by `context` and by the route.

import { markParsed, tooLarge, wasParsed } from './body.ts'

const BODY_METHODS = ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text'] as const
type BodyMethod = (typeof BODY_METHODS)[number]

const isBodyMethod = (key: unknown): key is BodyMethod => (BODY_METHODS as readonly unknown[]).includes(key)

/** Reads the body of a request once, up to a limit, and gives it to every reader. */
export class SharedBody {
  /** The request with a body that can be read repeatedly. */
  readonly request: Request
  readonly #limit: number
  readonly #type: string
  readonly #reader: () => ReadableStreamDefaultReader<Uint8Array> | undefined
  #pieces: Uint8Array[] = []
  #length = 0
  #isComplete = false
  #isReleased = false
  #wasRead = false
  #pulling: Promise<void> | undefined

  constructor(request: Request, limit: number) {
    this.#limit = limit
    this.#type = request.headers.get('content-type') ?? ''
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
    this.#reader = () => (reader ??= request.body?.getReader())
    this.request = new Proxy(request, { get: (target, key) => this.#get(target, key) })
    if (wasParsed(request)) markParsed(this.request)
  }

  /** Whether the body was read. */
  get wasRead(): boolean {
    return this.#wasRead
  }

  /** Frees the buffered body. Later reads fail. */
  release(): void {
    this.#pieces = []
    this.#isReleased = true
  }

  #get(request: Request, key: string | symbol): unknown {
    if (key === 'body') return this.#stream()
    if (key === 'bodyUsed') return false
    if (key === 'clone') return () => this.request
    if (isBodyMethod(key)) return () => new Response(this.#stream(), { headers: { 'content-type': this.#type } })[key]()
    const value: unknown = Reflect.get(request, key, request)
    return typeof value === 'function' ? value.bind(request) : value
  }

  #stream(): ReadableStream<Uint8Array> {
    this.#wasRead = true
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
    while (at >= this.#pieces.length && !this.#isComplete) await this.#pull()
    if (this.#isReleased)
      throw new Error('the request body is no longer buffered: read it in authorize, while the request arrives')
    return this.#pieces[at]
  }

  /** Reads the next piece, for all waiting readers. */
  #pull(): Promise<void> {
    this.#pulling ??= this.#next().finally(() => {
      this.#pulling = undefined
    })
    return this.#pulling
  }

  async #next(): Promise<void> {
    // Readers that honour the limit have already stopped.
    if (this.#length > this.#limit) throw tooLarge(this.#limit)
    const { value } = (await this.#reader()?.read()) ?? {}
    if (value === undefined) this.#isComplete = true
    else {
      this.#pieces.push(value)
      this.#length += value.byteLength
    }
  }
}
