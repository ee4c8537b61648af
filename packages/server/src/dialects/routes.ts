import type { Route } from '../routing/route.ts'
import { agUi } from './ag-ui/routes.ts'
import { aiSdk } from './ai-sdk/routes.ts'
import { helix } from './helix/routes.ts'
import { kortyx } from './kortyx/routes.ts'
import { mui } from './mui/routes.ts'
import { tanstack } from './tanstack/routes.ts'

/** The routes of all dialects. Their bodies may contain whole transcripts with inline files. */
export const dialects: readonly Route[] = [...mui, ...tanstack, ...aiSdk, ...agUi, ...kortyx, ...helix].map(route =>
  route.body === undefined ? route : { ...route, takesTranscript: true },
)
