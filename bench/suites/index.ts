import type { Suite } from '../harness/suite.ts'
import { client } from './client.ts'
import { dialects } from './dialects.ts'
import { json } from './json.ts'
import { log } from './log.ts'
import { patch } from './patch.ts'
import { reduce } from './reduce.ts'
import { runtime } from './runtime.ts'
import { scale } from './scale.ts'
import { screen } from './screen.ts'
import { server } from './server.ts'
import { sse } from './sse.ts'
import { structured } from './structured.ts'
import { validate } from './validate.ts'

/** Every suite, in the order in which they run when none is named. */
export const suites: Suite[] = [
  reduce,
  json,
  sse,
  validate,
  structured,
  patch,
  log,
  runtime,
  server,
  client,
  dialects,
  scale,
  screen,
]
