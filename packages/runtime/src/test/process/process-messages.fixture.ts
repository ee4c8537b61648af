// The messages between a test and its processes.

import type { Logger } from '../../telemetry/logger.ts'
import type { SubmittedAnswer } from '../crash/answering-clients.fixture.ts'
import type { ProgramName } from './programs.fixture.ts'

/** The store to open, as serializable data. */
export type StoreSpec =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'redis'; readonly url: string; readonly prefix: string; readonly timeoutMs: number }
  | { readonly kind: 'postgres'; readonly url: string; readonly schema: string; readonly timeoutMs: number }

/** Modifying store calls. A death before and after each has a different outcome. */
export const POINTS = ['append', 'claim', 'release', 'putSnapshot', 'putBlob'] as const

export type Point = (typeof POINTS)[number]

/** A point at which a process does something: just before or after its nth call of any of these kinds. */
export interface FaultPoint {
  readonly points: readonly Point[]
  readonly n: number
  readonly when: 'before' | 'after'
  /** What the process does after it has reported the point: block forever, sleep until it is woken, or continue. */
  readonly action: 'halt' | 'sleep' | 'continue'
}

export interface Opening {
  readonly store: StoreSpec
  /** Its name in the ledger, and the file of the ledger. */
  readonly tag: string
  readonly ledger: string
  readonly leaseMs: number
  readonly paceMs: number
  readonly program: ProgramName
  /** Whether it has the program. */
  readonly hasProgram: boolean
  /** Its answers, if it answers instead of driving. */
  readonly clients?: { readonly when: 'asked' | 'paused' | 'on-fault'; readonly makesMistakes: boolean }
  readonly faultPoint?: FaultPoint
}

/** The file that wakes a sleeping process when created. */
export const wakeFileOf = ({ ledger, tag }: Pick<Opening, 'ledger' | 'tag'>): string => `${ledger}.${tag}.wake`

export type ProcessOrder = ({ readonly do: 'open' } & Opening) | { readonly do: 'answer' } | { readonly do: 'close' }

export type ProcessMessage =
  | { readonly kind: 'reached'; readonly point: Point; readonly n: number }
  /** It slept and was woken. */
  | { readonly kind: 'awake' }
  /** The store did not answer. */
  | { readonly kind: 'unavailable'; readonly call: string; readonly reason: string }
  | { readonly kind: 'logged'; readonly level: keyof Logger; readonly message: string; readonly cause: string }
  /** Its answers, and unexpected results. */
  | { readonly kind: 'submitted'; readonly submitted: readonly SubmittedAnswer[]; readonly problems: readonly string[] }
  | { readonly kind: 'closed' }

/** A logger that sends everything: some failures are expected, but any message may explain an unexpected one. */
export function loggerOf(report: (message: ProcessMessage) => void): Logger {
  const to =
    (level: keyof Logger): Logger['warn'] =>
    (message, { cause }) =>
      report({ kind: 'logged', level, message, cause: cause === undefined ? '' : String(cause) })
  return { warn: to('warn'), error: to('error') }
}
