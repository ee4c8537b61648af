import {
  type Chunk,
  catalogue,
  type Entry,
  isData,
  isGuest,
  type RunStatus,
  type WriterOrigin,
} from '@millrace/protocol'
import { firstFrom } from './binary-search.ts'
import { closeSpan, type DeltaKind, type MarkerKind, Row, type Span, type SpanState } from './row.ts'
import { type GapKind, TimeAxis } from './time-axis.ts'

/** A lane while its run is open. */
interface Lane {
  readonly name: string
  readonly row: Row
  step?: Span | undefined
  call?: Span | undefined
  wait?: Span | undefined
  /** Start of its draft since the last commit. */
  draft?: { readonly at: number; readonly index: number } | undefined
}

interface OpenRun {
  readonly span: Span
  readonly lanes: Map<string, Lane>
  pause?: Span | undefined
}

/** The range that a rewind removed. */
export interface Cut {
  readonly from: number
  readonly to: number
}

const DELTA_KINDS: { readonly [type: string]: DeltaKind } = {
  'text-delta': 'text',
  'reasoning-delta': 'reasoning',
  'tool-input-delta': 'input',
}

const MARKERS: { readonly [type: string]: MarkerKind } = {
  message: 'prompt',
  'checkpoint-created': 'commit',
  'step-discarded': 'discard',
  'tool-approval-response': 'answer',
  'interrupt-response': 'answer',
  'run-paused': 'pause',
  'stop-requested': 'stop',
  'executor-superseded': 'takeover',
  rewind: 'rewind',
  error: 'error',
  'tool-input-error': 'error',
  'tool-output-error': 'error',
}

/** Maximum number of open calls to track, since some never end. */
const MAX_OPEN = 1000
/** Maximum number of rows. Above it, lanes share a row. */
const MAX_ROWS = 200

/** The timeline of a growing log. The cost per entry does not depend on the length of the log. */
export class TimelineModel {
  readonly axis = new TimeAxis()
  readonly main = new Row(0)
  readonly runs: Span[] = []
  /** Times at which a run was paused. */
  readonly pauses: Span[] = []
  /** Ranges removed by rewinds, in order, without overlap. */
  readonly cuts: Cut[] = []
  /** Position of each entry. */
  readonly at: number[] = []
  /** Number of rows. */
  rowCount = 1
  readonly #open = new Map<string, OpenRun>()
  readonly #calls = new Map<string, Lane>()
  readonly #sequences: number[] = []
  /** Number of paused runs. */
  #paused = 0

  /** Number of processed entries. */
  get count(): number {
    return this.at.length
  }

  /** Processes new entries up to `count`. */
  take(entries: readonly Entry[], count: number): void {
    for (let index = this.at.length; index < count; index++) this.#take(entries[index] as Entry, index)
  }

  #take(entry: Entry, index: number): void {
    const at = this.axis.advanceTo(entry.timestamp, this.#gapKind())
    this.at.push(at)
    this.#sequences.push(entry.sequence)
    const { chunk, origin } = entry
    const lane = isGuest(origin) ? this.#guestLane(chunk) : this.#lane(origin, at, index)
    const row = lane?.row ?? this.main
    row.entries.add(at, index)
    const deltaKind = DELTA_KINDS[chunk.type]
    if (deltaKind) row.deltas[deltaKind].add(at, index)
    const marker = MARKERS[chunk.type]
    if (marker) row.addMarker(marker, at, index)
    if (lane) {
      if (lane.draft === undefined && isDraftChunk(chunk)) lane.draft = { at, index }
      if (!deltaKind) this.#write(lane, entry, at, index)
    } else if (!deltaKind && isGuest(origin) && chunk.type === 'tool-output-available') {
      row.addMarker('answer', at, index)
    }
  }

  #gapKind(): GapKind {
    if (this.#open.size === 0) return 'idle'
    return this.#paused === this.#open.size ? 'paused' : 'working'
  }

  /** The lane of the call that a guest entry names, if any. */
  #guestLane(chunk: Chunk): Lane | undefined {
    return 'toolCallId' in chunk && typeof chunk.toolCallId === 'string' ? this.#calls.get(chunk.toolCallId) : undefined
  }

  #run(runId: string, at: number, index: number, label = ''): OpenRun {
    let run = this.#open.get(runId)
    if (run === undefined) {
      const span: Span = { from: at, state: 'open', label, index }
      this.runs.push(span)
      run = { span, lanes: new Map() }
      this.#open.set(runId, run)
    }
    return run
  }

  #lane({ runId, lane: name, agentType }: WriterOrigin, at: number, index: number): Lane {
    const run = this.#run(runId, at, index, agentType)
    return run.lanes.get(name) ?? this.#openLane(run, name)
  }

  #openLane(run: OpenRun, name: string): Lane {
    const parent = parentLane(run, name)
    const lane: Lane = { name, row: parent ? this.#rowBelow(parent.row) : this.main }
    run.lanes.set(name, lane)
    return lane
  }

  /** The first free row below another, or a new one. */
  #rowBelow(parent: Row): Row {
    let row = parent.below.find(({ isFree }) => isFree)
    if (row === undefined && this.rowCount === MAX_ROWS) return parent.below.at(-1) ?? parent
    if (row === undefined) {
      row = new Row(parent.depth + 1)
      parent.below.push(row)
      this.rowCount++
    }
    row.isFree = false
    return row
  }

  #write(lane: Lane, { chunk, origin }: Entry, at: number, index: number): void {
    switch (chunk.type) {
      case 'step-start':
        closeSpan(lane.step, at, 'done')
        lane.step = { from: at, state: 'open', label: isGuest(origin) ? '' : stepLabel(origin, chunk.attempt), index }
        lane.row.steps.push(lane.step)
        break
      case 'step-finish':
        if (lane.step) lane.step.middle = at
        break
      case 'checkpoint-created':
        lane.draft = undefined
        if (chunk.closesStep) this.#endStep(lane, at, 'done')
        break
      case 'step-discarded':
        this.#discard(lane, chunk.reason, at, index)
        break
      case 'tool-input-start':
      case 'tool-input-available':
        this.#call(lane, chunk, origin, at, index)
        break
      case 'tool-approval-request':
        this.#wait(this.#calls.get(chunk.toolCallId) ?? lane, 'waiting for approval', at, index)
        break
      case 'tool-approval-response':
        closeSpan((this.#calls.get(chunk.toolCallId) ?? lane).wait, at, 'done')
        break
      case 'interrupt':
        this.#wait(lane, 'waiting for an answer', at, index)
        break
      case 'tool-output-available':
        if (isGuest(origin)) lane.row.addMarker('answer', at, index)
        if (!chunk.preliminary) this.#settle(chunk.toolCallId, at, 'done')
        break
      case 'tool-input-error':
      case 'tool-output-error':
      case 'tool-output-denied':
        this.#settle(chunk.toolCallId, at, 'failed')
        break
      case 'subagent-start':
        if (lane.call === undefined) {
          lane.call = { from: at, state: 'open', label: chunk.agentType, index }
          lane.row.calls.push(lane.call)
        }
        break
      case 'subagent-end':
        this.#endLane(lane, at, stateOf(chunk.status))
        break
      default:
        if (!isGuest(origin)) this.#writeRun(origin.runId, chunk, at, index)
    }
  }

  #writeRun(runId: string, chunk: Chunk, at: number, index: number): void {
    const run = this.#open.get(runId)
    if (run === undefined) return
    switch (chunk.type) {
      case 'run-paused': {
        const kinds = [...new Set(chunk.awaits.map(({ kind }) => kind))].join(', ')
        this.#endPause(run, at, 'done')
        run.pause = { from: at, state: 'open', label: `waiting for ${kinds || 'an answer'}`, index }
        this.pauses.push(run.pause)
        this.#paused++
        break
      }
      case 'run-resumed':
      case 'executor-superseded':
        this.#endPause(run, at, 'done')
        for (const { wait } of run.lanes.values()) closeSpan(wait, at, 'done')
        break
      case 'rewind':
        this.#cut(chunk.toSequence, at)
        break
      case 'run-finished':
        this.#endRun(runId, run, at, stateOf(chunk.status))
    }
  }

  /** Opens a lane for a call with the first part of its input. */
  #call(
    lane: Lane,
    { toolCallId, toolName, executor, type }: Extract<Chunk, { type: 'tool-input-start' | 'tool-input-available' }>,
    origin: Entry['origin'],
    at: number,
    index: number,
  ): void {
    const run = isGuest(origin) ? undefined : this.#open.get(origin.runId)
    if (run === undefined) return
    let call = this.#calls.get(toolCallId)
    if (call === undefined && this.#calls.size < MAX_OPEN) {
      const name = `${lane.name}/${toolCallId}`
      call = run.lanes.get(name) ?? this.#openLane(run, name)
      call.call ??= { from: at, state: 'open', label: toolName, index }
      if (call.row.calls.at(-1) !== call.call) call.row.calls.push(call.call)
      this.#calls.set(toolCallId, call)
    }
    if (call && executor === 'client' && type === 'tool-input-available')
      this.#wait(call, 'waiting for a client tool', at, index)
  }

  #wait(lane: Lane, label: string, at: number, index: number): void {
    closeSpan(lane.wait, at, 'done')
    lane.wait = { from: at, state: 'open', label, index }
    lane.row.waits.push(lane.wait)
  }

  #settle(toolCallId: string, at: number, state: SpanState): void {
    const lane = this.#calls.get(toolCallId)
    if (lane === undefined) return
    this.#calls.delete(toolCallId)
    this.#endLane(lane, at, state)
  }

  #endStep(lane: Lane, at: number, state: SpanState): void {
    closeSpan(lane.step, at, state)
    lane.step = undefined
  }

  #endLane(lane: Lane, at: number, state: SpanState): void {
    lane.draft = undefined
    this.#endStep(lane, at, state)
    closeSpan(lane.call, at, state)
    closeSpan(lane.wait, at, state)
    if (lane.row !== this.main) lane.row.isFree = true
  }

  #discard(lane: Lane, label: string, at: number, index: number): void {
    const { draft } = lane
    lane.draft = undefined
    this.#endStep(lane, at, 'discarded')
    const from = draft ?? { at, index }
    lane.row.discards.push({ from: from.at, to: at, state: 'discarded', label, index })
  }

  #endRun(runId: string, run: OpenRun, at: number, state: SpanState): void {
    for (const lane of run.lanes.values()) this.#endLane(lane, at, state)
    for (const [id, lane] of this.#calls) if (run.lanes.get(lane.name) === lane) this.#calls.delete(id)
    this.#endPause(run, at, state)
    closeSpan(run.span, at, state)
    this.#open.delete(runId)
  }

  #endPause(run: OpenRun, at: number, state: SpanState): void {
    if (run.pause === undefined) return
    closeSpan(run.pause, at, state)
    run.pause = undefined
    this.#paused--
  }

  #cut(toSequence: number, to: number): void {
    const first = firstFrom(this.#sequences, toSequence + 1)
    let from = this.at[first] ?? to
    // Merge with earlier cuts that this one covers.
    for (let last = this.cuts.at(-1); last && last.to >= from; last = this.cuts.at(-1)) {
      from = Math.min(from, last.from)
      this.cuts.pop()
    }
    this.cuts.push({ from, to })
  }
}

/** The parent lane by name prefix; the main lane if none is known. */
function parentLane({ lanes }: OpenRun, name: string): Lane | undefined {
  for (let end = name.lastIndexOf('/'); end > 0; end = name.lastIndexOf('/', end - 1)) {
    const parent = lanes.get(name.slice(0, end))
    if (parent) return parent
  }
  const [first] = lanes.values()
  return first
}

const isDraftChunk = (chunk: Chunk): boolean => {
  if (isData(chunk)) return true
  const row = catalogue[chunk.type as keyof typeof catalogue] as { readonly draft?: true | 'preliminary' } | undefined
  if (row?.draft === 'preliminary') return 'preliminary' in chunk && chunk.preliminary === true
  return row?.draft === true
}

const stateOf = (status: RunStatus): SpanState => (status === 'completed' ? 'done' : 'failed')

function stepLabel({ step, node }: WriterOrigin, attempt = 1): string {
  return `${node ?? `step ${step}`}${attempt > 1 ? `, attempt ${attempt}` : ''}`
}
