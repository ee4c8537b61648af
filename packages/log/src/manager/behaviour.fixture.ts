import { asking } from './asking.fixture.ts'
import { keeping } from './keeping.fixture.ts'
import type { Behaviour } from './managers-on-store.fixture.ts'
import { naming } from './naming.fixture.ts'
import { writing } from './writing.fixture.ts'

/** All that a manager does on every store alike. */
export const behaviours: readonly Behaviour[] = [...writing, ...asking, ...keeping, ...naming]
