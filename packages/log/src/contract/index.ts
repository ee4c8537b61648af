// What every store is held to: `LogStore` and the laws behind it, as a list of cases for any test runner.
//
//   for (const each of contract) test(nameOf(each), () => each.run(subject))
//
// Cases run in any order and beside one another on one store, but for those that are `alone`; those that need what the subject does not have
// are left out by `needs`.

import type { ContractCase } from './case.ts'
import { groups } from './groups.ts'

export type { ContractCase, StoreUnderTest } from './case.ts'
export { nameOf } from './case.ts'

/** Every law that concerns a store, each by its number. */
export const contract: readonly ContractCase[] = Object.values(groups).flat()
