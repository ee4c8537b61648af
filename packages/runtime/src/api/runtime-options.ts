import type { LogStore, StreamManagerOptions, Timers } from '@millrace/log'
import type { Json } from '@millrace/protocol'
import type { Agent } from '../define/agent.ts'
import { type Program, programsOf } from '../define/program.ts'
import type { Workflow } from '../define/workflow.ts'
import type { Engine, InProcessOptions } from '../drive/engine.ts'
import type { Observer } from '../drive/notices.ts'
import { checkObject, describeType } from '../error/check-object.ts'
import { ValidationError } from '../error/error.ts'
import type { Backoff } from '../model/backoff.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { TelemetryOptions } from '../telemetry/telemetry-options.ts'

export interface RuntimeOptions {
  /** Where the logs are. */
  readonly store: LogStore
  readonly agents?: readonly Agent[]
  readonly workflows?: readonly Workflow[]
  /** Who drives: an engine of one's own, how the one in this process is to work, or nobody here, because workers do. */
  readonly engine?: Engine | InProcessOptions | false
  readonly log?: Omit<StreamManagerOptions, 'store' | 'timers'>
  /** Adds what must not be kept, such as clients and secrets, each time a run is taken up. */
  readonly resolveContext?: (
    context: Json | undefined,
    run: { readonly sessionId: string; readonly runId: string },
  ) => unknown
  readonly backoff?: Partial<Backoff>
  /** How often a run may be taken over without getting any further before it ends as failed. */
  readonly maxTakeovers?: number
  /** After how long without anybody driving it a session in which something is due counts as blocked, in milliseconds. */
  readonly blockedAfterMs?: number
  readonly logger?: Logger
  /** To whom OpenTelemetry tells what runs do, and how much of it; to whoever is registered in the process, if nothing is said. */
  readonly telemetry?: TelemetryOptions
  /** Who is told of the pauses and ends of runs, at least once each: of those that are driven here, and of what others left untold. */
  readonly observers?: readonly Observer[]
  readonly timers?: Timers
}

/** How often a run may be taken over without getting any further, if nothing is said. */
export const MAX_TAKEOVERS = 5
/** When a session counts as blocked, if nothing is said. */
export const BLOCKED_AFTER_MS = 10_000

/** The programs of a runtime, by all names that runs have of them; throws where its options could not work. */
export function checkOptions(options: RuntimeOptions): ReadonlyMap<string, Program> {
  const {
    store,
    agents = [],
    workflows = [],
    engine,
    maxTakeovers = MAX_TAKEOVERS,
    blockedAfterMs = BLOCKED_AFTER_MS,
  } = options
  if (typeof store?.append !== 'function') {
    throw new ValidationError('store: expected a store of logs, such as openStore gives: await it first')
  }
  checkWhole('maxTakeovers', maxTakeovers)
  checkWhole('blockedAfterMs', blockedAfterMs)
  if (engine && !('start' in engine)) {
    const { pollMs = 1, concurrency = 1, graceMs = 0 } = engine
    checkWhole('engine.pollMs', pollMs, 1)
    checkWhole('engine.concurrency', concurrency, 1)
    checkWhole('engine.graceMs', graceMs)
  }
  checkTelemetry(options.telemetry)
  checkObservers(options.observers)
  checkPrograms('agent', agents)
  checkPrograms('workflow', workflows)
  return programsOf([...agents, ...workflows])
}

function checkPrograms(kind: Program['kind'], programs: readonly Program[]): void {
  const names = new Set<string>()
  for (const program of programs) {
    if (program?.kind !== kind) throw new ValidationError(`${kind}s: expected the result of ${kind}()`)
    if (names.has(program.name)) throw new ValidationError(`${kind}s: duplicate name ${program.name}`)
    names.add(program.name)
  }
}

function checkTelemetry(telemetry: TelemetryOptions | undefined): void {
  if (telemetry === undefined) return
  checkObject('telemetry', telemetry)
  const { tracerProvider, meterProvider, content, attributes } = telemetry
  const must = (what: string, expected: string, isFine: boolean, found: unknown) => {
    if (!isFine) throw new ValidationError(`telemetry.${what}: expected ${expected}, found ${describeType(found)}`)
  }
  const isProvider = (given: object | undefined, verb: string) => given === undefined || verb in Object(given)
  must('tracerProvider', 'one of OpenTelemetry', isProvider(tracerProvider, 'getTracer'), tracerProvider)
  must('meterProvider', 'one of OpenTelemetry', isProvider(meterProvider, 'getMeter'), meterProvider)
  must('content', 'true or false', content === undefined || typeof content === 'boolean', content)
  must('attributes', 'a function', attributes === undefined || typeof attributes === 'function', attributes)
}

function checkObservers(observers: readonly Observer[] = []): void {
  if (!Array.isArray(observers))
    throw new ValidationError(`observers: expected an array, found ${describeType(observers)}`)
  for (const observer of observers) {
    checkObject('observers', observer)
    for (const name of ['onPaused', 'onFinished'] as const) {
      const given: unknown = observer[name]
      if (given === undefined || typeof given === 'function') continue
      throw new ValidationError(`observers: ${name}: expected a function, found ${describeType(given)}`)
    }
  }
}

function checkWhole(what: string, value: number, least = 0): void {
  if (Number.isSafeInteger(value) && value >= least) return
  throw new ValidationError(`${what}: expected a whole number of at least ${least}, found ${value}`)
}
