import { type Entry, isGuest, type Usage, type WriterOrigin } from '@millrace/protocol'
import { programName } from '../run-name.ts'
import { Rate } from './rate.ts'
import { SizeHistogram } from './size-histogram.ts'
import { WordCount } from './word-count.ts'

/** Token usage of a model. */
export interface ModelUsage {
  readonly input: number
  readonly output: number
  /** Tokens of discarded attempts, included in the totals. */
  readonly discardedInput: number
  readonly discardedOutput: number
}

/** Usage by model name, which may be empty. */
export type UsageByModel = Map<string, ModelUsage>

/** A step. Times are ms of working time since the start of the run. */
export interface StepTimes {
  /** The sequence of its `step-start`. */
  readonly at: number
  /** The workflow node or the agent. */
  readonly agent: string
  readonly step: number
  readonly attempt: number
  readonly startMs: number
  /** First delta. */
  firstMs?: number
  /** End of the model call. */
  modelEndMs?: number
  endMs?: number
  /** Time during which at least one tool ran. */
  toolMs: number
  state: 'open' | 'done' | 'discarded'
}

/** The running tool calls of a step. */
interface RunningTools {
  calls: number
  sinceMs: number
}

/** Measures a run from its entries. */
export class RunMeter {
  readonly runId: string
  /** Number of the run in the log, from 1. */
  readonly number: number
  program: string
  /** Sequence of its first entry. */
  readonly at: number
  readonly startedAt: number
  readonly rate = new Rate()
  readonly sizes = new SizeHistogram()
  readonly steps: StepTimes[] = []
  readonly usage: UsageByModel = new Map()
  status = 'running'
  /** Time from the request, else the start, to the first delta. */
  firstMs: number | undefined
  /** Working time in ms, without pauses. */
  workedMs = 0
  readonly #requestedAt: number
  readonly #total: UsageByModel
  readonly #words = new WordCount()
  /** The current step of each agent. */
  readonly #currentSteps = new Map<string, StepTimes>()
  readonly #callers = new Map<string, StepTimes>()
  readonly #tools = new Map<StepTimes, RunningTools>()
  readonly #models = new Map<string, string>()
  #waitedMs = 0
  #pausedAt: number | undefined

  /** Adds its usage to `total` too. */
  constructor(
    runId: string,
    number: number,
    { origin, sequence, timestamp }: Entry,
    total: UsageByModel,
    requestedAt = timestamp,
  ) {
    this.runId = runId
    this.number = number
    this.#total = total
    // Without `run-started` (a trimmed log) the run is named after its agent.
    this.program = isGuest(origin) ? 'run' : origin.agentType
    this.at = sequence
    this.startedAt = timestamp
    this.#requestedAt = requestedAt
  }

  take({ chunk, origin, sequence, timestamp }: Entry): void {
    if (chunk.type === 'run-resumed' && this.#pausedAt !== undefined) {
      this.#waitedMs += timestamp - this.#pausedAt
      this.#pausedAt = undefined
    }
    const ms = (this.#pausedAt ?? timestamp) - this.startedAt - this.#waitedMs
    this.workedMs = ms
    // Outputs of client tools come from guests.
    this.#call(chunk, origin, ms)
    if (isGuest(origin)) return
    const step = this.#currentSteps.get(origin.agentId)
    switch (chunk.type) {
      case 'run-started':
        this.program = programName(chunk.program)
        break
      case 'text-delta':
      case 'reasoning-delta':
        this.#addDelta(step, `${chunk.type} ${chunk.id}`, chunk.delta, ms, timestamp)
        break
      case 'tool-input-delta':
        this.#addDelta(step, chunk.toolCallId, chunk.delta, ms, timestamp)
        break
      case 'structured-data':
        if (chunk.kind === 'text-delta')
          this.#addDelta(step, `${chunk.streamId} ${chunk.path}`, chunk.delta, ms, timestamp)
        break
      case 'step-start':
        this.#end(step, ms)
        this.#begin(origin, sequence, ms, chunk.attempt)
        break
      case 'step-finish':
        if (step) {
          step.modelEndMs = ms
          this.rate.addTokens(`${step.at}`, chunk.usage?.outputTokens)
        }
        this.#models.set(origin.agentId, origin.model ?? '')
        this.#addUsage(origin.model ?? '', chunk.usage, 'used')
        break
      case 'checkpoint-created':
        if (chunk.closesStep) this.#end(step, ms)
        break
      case 'step-discarded':
        this.#end(step, ms, 'discarded')
        this.#addUsage(this.#models.get(origin.agentId) ?? '', chunk.usage, 'discarded')
        break
      case 'run-paused':
        this.status = 'paused'
        this.#pausedAt ??= timestamp
        break
      case 'run-resumed':
        this.status = 'running'
        break
      case 'run-finished':
        for (const one of this.#currentSteps.values()) this.#end(one, ms)
        this.status = chunk.status
        break
      default:
    }
  }

  #begin({ agentId, agentType, node, step }: WriterOrigin, at: number, startMs: number, attempt = 1): void {
    const began: StepTimes = { at, agent: node ?? agentType, step, attempt, startMs, toolMs: 0, state: 'open' }
    this.steps.push(began)
    this.#currentSteps.set(agentId, began)
  }

  #addDelta(step: StepTimes | undefined, text: string, delta: string, ms: number, timestamp: number): void {
    this.firstMs ??= timestamp - this.#requestedAt
    if (step) step.firstMs ??= ms
    this.sizes.add(delta.length)
    // Another attempt reuses the same part ids.
    const words = this.#words.add(`${step?.at} ${text}`, delta)
    this.rate.add(`${step?.at}`, ms, words, delta.length)
  }

  #end(step: StepTimes | undefined, ms: number, state: 'done' | 'discarded' = 'done'): void {
    if (step?.state !== 'open') return
    step.state = state
    step.endMs = ms
    const work = this.#tools.get(step)
    if (work && work.calls > 0) step.toolMs += ms - work.sinceMs
    this.#tools.delete(step)
    this.rate.addTokens(`${step.at}`, undefined)
  }

  #call(chunk: Entry['chunk'], origin: Entry['origin'], ms: number): void {
    switch (chunk.type) {
      case 'tool-input-available': {
        const step = isGuest(origin) ? undefined : this.#currentSteps.get(origin.agentId)
        if (step === undefined || this.#callers.has(chunk.toolCallId)) return
        this.#callers.set(chunk.toolCallId, step)
        const work = this.#tools.get(step) ?? { calls: 0, sinceMs: ms }
        if (work.calls++ === 0) work.sinceMs = ms
        this.#tools.set(step, work)
        return
      }
      case 'tool-output-available':
        if (chunk.preliminary) return
        break
      case 'tool-output-error':
      case 'tool-output-denied':
        break
      default:
        return
    }
    const step = this.#callers.get(chunk.toolCallId)
    this.#callers.delete(chunk.toolCallId)
    const work = step && this.#tools.get(step)
    if (work && --work.calls === 0) step.toolMs += ms - work.sinceMs
  }

  #addUsage(model: string, usage: Usage | undefined, as: 'used' | 'discarded'): void {
    if (usage === undefined) return
    for (const totals of [this.usage, this.#total]) totals.set(model, withUsage(totals.get(model), usage, as))
  }
}

function withUsage(
  total = NO_USAGE,
  { inputTokens = 0, outputTokens = 0 }: Usage,
  as: 'used' | 'discarded',
): ModelUsage {
  const { input, output, discardedInput, discardedOutput } = total
  if (as === 'used') return { ...total, input: input + inputTokens, output: output + outputTokens }
  return { ...total, discardedInput: discardedInput + inputTokens, discardedOutput: discardedOutput + outputTokens }
}

const NO_USAGE: ModelUsage = { input: 0, output: 0, discardedInput: 0, discardedOutput: 0 }
