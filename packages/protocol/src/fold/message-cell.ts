import type { Changes } from './changes.ts'
import { type Ledger, messageIdOf } from './ledger.ts'
import { type AnyPart, PartCell } from './part-cell.ts'
import type { Message, MessageMeta, MessageStatus, Part, Run } from './view.ts'

const STATUS: { readonly [Status in Run['status']]: MessageStatus } = {
  running: 'streaming',
  paused: 'streaming',
  completed: 'sent',
  failed: 'error',
  interrupted: 'cancelled',
  aborted: 'cancelled',
}

/** The author of a message: an agent in a run, which streams it, or the sender of a complete message, with its time. */
export type Author = Pick<Message, 'id' | 'role' | 'runId' | 'agentId' | 'agentType'> &
  Partial<Pick<Message, 'createdAt'>>

/** A message, with its parts in the order of their first surviving writes. */
export class MessageCell {
  readonly author: Author
  readonly parts = new Map<string, PartCell>()
  /** Its position in the list of messages. Undefined until it is listed. */
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

  /** The sequence of its first surviving write, or undefined if none survived. */
  get at(): number | undefined {
    // The parts are in the order of their first writes.
    for (const { part } of this.parts.values()) return part.at
    return undefined
  }

  add(part: AnyPart): PartCell {
    const cell = new PartCell(this, part)
    this.parts.set(part.key, cell)
    return cell
  }

  /** Restores the order of the parts after an undo changed the first write of one. */
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

  /** The current message. The same object until it changes. */
  read(ledger: Ledger): Message {
    this.#view ??= this.#build(ledger)
    return this.#view
  }

  #build(ledger: Ledger): Message {
    const { author } = this
    const { runId, id } = author
    const parts: Part[] = []
    let meta: MessageMeta | undefined
    for (const cell of this.parts.values()) {
      const part = cell.read()
      if (part.type === 'meta') meta = part as MessageMeta
      else parts.push(part as Part)
    }
    const run = ledger.runs.get(runId as string)
    const agent = ledger.agents.get(id)
    const status = !run ? 'sent' : meta?.aborted ? 'cancelled' : STATUS[agent?.status ?? run.status]
    const { type, key, at, ...metaFields } = meta ?? {}
    return {
      // The message of an agent is created with the agent.
      createdAt: (agent ?? run)?.startedAt ?? 0,
      ...author,
      status,
      at: this.placedAt ?? 0,
      parts,
      ...metaFields,
      ...(at !== undefined && { metaAt: at }),
      ...(status === 'error' && run?.status === 'failed' && run.error && { error: run.error }),
      ...(agent && { parent: { messageId: messageIdOf(agent.runId, agent.parentId), toolCallId: agent.toolCallId } }),
    }
  }
}
