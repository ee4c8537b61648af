import type { Changes } from './changes.ts'
import { Cell, type Lane } from './lane.ts'
import type { RunRecord } from './ledger.ts'
import { PartCell } from './part.ts'
import type { Message, MessageStatus, Meta, Part, Run, Undo } from './view.ts'

const STATUS: { readonly [Status in Run['status']]: MessageStatus } = {
  running: 'streaming',
  paused: 'streaming',
  completed: 'sent',
  failed: 'error',
  interrupted: 'cancelled',
  aborted: 'cancelled',
}

/** The id of an agent's message in a run. */
export const messageIdOf = (runId: string, agentId: string): string => `${runId}/${agentId}`

/** Whose message it is: an agent's, which a run fills, or one that came whole. */
export type Author =
  | { readonly run: RunRecord; readonly agentId: string; readonly agentType: string }
  | Pick<Message, 'role' | 'createdAt'>

/** A message: its parts in the order of their first surviving write, and, as a cell, what it holds beside them. */
export class MessageCell extends Cell {
  readonly id: string
  author: Author
  readonly byKey = new Map<string, PartCell>()
  parts: PartCell[] = []
  meta: Meta | undefined
  /** Where it stands among the messages, once it does: the sequence of its first surviving write then. */
  placedAt: number | undefined
  noted = false
  readonly #changes: Changes
  #old: Meta | null = null
  #view: Message | undefined

  constructor(id: string, author: Author, changes: Changes) {
    super()
    this.id = id
    this.author = author
    this.#changes = changes
  }

  /** The sequence of its first surviving write, or undefined where none survived. */
  get at(): number | undefined {
    const first = this.parts[0]?.part.at
    const meta = this.meta?.at
    return first === undefined || (meta !== undefined && meta < first) ? meta : first
  }

  add(part: Part): PartCell {
    const cell = new PartCell(this, part)
    this.parts.push(cell)
    this.byKey.set(part.key, cell)
    this.changed(cell)
    return cell
  }

  /** Drops the parts whose draft was taken back. */
  prune(): void {
    for (const { gone, part } of this.parts) if (gone) this.byKey.delete(part.key)
    this.parts = this.parts.filter(cell => !cell.gone)
  }

  changed(cell?: PartCell): void {
    this.#view = undefined
    if (cell === undefined ? this.noted : cell.noted) return
    this.noted = true
    const parts = this.#changes.message(this)
    if (cell !== undefined) {
      cell.noted = true
      parts.add(cell)
    }
  }

  setMeta(meta: Meta): void {
    this.meta = meta
    this.changed()
  }

  protected override keep(): void {
    this.#old = this.meta ?? null
  }

  /** Takes up a draft that a view carried. */
  resume(lane: Lane, old: Meta | null): void {
    this.own(lane)
    this.#old = old
  }

  override undo(): void {
    this.owner = undefined
    this.meta = this.#old ?? undefined
    this.changed()
  }

  override inverse(): Undo {
    return { message: this.id, meta: this.#old }
  }

  /** The message as it is now; the same object as long as nothing changed. */
  read(): Message {
    this.#view ??= this.#build()
    return this.#view
  }

  #build(): Message {
    const { author, meta } = this
    const parts = this.parts.map(cell => cell.read())
    const at = this.at ?? 0
    const beside = meta && {
      metaAt: meta.at,
      ...(meta.metadata && { metadata: meta.metadata }),
      ...(meta.finishReason && { finishReason: meta.finishReason }),
      ...(meta.aborted && { aborted: meta.aborted }),
    }
    if ('role' in author) return { id: this.id, ...author, status: 'sent', at, parts, ...beside }
    const { run, agentId, agentType } = author
    const agent = run.agents.get(agentId)
    const status = meta?.aborted ? 'cancelled' : STATUS[(run.isOpen && agent?.status) || run.status]
    return {
      id: this.id,
      role: 'assistant',
      status,
      at,
      createdAt: run.startOf(agentId),
      parts,
      ...beside,
      ...(status === 'error' && run.error && { error: run.error }),
      runId: run.runId,
      agentId,
      agentType,
      ...(agent && { parent: { messageId: messageIdOf(run.runId, agent.parentId), toolCallId: agent.toolCallId } }),
    }
  }
}
