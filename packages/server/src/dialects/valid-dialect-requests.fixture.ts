import type { ValidRequest } from '../routing/valid-requests.fixture.ts'
import { validAgUiRequests } from './ag-ui/valid-ag-ui-requests.fixture.ts'
import { validAiSdkRequests } from './ai-sdk/valid-ai-sdk-requests.fixture.ts'
import { validHelixRequests } from './helix/valid-helix-requests.fixture.ts'
import { validKortyxRequests } from './kortyx/valid-kortyx-requests.fixture.ts'
import { validMuiRequests } from './mui/valid-mui-requests.fixture.ts'
import { validTanstackRequests } from './tanstack/valid-tanstack-requests.fixture.ts'

/** A valid request for every dialect route. */
export const validDialectRequests: Readonly<Record<string, ValidRequest>> = {
  ...validMuiRequests,
  ...validTanstackRequests,
  ...validAiSdkRequests,
  ...validAgUiRequests,
  ...validKortyxRequests,
  ...validHelixRequests,
}
