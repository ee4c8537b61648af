import type { LogStore, Timers } from '@millrace/log'
import { MAX_TIMER_MS } from '@millrace/log/internal'
import type { Agent, RuntimeOptions, Workflow } from '@millrace/runtime'
import type { Authorize } from '../auth/authorize.ts'
import type { CreateContext } from '../auth/context.ts'
import type { Cors } from '../auth/cors.ts'
import { DEFAULT_LIMITS, type Limits } from '../auth/limits.ts'
import type { StaticOptions } from '../http/static.ts'
import { DEFAULT_STREAM, MIN_STREAM, type StreamSettings } from '../stream/stream-settings.ts'

/** Options of `millrace`, with those of the runtime. */
export interface MillraceOptions<
  Agents extends readonly Agent[] = readonly Agent[],
  Workflows extends readonly Workflow[] = readonly Workflow[],
> extends Omit<RuntimeOptions, 'store' | 'agents' | 'workflows' | 'answerCheckMs'> {
  /** Agents that clients may run. @default [] */
  readonly agents?: Agents
  /** Workflows that clients may run. @default [] */
  readonly workflows?: Workflows
  /** A store, a promise of one, or a store URL. @default 'sqlite:.millrace/millrace.db' */
  readonly store?: LogStore | Promise<LogStore> | string
  /** Authenticates and authorizes requests. Without it, the server only serves this machine. @default none */
  readonly authorize?: Authorize
  /**
   * Creates the context that nodes and tools see: JSON without credentials. Client data is input, never context.
   * @default none
   */
  readonly context?: CreateContext
  /** Limits that differ from the defaults of `Limits`. @default {} */
  readonly limits?: Partial<Limits>
  /** Path prefix before `/api`, such as `/millrace`. @default '' */
  readonly basePath?: string
  /** Pages of these origins may call this server. @default none */
  readonly cors?: Cors
  /** A folder of public files, served beside `/api`. @default none */
  readonly static?: string | StaticOptions
  /** Settings of streams that differ from the defaults of `StreamSettings`. @default {} */
  readonly stream?: Partial<Omit<StreamSettings, 'timers'>>
  /** Called with each error that the server caused. @default none */
  readonly onError?: (error: unknown, request: Request) => void | Promise<void>
}

/** The default store. */
export const DEFAULT_STORE = 'sqlite:.millrace/millrace.db'

export interface Settings {
  readonly limits: Limits
  readonly stream: StreamSettings
  readonly basePath: string
}

/** The settings with defaults applied. @throws `TypeError` for invalid options */
export function settingsOf({ limits, stream, basePath = '' }: MillraceOptions, timers: Timers): Settings {
  if (basePath !== '' && !/^(\/[\w.~-]+)+$/.test(basePath)) {
    throw new TypeError(`basePath: expected a path such as /millrace, found ${JSON.stringify(basePath)}`)
  }
  return {
    limits: numbersOf('limits', DEFAULT_LIMITS, limits),
    stream: { timers, ...numbersOf('stream', DEFAULT_STREAM, stream, MIN_STREAM) },
    basePath,
  }
}

function numbersOf<T extends Record<keyof T, number>>(
  option: string,
  defaults: T,
  values: Partial<T> = {},
  minimums: Partial<T> = {},
): T {
  for (const [name, value] of Object.entries(values) as [keyof T & string, unknown][]) {
    if (!Object.hasOwn(defaults, name)) throw new TypeError(`${option}.${name}: unknown option: remove it`)
    const minimum = minimums[name] ?? 0
    // The other numbers are delays, and counts for which the same maximum is enough.
    const maximum = name.endsWith('Bytes') ? Number.MAX_SAFE_INTEGER : MAX_TIMER_MS
    if (Number.isInteger(value) && (value as number) >= minimum && (value as number) <= maximum) continue
    throw new TypeError(
      `${option}.${name}: expected a whole number from ${minimum} to ${maximum}, found ${String(value)}`,
    )
  }
  return { ...defaults, ...values }
}
