import { millrace } from '@millrace/server'
import { InProcessServer, SERVER_OPTIONS } from '../../../../../scripts/faults/sessions/session-server.fixture.ts'
import { AGENTS } from './chat-agents.fixture.ts'

/**
 * The server of the schedules.
 * @param url URL of the store. @default in memory
 */
export function openChatServer(url?: string): Promise<InProcessServer> {
  return InProcessServer.open({
    agents: AGENTS,
    ...(url !== undefined && { url }),
    createApp: (store, logger) => millrace({ ...SERVER_OPTIONS, store, agents: AGENTS, logger }),
  })
}
