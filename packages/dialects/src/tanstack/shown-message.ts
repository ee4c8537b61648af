// What TanStack AI's client makes of a message, as far as that decides what can be said to it. It has one thinking part, puts text that follows anything else into a new part
// together with the text before it, unless it takes it for a new segment, and takes it for one only after a tool call, by comparing `content` with what it has. So what
// is said is chosen such that no word shows twice, and none is lost.

/** What a message of the client shows. */
export class ShownMessage {
  readonly #isCompact: boolean
  /** The text that the client goes on with. */
  #segment = ''
  /** Whether a call came since the client began that. */
  #hasCalled = false
  #isTextLast = false
  #hasThinking = false
  readonly #calls = new Set<string>()
  #lastCall: string | undefined

  constructor(isCompact: boolean) {
    this.#isCompact = isCompact
  }

  /** The call that has to be told of again, for the client to begin a new text after what else was said. */
  get repeated(): string | undefined {
    return !this.#hasCalled && this.#segment !== '' && !this.#isTextLast ? this.#lastCall : undefined
  }

  /** The call that has to be told of again before a turn ends in which text followed it. */
  get repeatedBeforeEnd(): string | undefined {
    return !this.#hasCalled && this.#segment !== '' ? this.#lastCall : undefined
  }

  /** Text is said: its `content`. */
  text(delta: string): string {
    const before = this.#segment
    const isNew = this.#hasCalled && before !== '' && !this.#isTextLast
    this.#isTextLast = true
    if (isNew) {
      this.#segment = delta
      this.#hasCalled = false
      // Nothing is shorter than what was there, where the new text begins with the same words.
      return this.#isCompact || delta.startsWith(before) ? '' : delta
    }
    this.#segment = before + delta
    // A client that has seen a call and no text before it compares every `content` with what it has.
    const mustBeWhole = this.#hasCalled && before !== ''
    return this.#isCompact && !mustBeWhole ? '' : this.#segment
  }

  /** Whether thinking can be said without the text before it showing again after it. */
  get canThink(): boolean {
    return this.#hasThinking || this.#segment === '' || this.#hasCalled
  }

  thinking(): void {
    if (!this.#hasThinking) this.#isTextLast = false
    this.#hasThinking = true
  }

  /** Whether a call was told of in this message. */
  shows(toolCallId: string): boolean {
    return this.#calls.has(toolCallId)
  }

  /** A call is told of, for the first time or again. */
  call(toolCallId: string): void {
    if (!this.#calls.has(toolCallId)) this.#isTextLast = false
    this.#calls.add(toolCallId)
    this.#hasCalled = true
    this.#lastCall = toolCallId
  }

  result(): void {
    this.#isTextLast = false
  }
}
