import { JsonStream } from '../json/stream.ts'
import { Growth, type Mark } from './growth.ts'
import { Cell, type Lane } from './lane.ts'
import type { MessageCell } from './message.ts'
import { interrupted, isSettled } from './tool.ts'
import type { Part, TextPart, ToolPart, Undo } from './view.ts'

export const isText = (part: Part): part is TextPart => part.type === 'text' || part.type === 'reasoning'

export const isTool = (part: Part): part is ToolPart => part.type === 'tool' || part.type === 'dynamic-tool'

/** The part before a draft; of a growing text, its length then. */
interface Old {
  readonly part?: Part
  readonly length?: number
}

/** A part of a message. */
export class PartCell extends Cell {
  readonly message: MessageCell
  part: Part
  /** The type and id of the deltas that it takes. */
  readonly takes: string | undefined
  readonly id: string | undefined
  /** The text of a text part, or of a call's input while it streams; ahead of `part` when `stale`. */
  growth: Growth | undefined
  stale = false
  /** Its change stands in the changes already. */
  noted = false
  gone = false
  #old: Old = {}
  #input: { json: JsonStream; mark: Mark | undefined } | undefined

  constructor(message: MessageCell, part: Part) {
    super()
    this.message = message
    this.part = part
    this.takes = isText(part) ? `${part.type}-delta` : isTool(part) ? 'tool-input-delta' : undefined
    this.id = isTool(part) ? part.toolCallId : part.id
    this.#grow()
  }

  /** Whether it takes deltas now. */
  get isGrowing(): boolean {
    return this.growth !== undefined && (this.part as { state?: string }).state !== 'done'
  }

  #grow(): void {
    const { part } = this
    const text = isText(part)
      ? part.text
      : isTool(part) && part.state === 'input-streaming'
        ? (part.inputText ?? '')
        : undefined
    this.growth = text === undefined ? undefined : new Growth(text)
    this.#input = undefined
  }

  protected override keep(): void {
    const part = this.read()
    this.#old = this.growth && isText(part) ? { part, length: part.text.length } : { part }
  }

  /** Takes up a draft that a view carried; without a part, one that the draft itself opened. */
  resume(lane: Lane, old: Old): void {
    this.own(lane)
    this.#old = old
  }

  push(delta: string): void {
    if (delta === '') return
    ;(this.growth as Growth).push(delta)
    this.stale = true
    this.message.changed(this)
  }

  set(part: Part): void {
    this.part = part
    if (isTool(part) && part.state !== 'input-streaming') {
      this.growth = undefined
      this.#input = undefined
      this.stale = false
    }
    this.message.changed(this)
  }

  /** The part as it is now; the same object as long as nothing changed. */
  read(): Part {
    if (this.stale) {
      this.stale = false
      const text = (this.growth as Growth).read()
      const { part } = this
      this.part = isTool(part) ? { ...part, inputText: text, ...this.#partial() } : { ...(part as TextPart), text }
    }
    return this.part
  }

  /** As much of a call's input as has arrived; parses only what is new. */
  #partial(): Pick<ToolPart, 'input'> {
    this.#input ??= { json: new JsonStream(), mark: undefined }
    const gained = (this.growth as Growth).gained(this.#input.mark)
    this.#input.json.push(gained.text)
    this.#input.mark = gained.mark
    const input = this.#input.json.snapshot()
    return input === undefined ? {} : { input }
  }

  /** After the end of its run or agent nothing goes on streaming. */
  close(): void {
    const part = this.read()
    if (isText(part) && part.state === 'streaming') this.set({ ...part, state: 'done' })
    else if (isTool(part) && !isSettled(part)) this.set(interrupted(part))
  }

  override undo(): void {
    const { part, length } = this.#old
    this.owner = undefined
    this.stale = false
    if (part === undefined) {
      this.gone = true
    } else if (length !== undefined) {
      const growth = this.growth as Growth
      growth.cut(length)
      this.part = { ...(part as TextPart), text: growth.read() }
    } else {
      this.part = part
      this.#grow()
    }
    this.message.changed(this)
  }

  override inverse(): Undo {
    const { part, length } = this.#old
    const place = { message: this.message.id, key: this.part.key }
    if (part === undefined) return place
    // The text of before is the first `length` characters of what the view holds.
    return length === undefined ? { ...place, part } : { ...place, part: { ...(part as TextPart), text: '' }, length }
  }
}
