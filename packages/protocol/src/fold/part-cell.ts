import { JsonParser } from '../json/json-parser.ts'
import { Cell, type CellDraft } from './cell.ts'
import { pick } from './fields.ts'
import { GrowingText, type TextMark } from './growing-text.ts'
import type { MessageCell } from './message-cell.ts'
import { interrupted, isSettled } from './next-tool.ts'
import type { Meta, Part, TextPart, ToolPart, Undo } from './view.ts'

export type AnyPart = Part | Meta

export const isText = (part: { readonly type: string }): part is TextPart =>
  part.type === 'text' || part.type === 'reasoning'

export const isTool = (part: { readonly type: string }): part is ToolPart =>
  part.type === 'tool' || part.type === 'dynamic-tool'

/** The part before a draft; of a growing text, its length then. */
interface Old {
  readonly part?: AnyPart
  readonly length?: number
}

/** A part of a message. */
export class PartCell extends Cell {
  readonly message: MessageCell
  part: AnyPart
  /** The type of the deltas that it takes, and the field that names it in them. */
  readonly deltaType: string
  readonly field: 'id' | 'toolCallId'
  /** The text of a text part, or of a call's input while it streams; ahead of `part` when `#stale`. */
  growth: GrowingText | undefined
  /** The last round of changes that contains it. */
  round = 0
  #stale = false
  #old: Old = {}
  #input: { json: JsonParser; mark?: TextMark } | undefined

  constructor(message: MessageCell, part: AnyPart) {
    super()
    this.message = message
    this.part = part
    this.deltaType = isTool(part) ? 'tool-input-delta' : `${part.type}-delta`
    this.field = isTool(part) ? 'toolCallId' : 'id'
    this.set(part)
  }

  /** What names it. */
  get id(): string | undefined {
    return (this.part as { id?: string; toolCallId?: string })[this.field]
  }

  /** Whether the next delta of its draft is just more of it. */
  get isGrowing(): boolean {
    return !!this.owner && !!this.growth && (this.part as TextPart).state !== 'done'
  }

  push(delta: string): void {
    if (delta === '') return
    this.growth?.push(delta)
    this.#stale = true
    this.message.changed(this)
  }

  set(part: AnyPart): void {
    this.part = part
    if (isText(part)) this.growth ??= new GrowingText(part.text)
    else if (isTool(part) && part.state === 'input-streaming') this.growth ??= new GrowingText(part.inputText)
    else {
      this.growth = this.#input = undefined
      this.#stale = false
    }
    this.message.changed(this)
  }

  /** The part as it is now; the same object as long as nothing changed. */
  read(): AnyPart {
    if (this.#stale) {
      this.#stale = false
      const { part, growth } = this
      const text = (growth as GrowingText).read()
      this.part = isTool(part) ? { ...part, inputText: text, ...this.#partial() } : { ...(part as TextPart), text }
    }
    return this.part
  }

  /** As much of a call's input as has arrived; parses only what is new. */
  #partial(): Pick<ToolPart, 'input'> {
    this.#input ??= { json: new JsonParser() }
    const { json, mark } = this.#input
    const gained = (this.growth as GrowingText).gained(mark)
    json.push(gained.text)
    this.#input = { json, mark: gained.mark }
    const input = json.snapshot()
    return input === undefined ? {} : { input }
  }

  /** After the end of its run or agent nothing goes on streaming. */
  close(): void {
    const part = this.read()
    if (isText(part) && part.state === 'streaming') this.set({ ...part, state: 'done' })
    else if (isTool(part) && !isSettled(part)) this.set(interrupted(part))
  }

  protected override keep(): void {
    const part = this.read()
    // The text of before is the first `length` characters of what is there.
    this.#old = isText(part) ? { part: { ...part, text: '' }, length: part.text.length } : { part }
  }

  /** A fact that came in the middle of a draft stays when the draft goes. */
  revise(next: (part: AnyPart | undefined) => AnyPart | undefined): void {
    const part = next(this.#old.part)
    if (part) this.#old = { ...this.#old, part }
  }

  override undo(): void {
    const { part, length } = this.#old
    this.owner = undefined
    if (!part) {
      this.message.parts.delete(this.part.key)
      this.message.changed(this)
      return
    }
    if (length !== undefined) this.growth?.cut(length)
    else this.growth = this.#input = undefined
    this.#stale = length !== undefined
    const moved = part.at !== this.part.at
    this.set(part)
    if (moved) this.message.sort()
  }

  override inverse(): Undo {
    return { message: this.message.id, key: this.part.key, ...this.#old }
  }

  /** Takes up a draft that a view carried. */
  resume(draft: CellDraft, old: Old): void {
    this.own(draft)
    this.#old = pick(old, 'part', 'length')
  }
}
