import { type ChatConnection, createConnection } from '@millrace/client'
import type { Entry } from '@millrace/protocol'
import { agent, memoryStore, millrace, ProviderError, scriptedModel } from 'millrace'
import { onTestFinished } from 'vitest'
import { logReader } from './read-log.ts'

const overloaded = () => new ProviderError('provider_overloaded', 'the provider is overloaded', { retryable: true })

/** A server in this process with an echo agent, and a connection to it. */
export function echoServer() {
  let tries = 0
  const model = scriptedModel(({ lastText }) => {
    const isOverloaded = lastText === 'Twice' && tries++ === 0
    return { text: `You said: ${lastText}`, ...(isOverloaded && { error: overloaded() }) }
  })
  const echo = agent({ name: 'echo', model })
  const app = millrace({
    store: memoryStore(),
    agents: [echo],
    backoff: { firstMs: 20 },
    logger: { warn() {}, error() {} },
  })
  onTestFinished(() => app.close())
  const api = 'http://127.0.0.1/api'
  const requests: string[] = []
  const fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
    requests.push(String(input).slice(api.length))
    return app.fetch(new Request(input, init))
  }
  const connection = createConnection({ api, fetch, includeDiscarded: true })
  return {
    requests,
    connection,
    read: logReader({ api, fetch }),
    runAgent: async (input: string) => {
      await connection.api.ask('POST', '/sessions/s/runs', { agent: 'echo', input })
    },
  }
}

/** A connection that modifies entries before the follower gets them. */
export const tamperingConnection = (
  connection: ChatConnection,
  tamper: (entries: readonly Entry[], all: Entry[]) => readonly Entry[],
): ChatConnection => {
  const all: Entry[] = []
  return {
    api: connection.api,
    wake: () => connection.wake(),
    follow: (sessionId, follower, after) =>
      connection.follow(
        sessionId,
        {
          ...follower,
          entries: (entries, through) => {
            const changed = tamper(entries, all)
            all.push(...entries)
            return follower.entries(changed, through)
          },
        },
        after,
      ),
  }
}
