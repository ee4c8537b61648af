// A slow, simple model of the fold: first finds the retracted entries, then applies the others. It supports only the chunks of
// these programs and shares no code with the fold.

import { type Entry, isDraftChunk, isGuest, type View, type WriterOrigin } from '@millrace/protocol'

type Shown = Record<string, unknown>

/** The compared content of a session. */
export interface Content {
  readonly messages: { readonly id: string; readonly parts: Shown[] }[]
  readonly structured: Shown
  readonly state: unknown
}

const laneOf = ({ runId, lane, agentId }: WriterOrigin): string => JSON.stringify([runId, lane, agentId])

/** Sequences that discards and rewinds retracted. */
export function retractedSequences(entries: readonly Entry[]): Set<number> {
  const retracted = new Set<number>()
  const drafts = new Map<string, { origin: WriterOrigin; sequences: number[] }>()
  const seal = (isSealed: (origin: WriterOrigin) => boolean) => {
    for (const [lane, { origin }] of drafts) if (isSealed(origin)) drafts.delete(lane)
  }
  for (const { sequence, origin, chunk } of entries) {
    if (isGuest(origin)) continue
    const lane = laneOf(origin)
    if (isDraftChunk(chunk)) {
      const draft = drafts.get(lane) ?? { origin, sequences: [] }
      drafts.set(lane, draft)
      draft.sequences.push(sequence)
    } else if (chunk.type === 'checkpoint-created') drafts.delete(lane)
    else if (chunk.type === 'subagent-end') {
      seal(({ runId, agentId }) => runId === origin.runId && agentId === chunk.agentId)
    } else if (chunk.type === 'run-finished') seal(({ runId }) => runId === origin.runId)
    else if (chunk.type === 'step-discarded') {
      for (const draftSequence of drafts.get(lane)?.sequences ?? []) retracted.add(draftSequence)
      drafts.delete(lane)
    } else if (chunk.type === 'rewind') {
      for (let cut = chunk.toSequence + 1; cut <= sequence; cut++) retracted.add(cut)
      drafts.clear()
    }
  }
  return retracted
}

/** Lanes with text that is neither committed nor discarded. */
export function openDrafts(entries: readonly Entry[]): WriterOrigin[] {
  const open = new Map<string, WriterOrigin>()
  for (const { origin, chunk } of entries) {
    if (isGuest(origin)) continue
    if (isDraftChunk(chunk)) open.set(laneOf(origin), origin)
    else if (chunk.type === 'checkpoint-created' || chunk.type === 'step-discarded') open.delete(laneOf(origin))
    else if (chunk.type === 'subagent-end' || chunk.type === 'run-finished') {
      for (const [lane, { runId, agentId }] of open) {
        const isEnded = chunk.type === 'run-finished' || agentId === chunk.agentId
        if (runId === origin.runId && isEnded) open.delete(lane)
      }
    }
  }
  return [...open.values()]
}

/** The content of a log at its end. */
export function contentOf(entries: readonly Entry[]): Content {
  const retracted = retractedSequences(entries)
  const build = new ContentBuilder()
  for (const entry of entries) {
    if (!retracted.has(entry.sequence)) build.add(entry)
    // The end of a run is shown with its remaining entries, also after a cut.
    build.end(entry)
  }
  return build.content()
}

const MISSING = 'The run ended before this call did.'

class ContentBuilder {
  readonly #messages = new Map<string, { id: string; author: WriterOrigin | undefined; parts: Map<string, Shown> }>()
  readonly #calls = new Map<string, Shown>()
  readonly #structured: Record<string, Shown> = {}
  #state: unknown

  #message(id: string, author?: WriterOrigin) {
    const message = this.#messages.get(id) ?? { id, author, parts: new Map<string, Shown>() }
    this.#messages.set(id, message)
    return message
  }

  #part(origin: WriterOrigin, key: string, newPart: Shown): Shown {
    const { parts } = this.#message(`${origin.runId}::${origin.agentId}`, origin)
    const part = parts.get(key) ?? newPart
    parts.set(key, part)
    return part
  }

  add({ origin, chunk, sequence, internal }: Entry): void {
    if (internal) return
    if ('toolCallId' in chunk && chunk.type.startsWith('tool-')) this.#call(origin as WriterOrigin, chunk)
    if (isGuest(origin)) return
    const { type } = chunk
    switch (type) {
      case 'message': {
        const { parts } = this.#message(chunk.messageId)
        for (const [i, part] of chunk.parts.entries()) parts.set(`${i}`, part as Shown)
        return
      }
      case 'start':
      case 'finish':
      case 'abort':
      case 'message-metadata':
        this.#part(origin, 'meta', {})
        return
      case 'text-start':
      case 'text-delta':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end': {
        const kind = type.split('-')[0] as string
        const part = this.#part(origin, `${kind} ${chunk.id}`, { type: kind, id: chunk.id, text: '' })
        if ('delta' in chunk) part['text'] += chunk.delta
        return
      }
      case 'step-start':
        this.#part(origin, `${sequence}`, { type })
        return
      case 'state-patch':
        for (const { path, ...operation } of chunk.patches) {
          this.#state = { ...(this.#state as object), [path.slice(1)]: 'value' in operation ? operation.value : null }
        }
        return
      case 'structured-data': {
        const object = this.#structured[chunk.streamId] ?? {}
        this.#structured[chunk.streamId] = object
        if (chunk.kind === 'append') object[chunk.path] = [...((object[chunk.path] as []) ?? []), ...chunk.items]
        else if (chunk.kind === 'text-delta') object[chunk.path] = `${object[chunk.path] ?? ''}${chunk.delta}`
        return
      }
      default: {
        if (!type.startsWith('data-')) return
        if ((chunk as { transient?: boolean }).transient) return
        const { id, data } = chunk as unknown as { id?: string; data: unknown }
        this.#part(origin, `${type} ${id ?? sequence}`, { type, ...(id !== undefined && { id }) })['data'] = data
      }
    }
  }

  #call(origin: WriterOrigin, chunk: Extract<Entry['chunk'], { toolCallId: string }>): void {
    const { toolCallId, type } = chunk
    const known = this.#calls.get(toolCallId)
    if (known === undefined && isGuest(origin)) return
    const part = known ?? this.#part(origin, `tool ${toolCallId}`, { toolCallId, state: 'input-streaming', text: '' })
    this.#calls.set(toolCallId, part)
    const settle = (state: string, more: Shown) => {
      delete part['progress']
      delete part['text']
      Object.assign(part, { state, ...more })
    }
    switch (type) {
      case 'tool-input-delta':
        part['text'] += chunk.delta
        return
      case 'tool-input-available':
        Object.assign(part, { state: 'input-available', text: undefined })
        return
      case 'tool-approval-request':
        part['state'] = 'approval-requested'
        return
      case 'tool-approval-response':
        Object.assign(part, { state: 'approval-responded', approved: chunk.approved })
        return
      case 'tool-output-available':
        if (chunk.preliminary) part['progress'] = chunk.output
        else settle('output-available', { output: chunk.output })
        return
      case 'tool-output-error':
        settle('output-error', { errorText: chunk.errorText })
        return
      case 'tool-output-denied':
        settle('output-denied', part['approved'] === undefined ? {} : { approved: false })
    }
  }

  end({ origin, chunk }: Entry): void {
    const isEnd = chunk.type === 'run-finished' || chunk.type === 'subagent-end'
    if (!isEnd || isGuest(origin)) return
    for (const { author, parts } of this.#messages.values()) {
      if (author?.runId !== origin.runId) continue
      if (chunk.type === 'subagent-end' && author.agentId !== chunk.agentId) continue
      for (const part of parts.values()) {
        if (!('toolCallId' in part) || String(part['state']).startsWith('output-')) continue
        delete part['progress']
        delete part['text']
        Object.assign(part, { state: 'output-error', errorText: MISSING })
      }
    }
  }

  content(): Content {
    const messages = [...this.#messages.values()].map(({ id, parts }) => {
      const shown = [...parts].filter(([key]) => key !== 'meta').map(([, part]) => part)
      return { id, parts: shown }
    })
    return { messages, structured: this.#structured, state: this.#state }
  }
}

/** The content of a view of the fold, in the same form. */
export function contentOfView(view: View): Content {
  const messages = view.messages.map(({ id, parts, runId }) => ({
    id,
    parts: parts.map(part => {
      const { type, text, data, toolCallId, state, inputText, progress, output, errorText, approval } =
        part as unknown as Record<string, unknown>
      const partId = (part as { id?: string }).id
      if (runId === undefined) return { type, text }
      if (type === 'text' || type === 'reasoning') return { type, id: partId, text }
      if (type === 'step-start') return { type }
      if (toolCallId === undefined) return { type, ...(partId !== undefined && { id: partId }), data }
      const approved = (approval as { approved?: boolean } | undefined)?.approved
      return { toolCallId, state, text: inputText, progress, output, errorText, approved }
    }),
  }))
  const structured = Object.fromEntries(view.structured.map(({ streamId, data }) => [streamId, data as Shown]))
  return { messages, structured, state: view.state }
}

/** JSON text that is equal for equal contents. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, nested: unknown) => {
    if (typeof nested !== 'object' || nested === null || Array.isArray(nested)) return nested
    const fields = Object.entries(nested).filter(([, field]) => field !== undefined && field !== '')
    return Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}
