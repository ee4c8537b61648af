import { type Chunk, isDraftChunk, messageIdOf, type Origin } from '@millrace/protocol'
import { DraftTracker, type LaneEntry, type LaneId } from '@millrace/protocol/internal'
import type { DecodedChunk, Encoder, EndStatus } from '../dialect/dialect.ts'
import { isOfSubAgent, laneOf } from '../dialect/lane.ts'
import { type Supplement, supplementOf, withGuestOrigin } from '../dialect/supplement.ts'
import { UNSETTLED_RESULT } from '../dialect/tool-result.ts'
import { CurrentStep } from './encode/current-step.ts'
import { OpenTextParts } from './encode/open-text-parts.ts'
import { AiSdkToolCalls } from './encode/tool-calls.ts'
import { chunkToEvent } from './events/chunk-to-event.ts'
import { eventToChunk } from './events/event-to-chunk.ts'
import { EXTENSION, extension, partIdOf } from './events/extension.ts'
import type { UIMessageChunk } from './types.ts'

/** Options of an encoder for the AI SDK. */
export interface AiSdkEncoderOptions {
  /** The id of the run, if it is known before its first chunk. @default the run id of the first chunk */
  readonly runId?: string
  /**
   * Client tool calls that already have a result. Their input is sent so that clients do not run them again.
   * @default none
   */
  readonly answered?: ReadonlySet<string>
}

const NONE: readonly UIMessageChunk[] = []

/** Encodes a run as a UI message stream. */
export class AiSdkEncoder implements Encoder<UIMessageChunk> {
  readonly #answered: ReadonlySet<string>
  #runId: string | undefined
  #isOpen = false
  #isOver = false
  #isEnded = false
  #isFinished = false
  /** Whether the run has paused in this step. */
  #hasPaused = false
  #isStepOpen = false
  /** Whether a discard left the open step empty. The next attempt continues in it. */
  #isStepReset = false
  /** The number of steps that clients have seen begin. */
  #steps = 0
  #error = 'The run failed.'
  readonly #openText = new OpenTextParts()
  readonly #calls = new AiSdkToolCalls()
  readonly #step = new CurrentStep()
  /** The ids of the extension parts that the message keeps, with the chunk that closes each one that waits for an answer. */
  readonly #keptParts = new Map<string, Chunk | undefined>()
  /** The metadata that each lane wrote since its last commit. Sent once committed, since clients cannot take metadata back. */
  readonly #metadata = new DraftTracker<UIMessageChunk[]>(() => [])
  /** Whether nothing was encoded since `resume()`. */
  #isIdle = false

  constructor({ runId, answered = new Set() }: AiSdkEncoderOptions = {}) {
    this.#runId = runId
    this.#answered = answered
  }

  encode({ chunk, origin }: DecodedChunk): readonly UIMessageChunk[] {
    if (this.#isEnded) return NONE
    if (origin && origin.guest === undefined) this.#runId ??= origin.runId
    this.#isIdle = false
    // Fast path: most chunks are deltas.
    if ((chunk.type === 'text-delta' || chunk.type === 'reasoning-delta') && this.#isUnchanged(chunk, origin)) {
      this.#step.add(chunk, origin?.guest === undefined ? laneOf(origin) : undefined)
      return [chunk]
    }
    return this.#withStart(
      isOfSubAgent(origin) ? this.#extension(chunk, origin) : withGuestOrigin(this.#encode(chunk, origin), origin),
    )
  }

  resume(): readonly UIMessageChunk[] {
    this.#isOver = false
    this.#isFinished = false
    this.#isOpen = true
    this.#isIdle = true
    // The client may have answered too late, and does not know the answers of other clients.
    const answers = this.#hasPaused ? this.#step.events.filter(isAnswer) : NONE
    return [derived({ type: 'start', ...this.#messageIdField }), ...answers.map(derived)]
  }

  end(status: EndStatus): readonly UIMessageChunk[] {
    return this.#withStart(this.#endEvents(status))
  }

  #endEvents(status: EndStatus): readonly UIMessageChunk[] {
    if (this.#isOver) return NONE
    this.#isOver = true
    this.#isEnded = status !== 'paused'
    const events = status === 'paused' ? this.#closeAll() : [...this.#settleAll(), ...this.#closeAll()]
    if (status === 'paused') events.push(derived({ type: 'finish', finishReason: this.#reason('tool-calls') }))
    else if (status === 'failed') events.push(derived({ type: 'error', errorText: this.#error }))
    else if (!this.#isFinished) {
      const isDone = status === 'completed'
      if (!isDone) events.push(derived({ type: 'abort' }))
      events.push(derived({ type: 'finish', finishReason: isDone ? this.#reason('stop') : 'interrupted' }))
    }
    return events
  }

  /** Whether a delta is sent unchanged. */
  #isUnchanged(chunk: Extract<Chunk, { type: 'text-delta' | 'reasoning-delta' }>, origin: Origin | undefined): boolean {
    return this.#openText.isOpen(chunk.type, chunk.id) && !isOfSubAgent(origin) && isBare(chunk)
  }

  get #messageIdField(): { messageId?: string } {
    return this.#runId === undefined ? {} : { messageId: messageIdOf(this.#runId, this.#runId) }
  }

  /** Puts the start of the message before the first events. */
  #withStart(events: readonly UIMessageChunk[]): readonly UIMessageChunk[] {
    if (this.#isOpen || events.length === 0) return events
    this.#isOpen = true
    return events[0]?.type === 'start' ? events : [derived({ type: 'start', ...this.#messageIdField }), ...events]
  }

  #encode(chunk: Chunk, origin: Origin | undefined): readonly UIMessageChunk[] {
    const lane = laneOf(origin)
    switch (chunk.type) {
      case 'start':
        return [
          this.#withSupplement(
            { ...(chunkToEvent(chunk) as UIMessageChunk & { type: 'start' }), ...this.#messageIdField },
            chunk,
          ),
        ]
      case 'step-start':
        return this.#stepStart(chunk, lane)
      case 'step-discarded':
        return [extension({ chunk }), ...this.#discard({ chunk, origin: lane })]
      case 'checkpoint-created':
        this.#step.commit({ chunk, origin: lane })
        return [extension({ chunk }), ...this.#committedMetadata({ chunk, origin: lane })]
      case 'message-metadata': {
        this.#metadata.open(lane).data.push(derived(chunkToEvent(chunk) as UIMessageChunk))
        return [extension({ chunk })]
      }
      case 'error':
        this.#error = chunk.message
        return [extension({ chunk })]
      case 'finish':
        return [...this.#settleAll(), ...this.#closeAll(), this.#finish(chunk)]
      case 'abort': {
        this.#isFinished = true
        const finish = derived({ type: 'finish', finishReason: 'interrupted' })
        return [
          ...this.#settleAll(),
          ...this.#closeAll(),
          this.#withSupplement(chunkToEvent(chunk) as UIMessageChunk, chunk),
          finish,
        ]
      }
      case 'run-paused':
        this.#hasPaused = true
        return [extension({ chunk }), ...this.#closeAll()]
      case 'run-finished':
        return [extension({ chunk }), ...this.#endEvents(chunk.status)]
      default:
        return this.#event(chunk, origin)
    }
  }

  #stepStart(chunk: Chunk, lane: LaneId): readonly UIMessageChunk[] {
    const events = this.#openText.close(lane.lane).map(derived)
    // A step mark would separate the drafts of other lanes from their next chunks: clients cannot take back text before a mark.
    if (this.#isStepReset || this.#step.hasOtherDraft(lane)) {
      this.#isStepReset = false
      return [...events, extension({ chunk })]
    }
    if (this.#isStepOpen) events.push(derived({ type: 'finish-step' }))
    this.#isStepOpen = true
    this.#hasPaused = false
    this.#steps++
    this.#step.startNext()
    return [...events, this.#withSupplement({ type: 'start-step' }, chunk)]
  }

  /** Closes everything open except calls. */
  #closeAll(): UIMessageChunk[] {
    const events = this.#committedMetadata()
    events.push(...this.#openText.close().map(derived))
    if (this.#isStepOpen) events.push(derived({ type: 'finish-step' }))
    this.#isStepOpen = false
    return events
  }

  /** Results for calls and interrupts that are open when their run ends. They match the view. */
  #settleAll(): UIMessageChunk[] {
    const events: UIMessageChunk[] = []
    for (const [name, chunk] of this.#keptParts) {
      if (chunk) events.push(derived(extension({ chunk }, name)))
      this.#keptParts.set(name, undefined)
    }
    for (const toolCallId of [...this.#calls.open()]) {
      const chunk = unsettledResult(toolCallId)
      this.#calls.track(chunk, this.#steps)
      events.push(derived(chunk))
    }
    for (const event of events) this.#step.add(event)
    return events
  }

  /** Metadata of the drafts that a commit ends, or of all drafts. */
  #committedMetadata(commit?: LaneEntry): UIMessageChunk[] {
    return this.#metadata.end(commit).flatMap(({ data }) => data)
  }

  #finish(chunk: Extract<Chunk, { type: 'finish' }>): UIMessageChunk {
    this.#isFinished = true
    const event = chunkToEvent(chunk) as UIMessageChunk & { type: 'finish' }
    return this.#withSupplement({ ...event, finishReason: this.#reason(event.finishReason) }, chunk)
  }

  /**
   * The finish reason. Clients can be set to send automatically once all calls of the last step have results. If there is nothing to continue,
   * `interrupted` keeps them from sending again and again.
   */
  #reason<R extends string | undefined>(reason: R): R | 'interrupted' {
    return this.#isIdle || this.#calls.areComplete(this.#steps) ? 'interrupted' : reason
  }

  #event(chunk: Chunk, origin: Origin | undefined): readonly UIMessageChunk[] {
    const isKnown = this.#calls.track(chunk, this.#steps)
    const event = isKnown ? chunkToEvent(chunk) : undefined
    if (event === undefined) return this.#extension(chunk, origin)
    const events = this.#toolEvents(event, chunk) ?? [this.#withSupplement(event, chunk)]
    const first = this.#openText.track(event, laneOf(origin).lane)
    if (first) events.unshift(derived(first))
    this.#record(events, chunk, origin)
    return events
  }

  /** Events of a tool chunk that clients need in another form. */
  #toolEvents(event: UIMessageChunk, chunk: Chunk): UIMessageChunk[] | undefined {
    switch (event.type) {
      case 'tool-input-available': {
        const { name, isDynamic, isClient, isStreamed } = this.#calls.get(event.toolCallId) ?? {}
        // The part type depends on `dynamic`, so it stays the same for a call.
        const { dynamic, ...rest } = event
        const named = { ...rest, toolName: name || rest.toolName, ...(isDynamic && { dynamic: true }) }
        if (!isClient || !this.#answered.has(event.toolCallId)) return [this.#withSupplement(named, chunk)]
        return isStreamed ? [extension({ chunk })] : [...streamedInput(named), extension({ chunk })]
      }
      case 'tool-input-error': {
        const { name, isDynamic } = this.#calls.get(event.toolCallId) ?? {}
        const named = { ...event, toolName: event.toolName || name || '', ...(isDynamic && { dynamic: true }) }
        return [this.#withSupplement(named, chunk)]
      }
      case 'tool-output-denied': {
        const approvalId = this.#calls.openApprovalOf(event.toolCallId)
        if (approvalId === undefined) return undefined
        return [
          derived({ type: 'tool-approval-response', approvalId, approved: false }),
          this.#withSupplement(event, chunk),
        ]
      }
      default:
        return undefined
    }
  }

  /** Adds the supplement to an event. */
  #withSupplement(event: UIMessageChunk, chunk: Chunk): UIMessageChunk {
    const supplement = supplementOf(chunk, eventToChunk(event, this.#calls))
    return supplement === undefined ? event : { ...event, millrace: supplement }
  }

  /** Encodes a chunk that the AI SDK has no type for. */
  #extension(chunk: Chunk, origin: Origin | undefined): readonly UIMessageChunk[] {
    const decoded = isOfSubAgent(origin) ? { chunk, origin } : { chunk }
    const name = partIdOf(decoded as DecodedChunk, this.#keptParts)
    const events = [extension(decoded as DecodedChunk, name)]
    if (name === undefined) return events
    this.#keptParts.set(name, closingChunkOf(chunk))
    this.#record(events, chunk, isOfSubAgent(origin) ? undefined : origin, isOfSubAgent(origin))
    return events
  }

  #record(events: readonly UIMessageChunk[], chunk: Chunk, origin: Origin | undefined, isCommitted = false): void {
    const isDraft = !isCommitted && origin?.guest === undefined && isDraftChunk(chunk)
    for (const event of events) {
      if (!('transient' in event && event.transient)) this.#step.add(event, isDraft ? laneOf(origin) : undefined)
    }
  }

  /** Discards a draft: resets the step and sends the rest of it again. */
  #discard(discard: LaneEntry): UIMessageChunk[] {
    this.#metadata.end(discard)
    const discarded = this.#step.discard(discard)
    this.#isStepReset = this.#isStepOpen && this.#step.isEmpty
    if (discarded === undefined) return []
    for (const event of discarded.events) if (OPENS_CALL.has(event.type)) this.#calls.remove(callOf(event))
    this.#openText.close()
    const events: UIMessageChunk[] = [derived({ type: 'reset-step' })]
    for (const event of discarded.resent) {
      this.#openText.track(event, '')
      const call = event.type === 'tool-input-available' ? this.#calls.get(event.toolCallId) : undefined
      // A client that has sent a result is not asked for it again.
      if (event.type !== 'tool-input-available' || !call?.isClient || call.state !== 'settled')
        events.push(derived(event))
      else if (!call.isStreamed) events.push(...streamedInput(event))
    }
    return events
  }
}

const OPENS_CALL: ReadonlySet<string> = new Set(['tool-input-start', 'tool-input-available', 'tool-input-error'])

const callOf = (event: UIMessageChunk): string => (event as { toolCallId: string }).toolCallId

/** Whether a delta has only its text. */
function isBare(chunk: Chunk): boolean {
  for (const key in chunk) if (key !== 'type' && key !== 'id' && key !== 'delta') return false
  return true
}

/** Marks an event that represents no chunk. */
const derived = (event: UIMessageChunk): UIMessageChunk => ({ ...event, millrace: null satisfies Supplement })

/** The input of a call as a stream. Clients do not run a call whose input never becomes available. */
function streamedInput({ input, ...call }: UIMessageChunk & { type: 'tool-input-available' }): UIMessageChunk[] {
  const { toolCallId } = call
  return [
    derived({ ...call, type: 'tool-input-start' }),
    derived({ type: 'tool-input-delta', toolCallId, inputTextDelta: JSON.stringify(input) }),
  ]
}

/** The result of a call that was still open when its run ended. */
const unsettledResult = (toolCallId: string) =>
  ({ type: 'tool-output-error', toolCallId, errorText: UNSETTLED_RESULT }) as const

/** The chunk that closes a request which was still open when its run ended. */
function closingChunkOf(chunk: Chunk): Chunk | undefined {
  switch (chunk.type) {
    case 'interrupt':
      return { type: 'interrupt-response', interruptId: chunk.interruptId, response: null }
    case 'tool-approval-request':
    case 'tool-input-available':
      return unsettledResult(chunk.toolCallId)
    default:
      return undefined
  }
}

/** Whether an event answers an approval or an interrupt, or has the result of a call. */
const isAnswer = ({ type }: UIMessageChunk): boolean =>
  type === 'tool-approval-response' || type.startsWith('tool-output-') || type === EXTENSION
