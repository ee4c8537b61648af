import { JsonParser } from '../json/json-parser.ts'
import { Cell, type CellDraft } from './cell.ts'
import { pick } from './fields.ts'
import { GrowingText, type TextMark } from './growing-text.ts'
import type { MessageCell } from './message-cell.ts'
import { interrupted, isSettled } from './next-tool.ts'
import type { DraftUndo, MessageMeta, Part, TextPart, ToolPart } from './view.ts'

export type AnyPart = Part | MessageMeta

export const isText = (part: { readonly type: string }): part is TextPart =>
  part.type === 'text' || part.type === 'reasoning'

export const isTool = (part: { readonly type: string }): part is ToolPart =>
  part.type === 'tool' || part.type === 'dynamic-tool'

/** The part before a draft. For a text, without the text but with its length. */
interface PartBefore {
  readonly part?: AnyPart
  readonly length?: number
}

/** A part of a message. */
export class PartCell extends Cell {
  readonly message: MessageCell
  part: AnyPart
  /** The type of its deltas, and the field with its id in them. */
  readonly deltaType: string
  readonly field: 'id' | 'toolCallId'
  /** The text of a text part, or of the streaming input of a call. Newer than `part` if `#stale`. */
  growth: GrowingText | undefined
  /** The last round of changes that contains it. */
  round = 0
  #stale = false
  #old: PartBefore = {}
  #input: { json: JsonParser; mark?: TextMark } | undefined

  constructor(message: MessageCell, part: AnyPart) {
    super()
    this.message = message
    this.part = part
    this.deltaType = isTool(part) ? 'tool-input-delta' : `${part.type}-delta`
    this.field = isTool(part) ? 'toolCallId' : 'id'
    this.set(part)
  }

  get id(): string | undefined {
    return (this.part as { id?: string; toolCallId?: string })[this.field]
  }

  /** Whether a delta can be appended without other changes. */
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

  /** The current part. The same object until it changes. */
  read(): AnyPart {
    if (this.#stale) {
      this.#stale = false
      const { part, growth } = this
      const text = (growth as GrowingText).read()
      this.part = isTool(part) ? { ...part, inputText: text, ...this.#partial() } : { ...(part as TextPart), text }
    }
    return this.part
  }

  /** The partial input of a call. Parses only the new text. */
  #partial(): Pick<ToolPart, 'input'> {
    this.#input ??= { json: new JsonParser() }
    const { json, mark } = this.#input
    const gained = (this.growth as GrowingText).textSince(mark)
    json.push(gained.text)
    this.#input = { json, mark: gained.mark }
    const input = json.snapshot()
    return input === undefined ? {} : { input }
  }

  /** Ends a streaming part when its run or agent ends. */
  close(): void {
    const part = this.read()
    if (isText(part) && part.state === 'streaming') this.set({ ...part, state: 'done' })
    else if (isTool(part) && !isSettled(part)) this.set(interrupted(part))
  }

  protected override save(): void {
    const part = this.read()
    // The old text is the first `length` characters of the new text.
    this.#old = isText(part) ? { part: { ...part, text: '' }, length: part.text.length } : { part }
  }

  /** Applies a committed chunk in the middle of a draft to the old part too, so that it survives a discard. */
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
    if (length !== undefined) this.growth?.truncate(length)
    else this.growth = this.#input = undefined
    this.#stale = length !== undefined
    const moved = part.at !== this.part.at
    this.set(part)
    if (moved) this.message.sort()
  }

  override inverse(): DraftUndo {
    return { message: this.message.id, key: this.part.key, ...this.#old }
  }

  /** Restores a draft of a view. */
  resume(draft: CellDraft, old: PartBefore): void {
    this.addTo(draft)
    this.#old = pick(old, 'part', 'length')
  }
}
