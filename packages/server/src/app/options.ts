import type { LogStore, Timers } from '@millrace/log'
import type { Agent, RuntimeOptions, Workflow } from '@millrace/runtime'
import type { Authorize } from '../auth/authorize.ts'
import type { CreateContext } from '../auth/context.ts'
import type { Cors } from '../auth/cors.ts'
import { DEFAULT_LIMITS, type Limits } from '../auth/limits.ts'
import type { StaticOptions } from '../http/static.ts'
import { DEFAULT_STREAM, LEAST_STREAM, type StreamSettings } from '../stream/stream-settings.ts'

export interface MillraceOptions<
  Agents extends readonly Agent[] = readonly Agent[],
  Workflows extends readonly Workflow[] = readonly Workflow[],
> extends Omit<RuntimeOptions, 'store' | 'agents' | 'workflows'> {
  readonly agents?: Agents
  readonly workflows?: Workflows
  /** Where the logs are: a store, a promise of one, or its URL; `sqlite:.millrace/millrace.db`, if nothing is said. */
  readonly store?: LogStore | Promise<LogStore> | string
  /** Who somebody is, and whether they may; without it the server is for this machine alone. */
  readonly authorize?: Authorize
  /** What the code of nodes and tools sees as its context: JSON without credentials. What a client sends is input, never context. */
  readonly context?: CreateContext
  readonly limits?: Partial<Limits>
  /** What stands before `/api`; nothing, if nothing is said. */
  readonly basePath?: string
  /** Which other origins' pages may call; none, if nothing is said. */
  readonly cors?: Cors
  /** A folder of files for everybody, served beside `/api`. */
  readonly static?: string | StaticOptions
  readonly stream?: Partial<Omit<StreamSettings, 'timers'>>
  /** Is told what went wrong on the server's side of a request. */
  readonly onError?: (error: unknown, request: Request) => void | Promise<void>
}

/** The store, if nothing is said. */
export const DEFAULT_STORE = 'sqlite:.millrace/millrace.db'

export interface Settings {
  readonly limits: Limits
  readonly stream: StreamSettings
  readonly basePath: string
}

/** What is set, with what is usual where nothing is said; throws where that could not work. */
export function settingsOf({ limits, stream, basePath = '' }: MillraceOptions, timers: Timers): Settings {
  if (basePath !== '' && !/^(\/[\w.~-]+)+$/.test(basePath)) {
    throw new TypeError(`basePath: expected a path such as /millrace, found ${JSON.stringify(basePath)}`)
  }
  return {
    limits: amounts('limits', DEFAULT_LIMITS, limits),
    stream: { timers, ...amounts('stream', DEFAULT_STREAM, stream, LEAST_STREAM) },
    basePath,
  }
}

/** Timers know no longer time. */
const MOST = 2 ** 31 - 1

function amounts<T extends Record<keyof T, number>>(
  what: string,
  usual: T,
  told: Partial<T> = {},
  leasts: Partial<T> = {},
): T {
  for (const [name, value] of Object.entries(told) as [keyof T & string, unknown][]) {
    if (!Object.hasOwn(usual, name)) throw new TypeError(`${what}.${name}: there is no such option`)
    const least = leasts[name] ?? 0
    if (Number.isInteger(value) && (value as number) >= least && (value as number) <= MOST) continue
    throw new TypeError(`${what}.${name}: expected a whole number from ${least} to ${MOST}, found ${String(value)}`)
  }
  return { ...usual, ...told }
}
