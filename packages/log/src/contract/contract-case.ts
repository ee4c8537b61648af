import { AssertionError } from 'node:assert/strict'
import type { LogStore } from '../store/log-store.ts'
import { Trial } from './trial.ts'

/** The store under test. */
export interface StoreUnderTest {
  /** Opens another handle on the same data, like another process. The suite closes it. */
  open(): Promise<LogStore>
  /** Kills the server or process of the store and starts it again with its data. Omit it if there is none. */
  restart?(): Promise<void>
  /** Moves the clock of the store, in ms, also back. @default the suite waits for the clock */
  advance?(ms: number): Promise<void>
  /** Time to wait for an expected event, in ms. @default 10_000 */
  readonly timeoutMs?: number
}

/** One behaviour of every store. Fails with an AssertionError that names the law, the expected and the found value. */
export interface ContractCase {
  /** The law that it proves, by number, or `interface`. */
  readonly law: number | 'interface'
  /** The behaviour. */
  readonly title: string
  /** Whether it affects other logs (the server, the clock, every incarnation). No other case may run at the same time. */
  readonly alone: boolean
  /** Methods of the store under test that it calls. Skip the case if one is missing. */
  readonly needs: readonly ('restart' | 'advance')[]
  /** Runs the case against a store. */
  run(subject: StoreUnderTest): Promise<void>
}

export interface ContractCaseOptions {
  readonly alone?: boolean
  readonly needs?: ContractCase['needs']
}

/** The name of a case for a test runner. */
export const nameOf = ({ law, title }: Pick<ContractCase, 'law' | 'title'>): string =>
  `${law === 'interface' ? law : `law ${law}`}: ${title}`

/** Defines a case. Its logs are removed and its handles closed at its end. */
export function define(
  law: ContractCase['law'],
  title: string,
  body: (trial: Trial) => Promise<void>,
  { alone = false, needs = [] }: ContractCaseOptions = {},
): ContractCase {
  const run = async (subject: StoreUnderTest): Promise<void> => {
    try {
      for (const need of needs) {
        if (subject[need] === undefined) throw new Error(`the store under test has no '${need}': skip this case`)
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
    // Throws the first error: a broken store may also fail the cleanup.
    await trial.end().catch(error => {
      if (!failed) throw error
    })
  }
}

function failure(name: string, cause: unknown): AssertionError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  const { actual, expected } = cause instanceof AssertionError ? cause : {}
  const error = new AssertionError({ message: `${name}: ${reason}`, actual, expected, operator: 'contract' })
  error.cause = cause
  return error
}
