// Our server: an agent with the scripted model, and sessions with earlier messages.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StreamManager } from '@millrace/log'
import type { Chunk } from '@millrace/protocol'
import { agent } from '@millrace/runtime'
import { millrace } from '@millrace/server'
import { scriptedModel } from './model.ts'
import { type Conversation, historyOf, type SystemServer } from './open-server.ts'
import type { ScriptedAnswers } from './scripted-answers.ts'

/** A server on SQLite, the default store, in a temporary folder. */
export async function openOurs(folder: string): Promise<SystemServer> {
  let current: ScriptedAnswers | undefined
  const model = scriptedModel(() => {
    if (!current) throw new Error('no script: send `show` first')
    return current
  })
  const app = millrace({
    agents: [agent({ name: 'miller', model })],
    store: `sqlite:${join(temporary(), 'millrace.db')}`,
    limits: { requestsPerMinute: 1e9 },
    logger: { warn: () => {}, error: (...args: unknown[]) => console.error(...args) },
    static: folder,
  })
  const { url } = await app.listen({ port: 0 })
  const { manager } = await app.runtime()
  return {
    async show({ answers, messages }, script) {
      current = script
      const conversations: Conversation[] = []
      for (let i = 0; i < answers; i++)
        conversations.push(messages > 0 ? { session: await createSession(manager, messages) } : {})
      return { page: url, conversations }
    },
  }
}

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-screen-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Creates a session with earlier messages and no open run. */
async function createSession(manager: StreamManager, messages: number): Promise<string> {
  const session = randomUUID()
  const writer = await manager.createWriter(session, { runId: randomUUID(), agentType: 'miller', step: 1 })
  const earlier = historyOf(messages).map(
    ({ id, role, text }): Chunk => ({ type: 'message', messageId: id, role, parts: [{ type: 'text', text }] }),
  )
  const { outcome } = await writer.commit(earlier)
  if (outcome !== 'appended') throw new Error(`commit of the history: expected appended, found ${outcome}`)
  await writer.decide(() => [{ type: 'run-finished', status: 'completed' }])
  await writer.close()
  return session
}
