import { listBehaviours } from './list-behaviours.fixture.ts'
import type { Behaviour } from './managers-on-store.fixture.ts'
import { requestBehaviours } from './request-behaviours.fixture.ts'
import { retentionBehaviours } from './retention-behaviours.fixture.ts'
import { sessionBehaviours } from './session-behaviours.fixture.ts'
import { writerBehaviours } from './writer-behaviours.fixture.ts'

/** Behaviour of a manager on every store. */
export const behaviours: readonly Behaviour[] = [
  ...writerBehaviours,
  ...requestBehaviours,
  ...retentionBehaviours,
  ...listBehaviours,
  ...sessionBehaviours,
]
