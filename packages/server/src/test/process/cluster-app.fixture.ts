import type { LogStore } from '@millrace/log'
import type { Logger } from '@millrace/runtime'
import { SERVER_OPTIONS } from '../../../../../scripts/faults/sessions/session-server.fixture.ts'
import { type App, millrace } from '../../app/app.ts'
import { AGENTS, SECRET } from './followed-agents.fixture.ts'

/** The server of the schedules. It drives no runs. */
export function createApp(store: LogStore, logger: Logger): App {
  return millrace({ ...SERVER_OPTIONS, store, agents: AGENTS, logger, context: () => ({ key: SECRET }) })
}
