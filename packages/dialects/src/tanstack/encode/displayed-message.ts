// Models the message that a TanStack AI client displays. The client has one thinking part. It appends later text to the earlier text, unless it detects a
// new segment, which it does only after a tool call, by comparing `content`. The encoder uses this model so that the client displays no text twice and loses none.

/** The state of a message in the client. */
export class DisplayedMessage {
  readonly #isCompact: boolean
  /** The text that the client appends to. */
  #segment = ''
  /** Whether a call followed the start of that text. */
  #hasCalled = false
  #isTextLast = false
  #hasThinking = false
  readonly #calls = new Set<string>()
  #lastCall: string | undefined

  constructor(isCompact: boolean) {
    this.#isCompact = isCompact
  }

  /** The call to repeat so that the client starts a new text. */
  get repeated(): string | undefined {
    return !this.#hasCalled && this.#segment !== '' && !this.#isTextLast ? this.#lastCall : undefined
  }

  /** The call to repeat before the end of a turn in which text followed it. */
  get repeatedBeforeEnd(): string | undefined {
    return !this.#hasCalled && this.#segment !== '' ? this.#lastCall : undefined
  }

  /** Adds text. Returns its `content`. */
  text(delta: string): string {
    const before = this.#segment
    const isNew = this.#hasCalled && before !== '' && !this.#isTextLast
    this.#isTextLast = true
    if (isNew) {
      this.#segment = delta
      this.#hasCalled = false
      // An empty content is shorter than the old text, even if the new text begins with it.
      return this.#isCompact || delta.startsWith(before) ? '' : delta
    }
    this.#segment = before + delta
    // A client that has seen a call and no text before it compares every `content` with what it has.
    const mustBeComplete = this.#hasCalled && before !== ''
    return this.#isCompact && !mustBeComplete ? '' : this.#segment
  }

  /** Whether thinking can be sent without repeating the text before it. */
  get canThink(): boolean {
    return this.#hasThinking || this.#segment === '' || this.#hasCalled
  }

  thinking(): void {
    if (!this.#hasThinking) this.#isTextLast = false
    this.#hasThinking = true
  }

  /** Whether the message has a call. */
  shows(toolCallId: string): boolean {
    return this.#calls.has(toolCallId)
  }

  /** Adds a call, or repeats it. */
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
