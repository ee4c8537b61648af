// What a session's entries say, as a list of items to show: as much of a fold as this page needs.

/** A session as it is so far: its items in order, what it waits for, and how its latest run is. */
export class Transcript {
  items = new Map()
  pendings = new Map()
  run
  program
  /** The keys of the items that changed since they were last taken. */
  changed = new Set()
  /** For each lane, what the items that its draft touched were before it. */
  #drafts = new Map()

  /** Takes an entry in. */
  add({ sequence, origin, chunk }) {
    const at = { sequence, origin, chunk }
    const known = readers[chunk.type]
    if (known) known.call(this, chunk, at)
    else if (chunk.type.startsWith('data-') && !chunk.transient) {
      this.word(at, `data:${origin.runId}:${chunk.id ?? sequence}`, {
        kind: 'value',
        name: chunk.type,
        value: chunk.data,
      })
    }
  }

  /** Takes what changed, to be shown. */
  take() {
    const keys = this.changed
    this.changed = new Set()
    return keys
  }

  /** Changes an item by what may be taken back, and makes it where there is none. */
  word(at, key, change) {
    const lane = `${at.origin.runId} ${at.origin.lane}`
    const draft = this.#drafts.get(lane) ?? new Map()
    this.#drafts.set(lane, draft)
    if (!draft.has(key)) draft.set(key, this.items.get(key))
    this.fact(at, key, change)
  }

  /** Changes an item for good. */
  fact({ sequence, origin }, key, change) {
    const { agentType: agent, agentId, runId } = origin
    const isChild = agentId !== undefined && agentId !== runId
    const before = this.items.get(key) ?? { key, at: sequence, agent, isChild }
    this.items.set(key, { ...before, ...(typeof change === 'function' ? change(before) : change) })
    this.changed.add(key)
  }

  /** A line about what happened. */
  note(at, text, tone = 'quiet') {
    this.fact(at, `note:${at.sequence}`, { kind: 'note', text, tone })
  }

  /** The drafts of these lanes stay. */
  seal(isSealed) {
    for (const lane of [...this.#drafts.keys()]) if (isSealed(lane)) this.#drafts.delete(lane)
  }

  /** The draft of a lane is taken back; gives how many items it had touched. */
  discard({ runId, lane }) {
    const draft = this.#drafts.get(`${runId} ${lane}`) ?? new Map()
    for (const [key, before] of draft) {
      if (before) this.items.set(key, before)
      else this.items.delete(key)
      this.changed.add(key)
    }
    this.seal(name => name === `${runId} ${lane}`)
    return draft.size
  }

  /** All that was said after a place is taken back. */
  rewind(sequence) {
    for (const [key, item] of this.items) {
      if (item.at <= sequence || item.kind === 'note') continue
      this.items.delete(key)
      this.changed.add(key)
    }
  }

  /** Something is settled, and with it what waited for it. */
  settle(id) {
    for (const [key, pending] of this.pendings)
      if (pending.id === id || pending.toolCallId === id) this.pendings.delete(key)
  }

  text(kind, { id, delta }, at) {
    const { runId, agentId } = at.origin
    this.word(at, `${kind}:${runId}:${agentId}:${id}`, ({ text = '' }) => ({ kind, text: text + (delta ?? '') }))
  }

  call({ toolCallId }, at, change) {
    this.word(at, `call:${toolCallId}`, before => ({ kind: 'call', name: 'call', ...before, ...change(before) }))
  }
}

/** What each type of chunk does; those that are not here show in the frames alone. */
const readers = {
  message({ messageId, role, parts }, at) {
    const text = parts.map(part => part.text ?? `[${part.type}]`).join('\n')
    this.fact(at, `message:${messageId}`, { kind: 'message', role, text })
  },
  'text-delta'(chunk, at) {
    this.text('text', chunk, at)
  },
  'reasoning-delta'(chunk, at) {
    this.text('reasoning', chunk, at)
  },
  'tool-input-start'(chunk, at) {
    this.call(chunk, at, () => ({ name: chunk.toolName, state: 'is asked for', input: '' }))
  },
  'tool-input-delta'(chunk, at) {
    this.call(chunk, at, ({ input = '' }) => ({ input: input + chunk.delta }))
  },
  'tool-input-available'(chunk, at) {
    const { toolCallId, toolName, executor, input } = chunk
    this.call(chunk, at, () => ({
      name: toolName,
      input,
      state: executor === 'client' ? 'waits for a client' : 'runs',
    }))
    if (executor === 'client')
      this.pendings.set(toolCallId, { kind: 'tool-result', id: toolCallId, toolName, input, run: at.origin.runId })
  },
  'tool-input-error'(chunk, at) {
    this.call(chunk, at, () => ({ state: 'failed', output: chunk.errorText }))
  },
  'tool-approval-request'(chunk, at) {
    const { toolCallId, toolName, approvalId, input } = chunk
    this.call(chunk, at, () => ({ input, state: 'waits for approval' }))
    this.pendings.set(approvalId, {
      kind: 'approval',
      id: approvalId,
      toolCallId,
      toolName,
      input,
      run: at.origin.runId,
    })
  },
  'tool-approval-response'(chunk, at) {
    this.settle(chunk.approvalId)
    this.fact(at, `call:${chunk.toolCallId}`, { state: chunk.approved ? 'approved' : 'denied' })
  },
  'tool-output-available'(chunk, at) {
    const { toolCallId, output, preliminary } = chunk
    if (preliminary) return this.call(chunk, at, () => ({ state: 'at work', output }))
    this.settle(toolCallId)
    this.fact(at, `call:${toolCallId}`, { state: 'done', output })
  },
  'tool-output-error'({ toolCallId, errorText }, at) {
    this.settle(toolCallId)
    this.fact(at, `call:${toolCallId}`, { state: 'failed', output: errorText })
  },
  'tool-output-denied'({ toolCallId, reason }, at) {
    this.settle(toolCallId)
    this.fact(at, `call:${toolCallId}`, { state: 'denied', output: reason })
  },
  'source-url'({ sourceId, url, title }, at) {
    this.word(at, `source:${at.origin.runId}:${sourceId}`, { kind: 'source', url, text: title ?? url })
  },
  'structured-data'(chunk, at) {
    const { streamId, dataType } = chunk
    const change = ({ value }) => ({ kind: 'value', name: dataType, value: updated(value, chunk) })
    this.word(at, `structured:${streamId}`, change)
  },
  'structured-data-invalidated'({ streamId }, at) {
    this.word(at, `structured:${streamId}`, { value: undefined })
  },
  'state-snapshot'({ state }, at) {
    this.fact(at, `state:${at.sequence}`, { kind: 'value', name: 'state', value: state })
  },
  'state-patch'({ patches }, at) {
    for (const { op, path, value } of patches) this.note(at, `state: ${op} ${path} ${JSON.stringify(value) ?? ''}`)
  },
  'checkpoint-created'(_, { origin }) {
    this.seal(lane => lane === `${origin.runId} ${origin.lane}`)
  },
  'step-discarded'({ reason }, at) {
    this.note(
      at,
      `${this.discard(at.origin) > 0 ? 'What was said is taken back' : 'A step is begun again'}: ${reason}`,
      'bad',
    )
  },
  'subagent-start'({ agentType }, at) {
    this.note(at, `${agentType} begins`)
  },
  'subagent-end'({ agentType, status }, at) {
    this.note(at, `${agentType}: ${status}`)
  },
  status({ message }, at) {
    this.note(at, message)
  },
  interrupt({ interruptId, input }, at) {
    this.pendings.set(interruptId, { kind: 'interrupt', id: interruptId, input, run: at.origin.runId })
    if (input.question) this.fact(at, `interrupt:${interruptId}`, { kind: 'text', text: input.question })
  },
  'interrupt-response'({ interruptId, response }, at) {
    this.settle(interruptId)
    const text = typeof response === 'string' ? response : JSON.stringify(response)
    this.fact(at, `answer:${interruptId}`, { kind: 'message', role: 'user', text })
  },
  'run-requested'() {
    this.run ??= 'requested'
  },
  'run-started'({ program }) {
    this.run = 'running'
    this.program = program.replace(/^(agent|workflow):/, '').replace(/@.*$/, '')
  },
  'run-paused'() {
    this.run = 'waiting'
  },
  'run-resumed'() {
    this.run = 'running'
  },
  'stop-requested'(_, at) {
    this.note(at, 'Asked to stop')
  },
  'run-finished'({ status, reason }, at) {
    this.run = status
    this.seal(lane => lane.startsWith(`${at.origin.runId} `))
    for (const [key, { run }] of this.pendings) if (run === at.origin.runId) this.pendings.delete(key)
    this.note(at, reason ? `${status}: ${reason}` : status, 'end')
  },
  'executor-superseded'(_, at) {
    this.note(at, 'Another process took the run over')
  },
  rewind({ toSequence }, at) {
    this.rewind(toSequence)
    this.note(at, 'Back to an earlier place')
  },
  error({ message }, at) {
    this.note(at, message, 'bad')
  },
}

/** A structured object after an update; only what lies on the path is copied. */
function updated(value, { kind, path, ...chunk }) {
  if (kind === 'final') return chunk.data
  return set(value, path.split('.').filter(Boolean), before => {
    if (kind === 'set') return chunk.value
    if (kind === 'append') return [...(Array.isArray(before) ? before : []), ...chunk.items]
    return (typeof before === 'string' ? before : '') + chunk.delta
  })
}

function set(value, [key, ...rest], change) {
  if (key === undefined) return change(value)
  const before = Object.hasOwn(value ?? {}, key) ? value[key] : undefined
  const after = set(before, rest, change)
  if (Array.isArray(value)) return Object.assign([...value], { [key]: after })
  return { ...value, [key]: after }
}
