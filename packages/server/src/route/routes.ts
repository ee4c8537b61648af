import { about } from '../api/about.ts'
import { answers } from '../api/answers.ts'
import { blobs } from '../api/blobs.ts'
import { runs } from '../api/runs.ts'
import { sessions } from '../api/sessions.ts'
import { streams } from '../api/streams.ts'
import { uploads } from '../api/uploads.ts'
import { dialects } from '../dialect/routes.ts'
import type { Route } from './route.ts'

/** Every route of the API. */
export const routes: readonly Route[] = [
  ...about,
  ...sessions,
  ...streams,
  ...runs,
  ...answers,
  ...blobs,
  ...uploads,
  ...dialects,
]
