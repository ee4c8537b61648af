import type { Good } from '../route/good.fixture.ts'
import { agUiGood } from './ag-ui/good.fixture.ts'
import { aiSdkGood } from './ai-sdk/good.fixture.ts'
import { helixGood } from './helix/good.fixture.ts'
import { kortyxGood } from './kortyx/good.fixture.ts'
import { muiGood } from './mui/good.fixture.ts'
import { tanstackGood } from './tanstack/good.fixture.ts'

/** A good request for every route of a dialect. */
export const dialectGood: Readonly<Record<string, Good>> = {
  ...muiGood,
  ...tanstackGood,
  ...aiSdkGood,
  ...agUiGood,
  ...kortyxGood,
  ...helixGood,
}
