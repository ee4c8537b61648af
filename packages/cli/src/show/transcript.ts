import { type Entry, isDraftChunk, isGuest } from '@millrace/protocol'
import { DraftTracker, type LaneDraft } from '@millrace/protocol/internal'
import { escapeControl, oneLine } from '../terminal/escape-control.ts'
import type { Style, Terminal } from '../terminal/terminal.ts'
import { chunkSummary, jsonOf, messageText } from './chunk-summary.ts'
import { PERMANENT, Screen } from './screen.ts'

/** Text of an incomplete part. Without a live terminal, a part is printed when it is complete. */
interface BufferedText {
  readonly lane: string
  readonly name: string
  text: string
}

const MAX_LINE_LENGTH = 120
const MAX_NAME_LENGTH = 40

/** Prints a session entry by entry: text, tool calls, questions, answers and discards. */
export class Transcript {
  readonly #terminal: Terminal
  readonly #screen: Screen
  readonly #tools = new Map<string, string>()
  readonly #buffered = new Map<string, BufferedText>()
  /** The number of characters in each open draft. */
  readonly #drafts = new DraftTracker<{ characters: number }>(() => ({ characters: 0 }))
  /** The part that was written to last. */
  #currentPart = ''

  constructor(terminal: Terminal, screen: Screen = new Screen(terminal)) {
    this.#terminal = terminal
    this.#screen = screen
  }

  async show(entry: Entry): Promise<void> {
    const { origin, chunk } = entry
    const { sealed, discarded } = this.#drafts.apply(entry)
    const draft = isGuest(origin) ? undefined : this.#drafts.get(origin)
    // A discard erases draft chunks, never committed ones.
    const lane = draft && isDraftChunk(chunk) ? draft.key : PERMANENT
    for (const { key } of sealed) await this.#makePermanent(key)
    const name = isGuest(origin) ? origin.guest : origin.agentType
    switch (chunk.type) {
      case 'message':
        return this.#line(lane, `${chunk.role}: ${escapeControl(messageText(chunk.parts))}`, 'bold')
      case 'text-delta':
        return this.#text(draft, name, chunk.id, chunk.delta)
      case 'reasoning-delta':
        return this.#text(draft, `${name} (thinks)`, chunk.id, chunk.delta, 'dim')
      case 'text-end':
      case 'reasoning-end':
        return this.#endText(lane, chunk.id)
      case 'tool-input-start':
        this.#tools.set(chunk.toolCallId, chunk.toolName)
        return undefined
      case 'tool-input-available':
        this.#tools.set(chunk.toolCallId, chunk.toolName)
        return this.#line(lane, `${name} calls ${chunk.toolName} ${jsonOf(chunk.input)}`, 'magenta')
      case 'tool-approval-request':
        return this.#line(lane, `${this.#tool(chunk)} waits for approval of ${jsonOf(chunk.input)}`, 'yellow')
      case 'tool-approval-response': {
        const verdict = chunk.approved ? 'approves' : 'denies'
        return this.#line(lane, `${name} ${verdict} ${this.#tool(chunk)} ${chunk.reason ?? ''}`, 'yellow')
      }
      case 'tool-output-available': {
        const verb = chunk.preliminary ? 'reports' : 'returns'
        return this.#line(lane, `${this.#tool(chunk)} ${verb} ${jsonOf(chunk.output)}`, 'magenta')
      }
      case 'tool-output-error':
      case 'tool-input-error':
        return this.#line(lane, `${this.#tool(chunk)} fails: ${chunk.errorText}`, 'red')
      case 'tool-output-denied':
        return this.#line(lane, `${this.#tool(chunk)} is not run: ${chunk.reason ?? 'denied'}`, 'yellow')
      case 'interrupt':
        return this.#line(lane, `${name} asks ${jsonOf(chunk.input)}`, 'yellow')
      case 'interrupt-response':
        return this.#line(lane, `${name} answers ${jsonOf(chunk.response)}`, 'yellow')
      case 'subagent-start':
        return this.#line(lane, `${name} hands over to ${chunk.agentType}`, 'cyan')
      case 'subagent-end':
        return this.#line(lane, `${chunk.agentType} is ${chunk.status}`, 'cyan')
      case 'step-discarded':
        return this.#discard(discarded, chunk.reason)
      case 'rewind':
        return this.#line(
          PERMANENT,
          `rewound to ${chunk.toSequence}: later entries are discarded (${chunk.reason})`,
          'red',
        )
      case 'executor-superseded':
        return this.#line(
          PERMANENT,
          `another process takes over (${chunk.reason ?? 'the previous one is gone'})`,
          'red',
        )
      case 'run-started':
        return this.#line(PERMANENT, `run of ${chunk.program}`, 'green')
      case 'run-paused':
        return this.#line(
          PERMANENT,
          `waits for ${chunk.awaits.map(({ kind }) => kind).join(', ') || 'an answer'}`,
          'yellow',
        )
      case 'run-finished':
        return this.#line(PERMANENT, `${chunk.status}${chunk.reason === undefined ? '' : `: ${chunk.reason}`}`, 'green')
      case 'source-url':
      case 'source-document':
      case 'file':
      case 'status':
      case 'output':
      case 'error':
      case 'transition':
        return this.#line(lane, `${chunk.type} ${chunkSummary(chunk)}`, chunk.type === 'error' ? 'red' : 'blue')
      case 'structured-data':
        return chunk.kind === 'final' ? this.#line(lane, `${chunk.dataType} ${jsonOf(chunk.data)}`, 'blue') : undefined
      default:
        return undefined
    }
  }

  /** Shows the remaining text of open parts. */
  async end(): Promise<void> {
    await this.#flush()
    if (this.#currentPart !== '') await this.#terminal.write('\n')
  }

  #tool({ toolCallId }: { readonly toolCallId: string }): string {
    return this.#tools.get(toolCallId) ?? toolCallId
  }

  async #line(lane: string, text: string, style: Style): Promise<void> {
    this.#currentPart = ''
    const line = oneLine(text, this.#terminal.isLive ? MAX_LINE_LENGTH : MAX_LINE_LENGTH * 4)
    await this.#screen.line(lane, line, this.#terminal.paint(style, line))
  }

  async #text(
    draft: LaneDraft<{ characters: number }> | undefined,
    name: string,
    id: string,
    delta: string,
    style?: Style,
  ): Promise<void> {
    const lane = draft?.key ?? PERMANENT
    const part = `${lane} ${id}`
    if (draft) draft.data.characters += delta.length
    if (!this.#terminal.isLive) {
      const buffered = this.#buffered.get(part) ?? { lane, name, text: '' }
      buffered.text += delta
      this.#buffered.set(part, buffered)
      return
    }
    if (this.#currentPart !== part) {
      this.#currentPart = part
      const author = `${oneLine(name, MAX_NAME_LENGTH)}: `
      await this.#screen.startLine()
      await this.#screen.write(lane, author, this.#terminal.paint('cyan', author))
    }
    const text = escapeControl(delta)
    await this.#screen.write(lane, text, style === undefined ? text : this.#terminal.paint(style, text))
  }

  async #endText(lane: string, id: string): Promise<void> {
    const part = `${lane} ${id}`
    const buffered = this.#buffered.get(part)
    this.#buffered.delete(part)
    if (buffered)
      await this.#screen.line(lane, `${oneLine(buffered.name, MAX_NAME_LENGTH)}: ${escapeControl(buffered.text)}`)
    if (this.#currentPart !== part) return
    this.#currentPart = ''
    await this.#screen.write(lane, '\n')
  }

  async #flush(lane?: string): Promise<void> {
    for (const [part, buffered] of this.#buffered) {
      if (lane !== undefined && buffered.lane !== lane) continue
      this.#buffered.delete(part)
      await this.#screen.line(
        buffered.lane,
        `${oneLine(buffered.name, MAX_NAME_LENGTH)}: ${escapeControl(buffered.text)}`,
      )
    }
  }

  async #makePermanent(lane: string): Promise<void> {
    await this.#flush(lane)
    this.#screen.makePermanent(lane)
  }

  async #discard(draft: LaneDraft<{ characters: number }> | undefined, reason: string): Promise<void> {
    if (draft) {
      // Buffered text is shown first, so that the reader sees what is discarded.
      await this.#flush(draft.key)
      await this.#screen.erase(draft.key)
      if (this.#currentPart.startsWith(draft.key)) this.#currentPart = ''
    }
    const { characters = 0 } = draft?.data ?? {}
    const amount = characters === 0 ? 'an attempt' : `${characters} characters`
    await this.#line(PERMANENT, `${amount} discarded (${reason})`, 'red')
  }
}
