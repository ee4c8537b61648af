import type { LogStore, StreamManagerOptions, Timers } from '@millrace/log'
import type { Json } from '@millrace/protocol'
import type { Backoff } from '@millrace/protocol/retry'
import type { Agent } from '../define/agent.ts'
import { type Program, programsOf } from '../define/program.ts'
import type { Workflow } from '../define/workflow.ts'
import type { Engine, InProcessOptions } from '../drive/engine.ts'
import type { Observer } from '../drive/notices.ts'
import { checkRetention, type RetentionRule } from '../drive/retention-sweep.ts'
import { checkObject, describeType } from '../error/check-object.ts'
import { ValidationError } from '../error/error.ts'
import { type ModelLimits, modelLimitsOf } from '../model/model-limits.ts'
import { DEFAULT_ANSWER_CHECK_MS } from '../schema/schema-checker.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { TelemetryOptions } from '../telemetry/telemetry-options.ts'

/** Options of `createRuntime`. */
export interface RuntimeOptions {
  /** The store of the logs, such as `await openStore(url)`. */
  readonly store: LogStore
  /** Agents that this process can start and drive. @default [] */
  readonly agents?: readonly Agent[]
  /** Workflows that this process can start and drive. @default [] */
  readonly workflows?: readonly Workflow[]
  /**
   * Drives runs: a custom engine, options of the engine in this process, or `false` if only workers drive. @default {}
   */
  readonly engine?: Engine | InProcessOptions | false
  /** Options of the log, such as `leaseMs`. @default the defaults of `StreamManagerOptions` */
  readonly log?: Omit<StreamManagerOptions, 'store' | 'timers'>
  /**
   * Returns the context that the code of a run gets: the stored one, with values that must not be stored, such as
   * clients and secrets. Called whenever a process starts to drive the run.
   * @default the stored context
   */
  readonly resolveContext?: (
    context: Json | undefined,
    run: { readonly sessionId: string; readonly runId: string },
  ) => unknown
  /** Delays between retries of model calls and nodes, in ms. @default { firstMs: 1_000, longestMs: 60_000 } */
  readonly backoff?: Partial<Backoff>
  /**
   * Limits of one model answer: how long the provider may be silent, and how much it may send. Agents and `useReason` may
   * set their own.
   * @default the defaults of `ModelLimits`
   */
  readonly modelLimits?: Partial<ModelLimits>
  /** Maximum number of takeovers of a run without progress before it fails. @default 5 */
  readonly maxTakeovers?: number
  /** Time without a driver after which a session with due work is reported as blocked, in ms. @default 10_000 */
  readonly blockedAfterMs?: number
  /**
   * CPU time of checks of answers with forms per principal, in ms per 10 s. Above it, answers are rejected with
   * `checks_limit`. @default 2_000
   */
  readonly answerCheckMs?: number
  /** Receives warnings and the causes of errors. @default consoleLogger */
  readonly logger?: Logger
  /** OpenTelemetry providers and content. @default the providers that are registered globally */
  readonly telemetry?: TelemetryOptions
  /**
   * Notified of pauses and ends of runs, at least once each, including notices that other processes did not deliver.
   * @default []
   */
  readonly observers?: readonly Observer[]
  /**
   * Removes idle sessions and trims old entries, in the processes that drive. Never touches an unfinished run, a waiting
   * request or a session that a process drives.
   * @default nothing is removed
   */
  readonly retention?: RetentionRule
  /** Clock and timers, for tests. @default systemTimers */
  readonly timers?: Timers
}

/** Default of `maxTakeovers`. */
export const DEFAULT_MAX_TAKEOVERS = 5
/** Default of `blockedAfterMs`. */
export const DEFAULT_BLOCKED_AFTER_MS = 10_000

/** Validates the options and returns the programs by name. @throws {ValidationError} if an option is invalid. */
export function checkOptions(options: RuntimeOptions): ReadonlyMap<string, Program> {
  const {
    store,
    agents = [],
    workflows = [],
    engine,
    maxTakeovers = DEFAULT_MAX_TAKEOVERS,
    blockedAfterMs = DEFAULT_BLOCKED_AFTER_MS,
    answerCheckMs = DEFAULT_ANSWER_CHECK_MS,
  } = options
  if (typeof store?.append !== 'function') {
    throw new ValidationError('store: expected a store, such as the result of await openStore(url)')
  }
  modelLimitsOf('modelLimits', options.modelLimits)
  checkInteger('maxTakeovers', maxTakeovers)
  checkInteger('blockedAfterMs', blockedAfterMs)
  checkRetention(options.retention, store)
  checkInteger('answerCheckMs', answerCheckMs)
  if (engine && !('start' in engine)) {
    const { pollMs = 1, concurrency = 1, graceMs = 0 } = engine
    checkInteger('engine.pollMs', pollMs, 1)
    checkInteger('engine.concurrency', concurrency, 1)
    checkInteger('engine.graceMs', graceMs)
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
    if (program?.kind !== kind)
      throw new ValidationError(`${kind}s: expected results of ${kind}(), found ${describeType(program)}`)
    if (names.has(program.name))
      throw new ValidationError(`${kind}s: expected different names, found ${program.name} twice: rename one ${kind}`)
    names.add(program.name)
  }
}

function checkTelemetry(telemetry: TelemetryOptions | undefined): void {
  if (telemetry === undefined) return
  checkObject('telemetry', telemetry)
  const { tracerProvider, meterProvider, content, attributes } = telemetry
  const check = (option: string, expected: string, isValid: boolean, found: unknown) => {
    if (!isValid) throw new ValidationError(`telemetry.${option}: expected ${expected}, found ${describeType(found)}`)
  }
  const isProvider = (provider: object | undefined, method: string) =>
    provider === undefined || method in Object(provider)
  check('tracerProvider', 'an OpenTelemetry provider', isProvider(tracerProvider, 'getTracer'), tracerProvider)
  check('meterProvider', 'an OpenTelemetry provider', isProvider(meterProvider, 'getMeter'), meterProvider)
  check('content', 'true or false', content === undefined || typeof content === 'boolean', content)
  check('attributes', 'a function', attributes === undefined || typeof attributes === 'function', attributes)
}

function checkObservers(observers: readonly Observer[] = []): void {
  if (!Array.isArray(observers))
    throw new ValidationError(`observers: expected an array, found ${describeType(observers)}`)
  for (const observer of observers) {
    checkObject('observers', observer)
    for (const name of ['onPaused', 'onFinished'] as const) {
      const callback: unknown = observer[name]
      if (callback === undefined || typeof callback === 'function') continue
      throw new ValidationError(`observers: ${name}: expected a function, found ${describeType(callback)}`)
    }
  }
}

function checkInteger(option: string, value: number, min = 0): void {
  if (Number.isSafeInteger(value) && value >= min) return
  throw new ValidationError(`${option}: expected a whole number of at least ${min}, found ${value}`)
}
