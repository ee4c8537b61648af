import type { Good } from '../routing/valid-requests.fixture.ts'
import { agUiGood } from './ag-ui/valid-ag-ui-requests.fixture.ts'
import { aiSdkGood } from './ai-sdk/valid-ai-sdk-requests.fixture.ts'
import { helixGood } from './helix/valid-helix-requests.fixture.ts'
import { kortyxGood } from './kortyx/valid-kortyx-requests.fixture.ts'
import { muiGood } from './mui/valid-mui-requests.fixture.ts'
import { tanstackGood } from './tanstack/valid-tanstack-requests.fixture.ts'

/** A valid request for every dialect route. */
export const dialectGood: Readonly<Record<string, Good>> = {
  ...muiGood,
  ...tanstackGood,
  ...aiSdkGood,
  ...agUiGood,
  ...kortyxGood,
  ...helixGood,
}
