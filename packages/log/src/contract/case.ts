import { AssertionError } from 'node:assert/strict'
import type { LogStore } from '../store/log-store.ts'
import { Trial } from './trial.ts'

/** What the suite needs of a store under test. */
export interface StoreUnderTest {
  /** Another handle on the same data, as another process would have; the suite closes it. */
  open(): Promise<LogStore>
  /** Ends the store's server or process the hard way and brings it back with its data, where there is such a thing. */
  restart?(): Promise<void>
  /** Moves the store's clock by so many milliseconds, also back, where it can be moved; without it the suite waits for the clock. */
  advance?(ms: number): Promise<void>
  /** How many milliseconds to wait for what must happen; 10,000 unless said. */
  readonly patience?: number
}

/** One thing that every store does. A failure is an AssertionError that names the law and what was seen. */
export interface ContractCase {
  readonly law: number | 'interface'
  readonly title: string
  /** Whether it touches more than its own logs (the server, the clock, every incarnation), so that no other case may run beside it. */
  readonly alone: boolean
  /** What of the subject it cannot do without; a subject that has no such thing leaves the case out. */
  readonly needs: readonly ('restart' | 'advance')[]
  run(subject: StoreUnderTest): Promise<void>
}

export interface ContractCaseOptions {
  readonly alone?: boolean
  readonly needs?: ContractCase['needs']
}

/** The name of a case, as a runner shows it. */
export const nameOf = ({ law, title }: Pick<ContractCase, 'law' | 'title'>): string =>
  `${law === 'interface' ? law : `law ${law}`}: ${title}`

/** A case, with logs and handles of its own that go when it is over. */
export function define(
  law: ContractCase['law'],
  title: string,
  body: (trial: Trial) => Promise<void>,
  { alone = false, needs = [] }: ContractCaseOptions = {},
): ContractCase {
  const run = async (subject: StoreUnderTest): Promise<void> => {
    try {
      for (const need of needs) {
        if (subject[need] === undefined) throw new Error(`the subject has no '${need}': leave this case out`)
      }
      await within(subject, body)
    } catch (error) {
      throw failure(nameOf({ law, title }), error)
    }
  }
  return { law, title, alone, needs, run }
}

async function within(subject: StoreUnderTest, body: (trial: Trial) => Promise<void>): Promise<void> {
  const trial = new Trial(subject)
  let failed = true
  try {
    await body(trial)
    failed = false
  } finally {
    // What went wrong first is told; a store that is broken may not be fit to be tidied.
    await trial.end().catch(error => {
      if (!failed) throw error
    })
  }
}

function failure(name: string, cause: unknown): AssertionError {
  const said = cause instanceof Error ? cause.message : String(cause)
  const { actual, expected } = cause instanceof AssertionError ? cause : {}
  const error = new AssertionError({ message: `${name}: ${said}`, actual, expected, operator: 'contract' })
  error.cause = cause
  return error
}
