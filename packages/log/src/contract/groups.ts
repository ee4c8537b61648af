import { due } from './due.ts'
import { forking } from './forking.ts'
import { heartbeats } from './heartbeats.ts'
import { invalidArguments } from './invalid-arguments.ts'
import { keys } from './keys.ts'
import { leases } from './leases.ts'
import { listing } from './listing.ts'
import { listingOldest } from './listing-oldest.ts'
import { order } from './order.ts'
import { outcomes } from './outcomes.ts'
import { reading } from './reading.ts'
import { regression } from './regression.ts'
import { removal } from './removal.ts'
import { restarts } from './restarts.ts'
import { snapshotsAndBlobs } from './snapshots-and-blobs.ts'
import { texts } from './texts.ts'
import { tickets } from './tickets.ts'
import { trimming } from './trimming.ts'
import { watching } from './watching.ts'

/** The cases by topic. */
export const groups = {
  order,
  reading,
  watching,
  outcomes,
  keys,
  tickets,
  leases,
  heartbeats,
  regression,
  due,
  snapshotsAndBlobs,
  trimming,
  forking,
  listing,
  listingOldest,
  removal,
  texts,
  invalidArguments,
  restarts,
} as const
