import { join } from 'node:path'
import { schedules } from './process-schedules.fixture.ts'
import { SQLITE_KINDS } from './schedule-kinds.fixture.ts'

schedules({
  name: 'sqlite',
  count: SQLITE_KINDS.length,
  every: { tools: 19, approvals: 45 },
  kinds: SQLITE_KINDS,
  async start(folder) {
    return { specOf: index => ({ kind: 'sqlite', path: join(folder, `schedules-${index}.db`) }), async stop() {} }
  },
})
