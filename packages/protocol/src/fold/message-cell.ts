import type { Changes } from './changes.ts'
import { type Ledger, messageIdOf } from './ledger.ts'
import { type AnyPart, PartCell } from './part-cell.ts'
import type { Message, MessageStatus, Meta, Part, Run } from './view.ts'

const STATUS: { readonly [Status in Run['status']]: MessageStatus } = {
  running: 'streaming',
  paused: 'streaming',
  completed: 'sent',
  failed: 'error',
  interrupted: 'cancelled',
  aborted: 'cancelled',
}

/** Whose message it is: of an agent in a run, which fills it, or of somebody who sent it whole, and when. */
export type Author = Pick<Message, 'id' | 'role' | 'runId' | 'agentId' | 'agentType'> &
  Partial<Pick<Message, 'createdAt'>>

/** A message: its parts in the order of their first surviving write. */
export class MessageCell {
  readonly author: Author
  readonly parts = new Map<string, PartCell>()
  /** Where it stands among the messages, once it does. */
  placedAt: number | undefined
  /** The last round of changes that contains it. */
  round = 0
  readonly #changes: Changes
  #view: Message | undefined

  constructor(author: Author, changes: Changes) {
    this.author = author
    this.#changes = changes
  }

  get id(): string {
    return this.author.id
  }

  /** The sequence of its first surviving write, or undefined where none survived. */
  get at(): number | undefined {
    // The parts stand in the order in which they were first written.
    for (const { part } of this.parts.values()) return part.at
    return undefined
  }

  add(part: AnyPart): PartCell {
    const cell = new PartCell(this, part)
    this.parts.set(part.key, cell)
    return cell
  }

  /** Puts the parts in order again, after one went back to another first write. */
  sort(): void {
    const parts = [...this.parts].sort(([, a], [, b]) => a.part.at - b.part.at)
    this.parts.clear()
    for (const [key, cell] of parts) this.parts.set(key, cell)
  }

  changed(cell?: PartCell): void {
    this.#view = undefined
    const { round } = this.#changes
    if ((cell ?? this).round === round) return
    this.round = round
    if (cell) cell.round = round
    this.#changes.note(this.id, cell?.part.key)
  }

  /** The message as it is now; the same object as long as nothing changed. */
  read(ledger: Ledger): Message {
    this.#view ??= this.#build(ledger)
    return this.#view
  }

  #build(ledger: Ledger): Message {
    const { author } = this
    const { runId, id } = author
    const parts: Part[] = []
    let meta: Meta | undefined
    for (const cell of this.parts.values()) {
      const part = cell.read()
      if (part.type === 'meta') meta = part as Meta
      else parts.push(part as Part)
    }
    const run = ledger.runs.get(runId as string)
    const agent = ledger.agents.get(id)
    const status = !run ? 'sent' : meta?.aborted ? 'cancelled' : STATUS[agent?.status ?? run.status]
    const { type, key, at, ...beside } = meta ?? {}
    return {
      // An agent's message is as old as the agent.
      createdAt: (agent ?? run)?.startedAt ?? 0,
      ...author,
      status,
      at: this.placedAt ?? 0,
      parts,
      ...beside,
      ...(at !== undefined && { metaAt: at }),
      ...(status === 'error' && run?.status === 'failed' && run.error && { error: run.error }),
      ...(agent && { parent: { messageId: messageIdOf(agent.runId, agent.parentId), toolCallId: agent.toolCallId } }),
    }
  }
}
