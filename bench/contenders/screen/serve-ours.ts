// Our server: an agent system model follows the script, and sessions that hold earlier messages.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StreamManager } from '@millrace/log'
import type { Chunk } from '@millrace/protocol'
import { agent } from '@millrace/runtime'
import { millrace } from '@millrace/server'
import { scriptedModel } from './model.ts'
import type { ScriptedAnswers } from './scripted-answers.ts'
import { type Conversation, historyOf, type Server } from './served.ts'

/** A server on a file of SQLite, which is its store if nothing is said; but in a folder of its own. */
export async function openOurs(folder: string): Promise<Server> {
  let current: ScriptedAnswers | undefined
  const model = scriptedModel(() => {
    if (!current) throw new Error('nothing is to be said')
    return current
  })
  const app = millrace({
    agents: [agent({ name: 'miller', model })],
    store: `sqlite:${join(temporary(), 'millrace.db')}`,
    limits: { requestsPerMinute: 1e9 },
    logger: { warn: () => {}, error: (...said: unknown[]) => console.error(...said) },
    static: folder,
  })
  const { url } = await app.listen({ port: 0 })
  const { manager } = await app.runtime()
  return {
    async show({ answers, messages }, script) {
      current = script
      const conversations: Conversation[] = []
      for (let i = 0; i < answers; i++)
        conversations.push(messages > 0 ? { session: await past(manager, messages) } : {})
      return { page: url, conversations }
    },
  }
}

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-screen-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A session with so many messages, in which no run is open. */
async function past(manager: StreamManager, messages: number): Promise<string> {
  const session = randomUUID()
  const writer = await manager.createWriter(session, { runId: randomUUID(), agentType: 'miller', step: 1 })
  const earlier = historyOf(messages).map(
    ({ id, role, text }): Chunk => ({ type: 'message', messageId: id, role, parts: [{ type: 'text', text }] }),
  )
  const { outcome } = await writer.commit(earlier)
  if (outcome !== 'appended') throw new Error(`the history was ${outcome}`)
  await writer.decide(() => [{ type: 'run-finished', status: 'completed' }])
  await writer.close()
  return session
}
