import { afterAll, describe, expect, test } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { type ContractCase, nameOf, type StoreUnderTest } from './contract-case.ts'
import { groups } from './groups.ts'
import { contract } from './index.ts'
import { appends } from './mutants/appends.fixture.ts'
import { entries } from './mutants/entries.fixture.ts'
import { copies } from './mutants/fork-mutants.fixture.ts'
import { heartbeatMutants } from './mutants/heartbeats.fixture.ts'
import { keepers } from './mutants/keepers.fixture.ts'
import { logs } from './mutants/logs.fixture.ts'
import { type Mutant, subjectOf } from './mutants/mutant.fixture.ts'
import { readers } from './mutants/readers.fixture.ts'
import { writers } from './mutants/writers.fixture.ts'

const mutants: readonly Mutant[] = [
  ...[...writers, ...appends, ...entries, ...readers, ...logs, ...keepers, ...copies],
  ...heartbeatMutants,
]

/** `npm test` runs every fourth case that a mutant must pass, `npm run chaos` runs all. */
const SAMPLE_INTERVAL = multiplied(1) > 1 ? 1 : 4

/** The errors of the cases that fail, by title. */
async function failuresOf(subject: StoreUnderTest, cases: readonly ContractCase[]): Promise<Map<string, Error>> {
  const failures = new Map<string, Error>()
  for (const each of cases) await each.run(subject).catch((error: Error) => failures.set(each.title, error))
  return failures
}

test('cases and mutants have unique names', () => {
  expect(new Set(contract.map(({ title }) => title)).size).toBe(contract.length)
  expect(new Set(mutants.map(({ fault }) => fault)).size).toBe(mutants.length)
})

test('the contract passes on a healthy store', async () => {
  expect(Object.fromEntries(await failuresOf(subjectOf(), contract))).toEqual({})
})

describe('the contract detects', () => {
  const useful = new Set<string>()
  let tried = 0

  // A case that fails for no mutant tests nothing. Only a run of all mutants can show that.
  afterAll(() => {
    const idle = contract.filter(({ title }) => !useful.has(title)).map(nameOf)
    if (tried === mutants.length) expect(idle).toEqual([])
  })

  test.concurrent.each(mutants)('$fault', async mutant => {
    const targeted = new Set(mutant.within.flatMap(group => groups[group]).map(({ title }) => title))
    const others = contract.filter(({ title }) => !targeted.has(title))
    const offset = mutants.indexOf(mutant) % SAMPLE_INTERVAL
    const sample = new Set(others.filter((_, i) => i % SAMPLE_INTERVAL === offset))
    const cases = contract.filter(each => targeted.has(each.title) || each.title in mutant.caught || sample.has(each))
    const failures = await failuresOf(subjectOf(mutant), cases)
    tried++
    for (const title of failures.keys()) useful.add(title)
    for (const [title, expected] of Object.entries(mutant.caught)) {
      const each = contract.find(contractCase => contractCase.title === title)
      expect(each, title).toBeDefined()
      const failure = failures.get(title)
      expect(failure?.name, `${title}: passed`).toBe('AssertionError')
      expect(failure?.message).toContain(nameOf(each as ContractCase))
      expect(failure?.message).toMatch(expected)
    }
    const unexpected = [...failures].filter(([title]) => !targeted.has(title))
    expect(Object.fromEntries(unexpected.map(([title, { message }]) => [title, message]))).toEqual({})
  })
})
