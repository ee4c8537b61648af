import {
  type Chunk,
  DraftTracker,
  isWord,
  type LaneEntry,
  type LaneId,
  messageIdOf,
  type Origin,
} from '@millrace/protocol'
import type { DecodedChunk, Encoder, EndStatus } from '../dialect/dialect.ts'
import { laneOf } from '../dialect/lane.ts'
import { supplementOf, withGuestOrigin } from '../dialect/supplement.ts'
import { chunkOf, eventOf, type UIMessageChunk } from './chunk.ts'
import { derived, isAnswer, streamedInput, unanswered, unansweredBy } from './derived.ts'
import { extension, isChild, nameOf } from './extension.ts'
import { OpenTextParts } from './open-parts.ts'
import { Step } from './step.ts'
import { AiSdkToolCalls } from './tool-calls.ts'

export interface AiSdkEncoderOptions {
  /** The run, where it is known before anything of it is said. */
  readonly runId?: string
  /** Calls of client tools that have their result: a page is not to be asked for it again. */
  readonly answered?: ReadonlySet<string>
}

const NONE: readonly UIMessageChunk[] = []

/** Says a run as a UI message stream. */
export class AiSdkEncoder implements Encoder<UIMessageChunk> {
  readonly #answered: ReadonlySet<string>
  #runId: string | undefined
  #isOpen = false
  #isOver = false
  #isEnded = false
  #isFinished = false
  /** Whether the run has waited in this step. */
  #hasPaused = false
  #isStepOpen = false
  /** Whether a discard left the step empty: its next attempt goes on in it. */
  #isStepAgain = false
  /** How many steps were begun, as clients see it. */
  #steps = 0
  #error = 'The run failed.'
  readonly #blocks = new OpenTextParts()
  readonly #calls = new AiSdkToolCalls()
  readonly #step = new Step()
  /** Under which names something is kept; and what says of those that wait for an answer that there will be none. */
  readonly #names = new Map<string, Chunk | undefined>()
  /** The metadata that each lane wrote since its last commit. Sent once committed, since clients cannot take metadata back. */
  readonly #metadata = new DraftTracker<UIMessageChunk[]>(() => [])
  /** Whether nothing was said since somebody went on. */
  #isIdle = false

  constructor({ runId, answered = new Set() }: AiSdkEncoderOptions = {}) {
    this.#runId = runId
    this.#answered = answered
  }

  encode({ chunk, origin }: DecodedChunk): readonly UIMessageChunk[] {
    if (this.#isEnded) return NONE
    if (origin && origin.guest === undefined) this.#runId ??= origin.runId
    this.#isIdle = false
    // Most of what is said.
    if ((chunk.type === 'text-delta' || chunk.type === 'reasoning-delta') && this.#isHeard(chunk, origin)) {
      this.#step.add(chunk, origin?.guest === undefined ? laneOf(origin) : undefined)
      return [chunk]
    }
    return this.#said(
      isChild(origin) ? this.#extension(chunk, origin) : withGuestOrigin(this.#encode(chunk, origin), origin),
    )
  }

  resume(): readonly UIMessageChunk[] {
    this.#isOver = false
    this.#isFinished = false
    this.#isOpen = true
    this.#isIdle = true
    // Whoever answered may have been too late, and knows of the others' answers nothing.
    const answers = this.#hasPaused ? this.#step.events.filter(isAnswer) : NONE
    return [derived({ type: 'start', ...this.#named }), ...answers.map(derived)]
  }

  end(status: EndStatus): readonly UIMessageChunk[] {
    return this.#said(this.#end(status))
  }

  #end(status: EndStatus): readonly UIMessageChunk[] {
    if (this.#isOver) return NONE
    this.#isOver = true
    this.#isEnded = status !== 'paused'
    const events = status === 'paused' ? this.#closed() : [...this.#settled(), ...this.#closed()]
    if (status === 'paused') events.push(derived({ type: 'finish', finishReason: this.#reason('tool-calls') }))
    else if (status === 'failed') events.push(derived({ type: 'error', errorText: this.#error }))
    else if (!this.#isFinished) {
      const isDone = status === 'completed'
      if (!isDone) events.push(derived({ type: 'abort' }))
      events.push(derived({ type: 'finish', finishReason: isDone ? this.#reason('stop') : 'interrupted' }))
    }
    return events
  }

  /** Whether clients take a delta as it is. */
  #isHeard(chunk: Extract<Chunk, { type: 'text-delta' | 'reasoning-delta' }>, origin: Origin | undefined): boolean {
    return this.#blocks.isOpen(chunk.type, chunk.id) && !isChild(origin) && isBare(chunk)
  }

  get #named(): { messageId?: string } {
    return this.#runId === undefined ? {} : { messageId: messageIdOf(this.#runId, this.#runId) }
  }

  /** Some events, after the one with which a message begins. */
  #said(events: readonly UIMessageChunk[]): readonly UIMessageChunk[] {
    if (this.#isOpen || events.length === 0) return events
    this.#isOpen = true
    return events[0]?.type === 'start' ? events : [derived({ type: 'start', ...this.#named }), ...events]
  }

  #encode(chunk: Chunk, origin: Origin | undefined): readonly UIMessageChunk[] {
    const lane = laneOf(origin)
    switch (chunk.type) {
      case 'start':
        return [this.#with({ ...(eventOf(chunk) as UIMessageChunk & { type: 'start' }), ...this.#named }, chunk)]
      case 'step-start':
        return this.#stepStart(chunk, lane)
      case 'step-discarded':
        return [extension({ chunk }), ...this.#discard({ chunk, origin: lane })]
      case 'checkpoint-created':
        this.#step.seal({ chunk, origin: lane })
        return [extension({ chunk }), ...this.#kept({ chunk, origin: lane })]
      case 'message-metadata': {
        this.#metadata.open(lane).kept.push(derived(eventOf(chunk) as UIMessageChunk))
        return [extension({ chunk })]
      }
      case 'error':
        this.#error = chunk.message
        return [extension({ chunk })]
      case 'finish':
        return [...this.#settled(), ...this.#closed(), this.#finish(chunk)]
      case 'abort': {
        this.#isFinished = true
        const finish = derived({ type: 'finish', finishReason: 'interrupted' })
        return [...this.#settled(), ...this.#closed(), this.#with(eventOf(chunk) as UIMessageChunk, chunk), finish]
      }
      case 'run-paused':
        this.#hasPaused = true
        return [extension({ chunk }), ...this.#closed()]
      case 'run-finished':
        return [extension({ chunk }), ...this.#end(chunk.status)]
      default:
        return this.#event(chunk, origin)
    }
  }

  #stepStart(chunk: Chunk, lane: LaneId): readonly UIMessageChunk[] {
    const events = this.#blocks.close(lane.lane).map(derived)
    // A mark would part what others may still take back from what they say next: they cannot take back what lies before it.
    if (this.#isStepAgain || this.#step.isHeldFrom(lane)) {
      this.#isStepAgain = false
      return [...events, extension({ chunk })]
    }
    if (this.#isStepOpen) events.push(derived({ type: 'finish-step' }))
    this.#isStepOpen = true
    this.#hasPaused = false
    this.#steps++
    this.#step.next()
    return [...events, this.#with({ type: 'start-step' }, chunk)]
  }

  /** What says that all that is open is over, but for calls. */
  #closed(): UIMessageChunk[] {
    const events = this.#kept()
    events.push(...this.#blocks.close().map(derived))
    if (this.#isStepOpen) events.push(derived({ type: 'finish-step' }))
    this.#isStepOpen = false
    return events
  }

  /** The outcomes of calls and questions that have none when their run ends: as the view has it. */
  #settled(): UIMessageChunk[] {
    const events: UIMessageChunk[] = []
    for (const [name, chunk] of this.#names) {
      if (chunk) events.push(derived(extension({ chunk }, name)))
      this.#names.set(name, undefined)
    }
    for (const toolCallId of [...this.#calls.open()]) {
      const chunk = unanswered(toolCallId)
      this.#calls.take(chunk, this.#steps)
      events.push(derived(chunk))
    }
    for (const event of events) this.#step.add(event)
    return events
  }

  /** The metadata of the drafts that a commit seals, or of all. */
  #kept(commit?: LaneEntry): UIMessageChunk[] {
    return this.#metadata.end(commit).flatMap(({ kept }) => kept)
  }

  #finish(chunk: Extract<Chunk, { type: 'finish' }>): UIMessageChunk {
    this.#isFinished = true
    const event = eventOf(chunk) as UIMessageChunk & { type: 'finish' }
    return this.#with({ ...event, finishReason: this.#reason(event.finishReason) }, chunk)
  }

  /**
   * Why nothing follows. Pages that send by themselves once all calls of the last step have their results, or answers, would send again and again, where there is nothing
   * to go on with: this one reason keeps them from it.
   */
  #reason<R extends string | undefined>(reason: R): R | 'interrupted' {
    return this.#isIdle || this.#calls.areComplete(this.#steps) ? 'interrupted' : reason
  }

  #event(chunk: Chunk, origin: Origin | undefined): readonly UIMessageChunk[] {
    const isKnown = this.#calls.take(chunk, this.#steps)
    const event = isKnown ? eventOf(chunk) : undefined
    if (event === undefined) return this.#extension(chunk, origin)
    const events = this.#aboutCall(event, chunk) ?? [this.#with(event, chunk)]
    const first = this.#blocks.take(event, laneOf(origin).lane)
    if (first) events.unshift(derived(first))
    this.#keep(events, chunk, origin)
    return events
  }

  /** What a chunk about a call says that clients need to have said in another way. */
  #aboutCall(event: UIMessageChunk, chunk: Chunk): UIMessageChunk[] | undefined {
    switch (event.type) {
      case 'tool-input-available': {
        const { name, isDynamic, isClient, isStreamed } = this.#calls.get(event.toolCallId) ?? {}
        // Whether it is dynamic decides for clients which part it is: it stays what it was.
        const { dynamic, ...rest } = event
        const said = { ...rest, toolName: name || rest.toolName, ...(isDynamic && { dynamic: true }) }
        if (!isClient || !this.#answered.has(event.toolCallId)) return [this.#with(said, chunk)]
        return isStreamed ? [extension({ chunk })] : [...streamedInput(said), extension({ chunk })]
      }
      case 'tool-input-error': {
        const { name, isDynamic } = this.#calls.get(event.toolCallId) ?? {}
        const said = { ...event, toolName: event.toolName || name || '', ...(isDynamic && { dynamic: true }) }
        return [this.#with(said, chunk)]
      }
      case 'tool-output-denied': {
        const approvalId = this.#calls.unansweredOf(event.toolCallId)
        if (approvalId === undefined) return undefined
        return [derived({ type: 'tool-approval-response', approvalId, approved: false }), this.#with(event, chunk)]
      }
      default:
        return undefined
    }
  }

  /** An event, with what it does not say of a chunk. */
  #with(event: UIMessageChunk, chunk: Chunk): UIMessageChunk {
    const aside = supplementOf(chunk, chunkOf(event, this.#calls))
    return aside === undefined ? event : { ...event, millrace: aside }
  }

  /** A chunk that the AI SDK has nothing for. */
  #extension(chunk: Chunk, origin: Origin | undefined): readonly UIMessageChunk[] {
    const told = isChild(origin) ? { chunk, origin } : { chunk }
    const name = nameOf(told as DecodedChunk, this.#names)
    const events = [extension(told as DecodedChunk, name)]
    if (name === undefined) return events
    this.#names.set(name, unansweredBy(chunk))
    this.#keep(events, chunk, isChild(origin) ? undefined : origin, isChild(origin))
    return events
  }

  #keep(events: readonly UIMessageChunk[], chunk: Chunk, origin: Origin | undefined, isSealed = false): void {
    const isDraft = !isSealed && origin?.guest === undefined && isWord(chunk)
    for (const event of events) {
      if (!('transient' in event && event.transient)) this.#step.add(event, isDraft ? laneOf(origin) : undefined)
    }
  }

  /** Takes back a lane's draft: resets the step, and sends again what is left of it. */
  #discard(discard: LaneEntry): UIMessageChunk[] {
    this.#metadata.end(discard)
    const discarded = this.#step.discard(discard)
    this.#isStepAgain = this.#isStepOpen && this.#step.isEmpty
    if (discarded === undefined) return []
    for (const event of discarded.gone) if (OPENS_CALL.has(event.type)) this.#calls.forget(callOf(event))
    this.#blocks.close()
    const events: UIMessageChunk[] = [derived({ type: 'reset-step' })]
    for (const event of discarded.again) {
      this.#blocks.take(event, '')
      const call = event.type === 'tool-input-available' ? this.#calls.get(event.toolCallId) : undefined
      // Who has given a result is not asked for it again.
      if (event.type !== 'tool-input-available' || !call?.isClient || call.state !== 'settled')
        events.push(derived(event))
      else if (!call.isStreamed) events.push(...streamedInput(event))
    }
    return events
  }
}

const OPENS_CALL: ReadonlySet<string> = new Set(['tool-input-start', 'tool-input-available', 'tool-input-error'])

const callOf = (event: UIMessageChunk): string => (event as { toolCallId: string }).toolCallId

/** Whether a delta says no more than its words. */
function isBare(chunk: Chunk): boolean {
  for (const key in chunk) if (key !== 'type' && key !== 'id' && key !== 'delta') return false
  return true
}
