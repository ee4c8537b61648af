import { dialects } from '../dialects/routes.ts'
import { answers } from '../routes/answers.ts'
import { blobs } from '../routes/blobs.ts'
import { runs } from '../routes/runs.ts'
import { serverInfo } from '../routes/server-info.ts'
import { sessions } from '../routes/sessions.ts'
import { streams } from '../routes/streams.ts'
import { uploads } from '../routes/uploads.ts'
import type { Route } from '../routing/route.ts'

/** Every route of the API. */
export const routes: readonly Route[] = [
  ...serverInfo,
  ...sessions,
  ...streams,
  ...runs,
  ...answers,
  ...blobs,
  ...uploads,
  ...dialects,
]
