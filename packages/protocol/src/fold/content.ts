// The content of a view: messages, structured objects, state and output. A discard takes words of it back, a rewind all after a place.

import type { Chunk, Content as WholePart } from '../catalogue/chunk.ts'
import type { MessageChunk, StructuredDataChunk, StructuredDataInvalidatedChunk } from '../catalogue/guards.ts'
import type { Entry, WriterOrigin } from '../entry.ts'
import { ProtocolError } from '../error.ts'
import type { Json } from '../json/value.ts'
import { applyPatch } from '../state/patch.ts'
import { StructuredAccumulator } from '../structured/accumulator.ts'
import type { Changes } from './changes.ts'
import { Lane } from './lane.ts'
import type { RunRecord } from './ledger.ts'
import { type Author, MessageCell, messageIdOf } from './message.ts'
import { mergeMetadata } from './metadata.ts'
import { ObjectCell } from './object.ts'
import { isTool, type PartCell } from './part.ts'
import { isSettled, nextTool, pick, type ToolChunk } from './tool.ts'
import type { Draft, Message, Meta, Part, Pending, StructuredObject, TextPart, ToolPart, View } from './view.ts'

/** Why a write was dropped: the code, and a sentence for people. */
export type Refusal = readonly [code: 'foreign-draft' | 'out-of-order' | 'refused', message: string]

const HELD: Refusal = ['foreign-draft', 'another lane has a draft on it']

/** The writer of an entry: its lane, and the run it belongs to. */
export interface Writer {
  readonly origin: WriterOrigin
  readonly lane: Lane
  readonly run: RunRecord
}

/** What a run has in the content: a message for each agent, a lane for each line of work. */
class Work {
  readonly messages = new Map<string, MessageCell>()
  readonly lanes = new Map<string, Lane>()
}

type ContentView = Pick<View, 'messages' | 'structured' | 'drafts' | 'state' | 'output'>

export class Content {
  readonly changes: Changes
  readonly messages = new Map<string, MessageCell>()
  #order: MessageCell[] = []
  readonly #work = new Map<string, Work>()
  readonly #calls = new Map<string, PartCell>()
  readonly #openCalls = new Set<PartCell>()
  readonly #objects = new Map<string, ObjectCell>()
  #state: Json | undefined
  #output: Json | undefined
  #ids: readonly string[] | undefined

  constructor(changes: Changes) {
    this.changes = changes
  }

  #workOf(runId: string): Work {
    let work = this.#work.get(runId)
    if (work === undefined) {
      work = new Work()
      this.#work.set(runId, work)
    }
    return work
  }

  lane({ runId, lane: name, agentId }: Pick<WriterOrigin, 'runId' | 'lane' | 'agentId'>): Lane {
    const { lanes } = this.#workOf(runId)
    let lane = lanes.get(name)
    if (lane === undefined) {
      lane = new Lane(runId, name, agentId)
      lanes.set(name, lane)
    }
    return lane
  }

  // ── writing

  /** Takes in what a writer says; a refusal where it does not fit. */
  write(entry: Entry, chunk: Chunk, writer: Writer): Refusal | undefined {
    const { lane } = writer
    switch (chunk.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        return this.#text(entry, chunk, writer)
      case 'source-url':
      case 'source-document':
        return this.#part(entry, chunk, writer, chunk.sourceId)
      case 'file':
        return this.#part(entry, chunk, writer, chunk.id)
      case 'step-start':
        return this.#part(entry, chunk, writer, undefined)
      case 'start':
      case 'message-metadata':
      case 'finish':
      case 'abort':
        return this.#meta(entry, chunk, writer)
      case 'message':
        return this.#whole(entry, chunk)
      case 'structured-data':
      case 'structured-data-invalidated':
        return this.#object(entry, chunk, lane)
      case 'state-snapshot':
        return this.#setState(chunk.state)
      case 'state-patch':
        return attempt(() => this.#setState(applyPatch(this.#state ?? {}, chunk.patches)))
      case 'output':
        this.#output = chunk.output
        this.changes.output = true
        return undefined
      case 'checkpoint-created':
        return this.#seal(lane)
      case 'step-discarded':
        return this.#discard(lane)
      case 'subagent-start':
      case 'error':
        for (const message of this.#workOf(writer.run.runId).messages.values()) message.changed()
        return undefined
      case 'subagent-end':
        return this.#end(writer.run.runId, chunk.agentId)
      case 'run-finished':
        return this.#end(writer.run.runId)
    }
    if (chunk.type.startsWith('tool-')) return this.tool(entry, chunk as ToolChunk, writer)
    if (chunk.type.startsWith('data-')) return this.#part(entry, chunk, writer, (chunk as { id?: string }).id)
    return undefined
  }

  /** Takes in a chunk about a call, from a writer or from a guest. */
  tool(entry: Entry, chunk: ToolChunk, writer?: Writer): Refusal | undefined {
    const lane = writer?.lane
    const { toolCallId } = chunk
    let cell = this.#calls.get(toolCallId)
    if (cell?.isHeldFrom(lane)) return HELD
    const author = cell?.message.author
    if (author && 'run' in author) {
      if (!author.run.isOpen) return ['out-of-order', 'the run of this call has ended']
      if (writer && (author.run !== writer.run || author.agentId !== writer.origin.agentId)) {
        return ['refused', 'the call is of another agent']
      }
    }
    if (chunk.type === 'tool-input-delta' && cell?.isGrowing) {
      if (lane) cell.draft(lane)
      return this.#grew(cell, chunk.delta, lane)
    }
    const part = nextTool(cell?.read() as ToolPart | undefined, chunk, `tool:${toolCallId}`, entry.sequence)
    if (part === undefined)
      return ['out-of-order', cell ? `the call is ${(cell.part as ToolPart).state}` : 'the call is unknown']
    const isWord = chunk.type.startsWith('tool-input-') || (chunk.type === 'tool-output-available' && chunk.preliminary)
    if (cell === undefined) {
      if (writer === undefined) return ['refused', 'a guest opens no call']
      cell = this.#add(part, writer)
      this.#calls.set(toolCallId, cell)
    } else {
      if (isWord && lane) cell.draft(lane)
      cell.set(part)
    }
    if (chunk.type === 'tool-input-delta') this.#grew(cell, chunk.delta, lane)
    this.#track(cell)
    return undefined
  }

  #track(cell: PartCell): void {
    if (cell.gone || isSettled(cell.part as ToolPart)) this.#openCalls.delete(cell)
    else this.#openCalls.add(cell)
  }

  #grew(cell: PartCell, delta: string, lane: Lane | undefined): undefined {
    cell.push(delta)
    if (lane) lane.growing = cell
  }

  #text(entry: Entry, chunk: Chunk & { id: string }, writer: Writer): Refusal | undefined {
    const { lane } = writer
    const type = chunk.type.startsWith('text') ? 'text' : 'reasoning'
    const key = `${type}:${chunk.id}`
    let cell = this.#message(writer)?.byKey.get(key)
    if (cell?.isHeldFrom(lane)) return HELD
    if (cell ? chunk.type.endsWith('-start') || !cell.isGrowing : chunk.type.endsWith('-end')) {
      return ['out-of-order', cell ? `the part is ${(cell.part as TextPart).state}` : 'the part is unknown']
    }
    if (cell === undefined) {
      cell = this.#add({ type, key, at: entry.sequence, id: chunk.id, text: '', state: 'streaming' }, writer)
    } else cell.draft(lane)
    const { providerMetadata } = chunk as { providerMetadata?: TextPart['providerMetadata'] }
    if (providerMetadata) cell.set({ ...(cell.part as TextPart), providerMetadata })
    if ('delta' in chunk) this.#grew(cell, chunk.delta as string, lane)
    else if (chunk.type.endsWith('-end')) {
      cell.set({ ...(cell.part as TextPart), state: 'done' })
    }
    return undefined
  }

  /** A part that comes whole; one with an id takes the place of the part of that id. */
  #part(entry: Entry, chunk: Chunk, writer: Writer, id: string | undefined): Refusal | undefined {
    const key = id === undefined ? `#${entry.sequence}` : `${chunk.type}:${id}`
    const cell = this.#message(writer)?.byKey.get(key)
    if (cell?.isHeldFrom(writer.lane)) return HELD
    const part = { ...chunk, key, at: cell?.part.at ?? entry.sequence } as Part
    if (cell) {
      cell.draft(writer.lane)
      cell.set(part)
    } else this.#add(part, writer)
    return undefined
  }

  #meta(entry: Entry, chunk: Chunk, writer: Writer): Refusal | undefined {
    const message = this.#message(writer) ?? this.#open(writer)
    if (message.isHeldFrom(writer.lane)) return HELD
    if (chunk.type === 'start' || chunk.type === 'message-metadata') message.draft(writer.lane)
    const old: Meta = message.meta ?? { at: entry.sequence }
    const { metadata, finishReason } = chunk as { metadata?: Meta['metadata']; finishReason?: Meta['finishReason'] }
    message.setMeta({
      ...old,
      ...(metadata && { metadata: mergeMetadata(old.metadata, metadata) }),
      ...(finishReason && { finishReason }),
      ...(chunk.type === 'abort' && { aborted: true }),
    })
    this.#place(message)
    return undefined
  }

  #whole({ sequence, timestamp }: Entry, chunk: MessageChunk): Refusal | undefined {
    const { messageId, role, parts, metadata } = chunk
    if (this.messages.has(messageId)) return ['refused', 'a message of this id is there']
    const message = new MessageCell(messageId, { role, createdAt: timestamp }, this.changes)
    parts.forEach((part, i) => {
      message.add(wholePart(part, `#${i}`, sequence))
    })
    message.setMeta({ at: sequence, ...(metadata && { metadata }) })
    this.#place(message)
    return undefined
  }

  #object(
    { sequence }: Entry,
    chunk: StructuredDataChunk | StructuredDataInvalidatedChunk,
    lane: Lane,
  ): Refusal | undefined {
    const { streamId } = chunk
    const cell = this.#objects.get(streamId) ?? new ObjectCell(streamId, new StructuredAccumulator())
    if (cell.isHeldFrom(lane)) return HELD
    if (chunk.type === 'structured-data-invalidated' && cell.at === undefined) {
      return ['out-of-order', 'the object is unknown']
    }
    return attempt(() => {
      if (chunk.type === 'structured-data') cell.accumulator.write(chunk)
      else cell.accumulator.invalidate()
      cell.draft(lane)
      cell.wrote(chunk.type === 'structured-data' ? sequence : undefined)
      this.#objects.set(streamId, cell)
      this.changes.structured.add(streamId)
    })
  }

  #setState(state: Json | undefined): undefined {
    this.#state = state
    this.changes.state = true
  }

  // ── messages and their order

  #message({ run, origin }: Writer): MessageCell | undefined {
    return this.#work.get(run.runId)?.messages.get(origin.agentId)
  }

  #open({ run, origin: { agentId, agentType } }: Writer): MessageCell {
    let id = messageIdOf(run.runId, agentId)
    // A client that chose just this id for a message of its own keeps it.
    while (this.messages.has(id)) id += '/'
    return this.#create(id, { run, agentId, agentType })
  }

  #create(id: string, author: Author): MessageCell {
    const message = new MessageCell(id, author, this.changes)
    if ('run' in author) this.#workOf(author.run.runId).messages.set(author.agentId, message)
    return message
  }

  /** A new part, on which the writer's lane has a draft. */
  #add(part: Part, writer: Writer): PartCell {
    const message = this.#message(writer) ?? this.#open(writer)
    const cell = message.add(part)
    cell.own(writer.lane)
    this.#place(message)
    return cell
  }

  /** Puts a message where its first surviving write belongs; one that was just written to for the first time comes last. */
  #place(message: MessageCell): void {
    const { at, placedAt } = message
    if (at === placedAt) return
    if (placedAt !== undefined) this.#order.splice(this.#order.indexOf(message), 1)
    message.placedAt = at
    this.#ids = undefined
    this.changes.order = true
    const { author, id } = message
    if (at === undefined) {
      this.messages.delete(id)
      if ('run' in author) this.#work.get(author.run.runId)?.messages.delete(author.agentId)
      return
    }
    this.messages.set(id, message)
    let i = this.#order.length
    while (i > 0 && ((this.#order[i - 1] as MessageCell).placedAt as number) > at) i--
    this.#order.splice(i, 0, message)
  }

  // ── drafts

  #seal(lane: Lane): undefined {
    for (const cell of lane.drafted) {
      cell.seal()
      if (cell instanceof ObjectCell && cell.at === undefined) this.#objects.delete(cell.streamId)
    }
    lane.drafted = []
    lane.growing = undefined
  }

  #discard(lane: Lane): undefined {
    const messages = new Set<MessageCell>()
    for (const cell of lane.drafted.reverse()) {
      cell.undo()
      if (cell instanceof ObjectCell) {
        this.changes.structured.add(cell.streamId)
        if (cell.at === undefined) this.#objects.delete(cell.streamId)
      } else if (cell instanceof MessageCell) messages.add(cell)
      else {
        const part = cell as PartCell
        messages.add(part.message)
        if (!isTool(part.part)) continue
        this.#track(part)
        if (part.gone) this.#calls.delete(part.part.toolCallId)
      }
    }
    for (const message of messages) {
      message.prune()
      this.#place(message)
    }
    lane.drafted = []
    lane.growing = undefined
  }

  /** The end of a run, or of one agent in it: its drafts last, and nothing of it goes on streaming. */
  #end(runId: string, agentId?: string): undefined {
    const work = this.#work.get(runId)
    for (const [name, lane] of work?.lanes ?? []) {
      if (agentId !== undefined && lane.agentId !== agentId) continue
      this.#seal(lane)
      if (agentId === undefined) work?.lanes.delete(name)
    }
    for (const [id, message] of work?.messages ?? []) {
      if (agentId === undefined || id === agentId) this.#close(message)
    }
  }

  #close(message: MessageCell): void {
    for (const cell of message.parts) {
      cell.close()
      this.#openCalls.delete(cell)
    }
    message.changed()
  }

  /** Ends everything where it stands, as a rewind to here leaves it: no draft, and nothing streaming. */
  close(): void {
    for (const { lanes } of this.#work.values()) {
      for (const lane of lanes.values()) this.#discard(lane)
      lanes.clear()
    }
    for (const message of this.#order) this.#close(message)
  }

  // ── reading

  get ids(): readonly string[] {
    this.#ids ??= this.#order.map(message => message.id)
    return this.#ids
  }

  object(streamId: string): StructuredObject | undefined {
    return this.#objects.get(streamId)?.read()
  }

  /** The calls that wait for somebody; one that is still a draft waits for nobody yet. */
  pendings(): (Pending & { part: ToolPart })[] {
    const pendings: (Pending & { part: ToolPart })[] = []
    for (const cell of this.#openCalls) {
      if (cell.owner !== undefined) continue
      const part = cell.read() as ToolPart
      const { state, executor, approval, toolCallId } = part
      const messageId = cell.message.id
      if (state === 'approval-requested')
        pendings.push({ kind: 'approval', id: approval?.id ?? toolCallId, messageId, part })
      else if (executor === 'client' && (state === 'input-available' || approval?.approved)) {
        pendings.push({ kind: 'client-tool', id: toolCallId, messageId, part })
      }
    }
    return pendings
  }

  view(): ContentView {
    const drafts: Draft[] = []
    for (const { lanes } of this.#work.values()) {
      for (const { runId, lane, agentId, drafted } of lanes.values()) {
        if (drafted.length) drafts.push({ runId, lane, agentId, undo: drafted.map(cell => cell.inverse()) })
      }
    }
    // In an order that does not depend on which lane wrote first, so that equal contents have equal views.
    const name = ({ runId, lane }: Draft) => JSON.stringify([runId, lane])
    drafts.sort((a, b) => (name(a) < name(b) ? -1 : 1))
    const structured: StructuredObject[] = []
    for (const cell of this.#objects.values()) {
      const object = cell.read()
      if (object) structured.push(object)
    }
    structured.sort((a, b) => a.at - b.at)
    return {
      messages: this.#order.map(message => message.read()),
      structured,
      drafts,
      ...(this.#state !== undefined && { state: this.#state }),
      ...(this.#output !== undefined && { output: this.#output }),
    }
  }

  // ── going on from a view

  restore(view: ContentView, runs: ReadonlyMap<string, RunRecord>): void {
    this.#state = view.state
    this.#output = view.output
    for (const message of view.messages) this.#restoreMessage(message, runs)
    for (const { at, ...state } of view.structured) {
      this.#objects.set(state.streamId, new ObjectCell(state.streamId, StructuredAccumulator.restore({ state }), at))
    }
    for (const draft of view.drafts) this.#restoreDraft(draft)
  }

  #restoreMessage(from: Message, runs: ReadonlyMap<string, RunRecord>): void {
    const { id, role, createdAt, runId, agentId, agentType, metaAt } = from
    const run = runId === undefined ? undefined : runs.get(runId)
    const message = this.#create(
      id,
      run && agentId && agentType !== undefined ? { run, agentId, agentType } : { role, createdAt },
    )
    for (const part of from.parts) {
      const cell = message.add(part)
      if (!isTool(part)) continue
      this.#calls.set(part.toolCallId, cell)
      this.#track(cell)
    }
    if (metaAt !== undefined) message.meta = { at: metaAt, ...pick(from, 'metadata', 'finishReason', 'aborted') }
    this.#place(message)
  }

  #restoreDraft(draft: Draft): void {
    const lane = this.lane(draft)
    for (const undo of draft.undo) {
      if ('streamId' in undo) {
        const { streamId, draft, at } = undo
        const old = this.#objects.get(streamId)
        const state = old?.accumulator.read()
        const cell = new ObjectCell(
          streamId,
          StructuredAccumulator.restore({ ...(state && { state }), draft }),
          old?.at,
        )
        cell.resume(lane, at)
        this.#objects.set(streamId, cell)
        continue
      }
      const message = this.messages.get(undo.message)
      const cell = 'key' in undo ? message?.byKey.get(undo.key) : undefined
      if (cell && 'key' in undo) cell.resume(lane, undo)
      else if (message && 'meta' in undo) message.resume(lane, undo.meta)
      else
        throw new ProtocolError(
          'invalid-view',
          `draft of ${lane.runId} ${lane.lane}: expected what it drafted on, found nothing`,
        )
    }
  }
}

function wholePart(part: WholePart, key: string, at: number): Part {
  return part.type === 'text' || part.type === 'reasoning'
    ? { ...(part as { type: 'text'; text: string }), key, at, id: key, state: 'done' }
    : ({ ...part, key, at } as Part)
}

/** A refusal that a pure function threw, told instead of thrown (law 9). */
function attempt(write: () => void): Refusal | undefined {
  try {
    write()
  } catch (error) {
    if (error instanceof ProtocolError) return ['refused', error.message]
    throw error
  }
  return undefined
}
