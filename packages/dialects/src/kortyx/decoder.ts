import { type Chunk, type Origin, ProtocolError } from '@millrace/protocol'
import type { DecodedChunk, Decoder, EndStatus } from '../dialect/dialect.ts'
import { applySupplement } from '../dialect/supplement.ts'
import { expectObject, expectOptionalString, expectOrigin, expectString, validated } from '../dialect/validate.ts'
import { chunkOf, type DoneData, EXTENSION, type KortyxChunk, type KortyxExtension } from './chunk.ts'

const NONE: readonly DecodedChunk[] = []

const STATUSES: ReadonlySet<unknown> = new Set(['completed', 'failed', 'interrupted', 'aborted', 'paused'])

/** Understands a Kortyx stream: ours, or that of a server of Kortyx. */
export class KortyxDecoder implements Decoder<KortyxChunk> {
  /** What answers the requests that were made. */
  readonly tokens: Map<string, string>
  #status: EndStatus | undefined
  #hasFailed = false
  #isAsking = false
  /** Texts that are over, of those whose names may come again. */
  readonly #ended = new Map<string, number>()
  /** The nodes whose words came as they were said. */
  readonly #spoken = new Set<string | undefined>()
  #messages = 0

  constructor(tokens: Map<string, string> = new Map()) {
    this.tokens = tokens
  }

  get status(): EndStatus | undefined {
    return this.#status
  }

  decode(event: KortyxChunk): readonly DecodedChunk[] {
    if (typeof event?.type !== 'string')
      throw new ProtocolError('invalid-chunk', 'chunk: expected an object with a type')
    const guest = expectOrigin(event.millraceOrigin)
    if (this.#status === 'paused') this.#goOn()
    if (event.type === 'tool-result' && event.tool === EXTENSION) return this.#extension(event.content, guest)
    look(event)
    if (event.type === 'message' && event.millrace === undefined) return this.#message(event)
    const chunk = applySupplement(this.#plain(event), event.millrace)
    this.#follow(event)
    if (chunk === undefined) return NONE
    return [guest ? { chunk, origin: guest } : { chunk }]
  }

  /** A run that waited is under way again. */
  #goOn(): void {
    this.#status = undefined
    this.#isAsking = false
  }

  #extension(content: unknown, guest: Origin | undefined): readonly DecodedChunk[] {
    const { chunk, origin: said } = (content ?? {}) as Partial<KortyxExtension>
    if (typeof chunk?.type !== 'string')
      throw new ProtocolError('invalid-chunk', 'chunk tool-result.content: expected { chunk }')
    validated(chunk)
    const origin = expectOrigin(said) ?? guest
    if (!said && chunk.type === 'run-finished') this.#status = chunk.status
    return [origin ? { chunk, origin } : { chunk }]
  }

  #plain(event: KortyxChunk): Chunk | undefined {
    const plain = chunkOf(event)
    if (event.type !== 'text-start' && event.type !== 'text-delta' && event.type !== 'text-end') return plain
    // Without a use of a hook or a node the name is one text's for good.
    if (plain === undefined || !('id' in plain) || (event.segmentId && !event.opId)) return plain
    const ended = this.#ended.get(plain.id as string)
    if (event.type === 'text-end') this.#ended.set(plain.id as string, (ended ?? 0) + 1)
    return ended === undefined ? plain : ({ ...plain, id: `${plain.id}#${ended + 1}` } as Chunk)
  }

  /** What a node says when it is over; nothing, where it was said before. */
  #message({
    content,
    node,
  }: {
    readonly content: string
    readonly node?: string | undefined
  }): readonly DecodedChunk[] {
    const isSaid = node === undefined ? this.#spoken.size > 0 : this.#spoken.has(node)
    if (isSaid || typeof content !== 'string' || content.trim() === '') return NONE
    const id = `message-${++this.#messages}`
    const chunks: Chunk[] = [
      { type: 'text-start', id },
      { type: 'text-delta', id, delta: content },
      { type: 'text-end', id },
    ]
    return chunks.map(chunk => ({ chunk }))
  }

  /** Sees how the run stands. */
  #follow(event: KortyxChunk): void {
    const isOwn = event.millrace === undefined
    switch (event.type) {
      case 'text-delta':
        if (isOwn) this.#spoken.add(event.node)
        break
      case 'interrupt':
        this.tokens.set(event.requestId, event.resumeToken)
        this.#isAsking = true
        break
      case 'error':
        if (isOwn) this.#hasFailed = true
        break
      case 'done':
        if (isOwn) this.#status ??= this.#hasFailed ? 'failed' : this.#isAsking ? 'paused' : 'completed'
        // Ours says how; one that does not was said by a connection that broke off.
        else this.#status ??= statusIn(event.data)
        break
      default:
    }
  }
}

/** Looks at what has to be read of an event to understand it. */
function look(event: KortyxChunk): void {
  switch (event.type) {
    case 'text-start':
    case 'text-delta':
    case 'text-end':
      expectOptionalString(event.opId, 'chunk.opId')
      expectOptionalString(event.segmentId, 'chunk.segmentId')
      expectOptionalString(event.node, 'chunk.node')
      break
    case 'interrupt':
      expectString(event.requestId, 'chunk interrupt.requestId')
      expectString(event.resumeToken, 'chunk interrupt.resumeToken')
      expectObject(event.input, 'chunk interrupt.input')
      break
    default:
  }
}

function statusIn(data: unknown): EndStatus | undefined {
  const { status } = (data ?? {}) as Partial<DoneData>
  return STATUSES.has(status) ? status : undefined
}
