// What every store is held to: `packages/log/src/store.ts` and the laws behind it, as a list of cases for any test runner.
//
//   for (const each of contract) test(nameOf(each), () => each.run(subject))
//
// Cases run in any order and beside one another on one store, but for those that are `alone`; those that need what the subject does not have
// are left out by `needs`.

import type { Case } from './case.ts'
import { due } from './due.ts'
import { forking } from './forking.ts'
import { keeping } from './keeping.ts'
import { keys } from './keys.ts'
import { leases } from './leases.ts'
import { listing } from './listing.ts'
import { order } from './order.ts'
import { outcomes } from './outcomes.ts'
import { reading } from './reading.ts'
import { regress } from './regress.ts'
import { removal } from './removal.ts'
import { restarts } from './restarts.ts'
import { texts } from './texts.ts'
import { tickets } from './tickets.ts'
import { trimming } from './trimming.ts'
import { watching } from './watching.ts'

export type { Case, Subject } from './case.ts'
export { nameOf } from './case.ts'

/** Every law that concerns a store, each by its number. */
export const contract: readonly Case[] = [
  ...order,
  ...reading,
  ...watching,
  ...outcomes,
  ...keys,
  ...tickets,
  ...leases,
  ...regress,
  ...due,
  ...keeping,
  ...trimming,
  ...forking,
  ...listing,
  ...removal,
  ...texts,
  ...restarts,
]
