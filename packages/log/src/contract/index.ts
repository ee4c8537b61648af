// The contract of every store, `LogStore` and its laws, as a list of cases for any test runner.
//
//   for (const each of contract) test(nameOf(each), () => each.run(subject))
//
// Cases run in any order and concurrently on one store, except those that are `alone`. Skip cases with `needs` that the store under test
// does not have.

import type { ContractCase } from './contract-case.ts'
import { groups } from './groups.ts'

export type { ContractCase, StoreUnderTest } from './contract-case.ts'
export { nameOf } from './contract-case.ts'

/** All cases, each with the number of its law. */
export const contract: readonly ContractCase[] = Object.values(groups).flat()
