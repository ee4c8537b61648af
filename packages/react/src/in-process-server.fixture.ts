// A server in the same process, reached without a socket, that records its requests.

import { type Agent, agent, scriptedModel } from '@millrace/runtime'
import { millrace } from '@millrace/server'
import { onTestFinished } from 'vitest'

export interface TestServer {
  readonly api: string
  readonly fetch: typeof fetch
  /** Method and path of each request. */
  readonly requests: string[]
  /** Number of requests by method, and by path if given. */
  count(method: string, path?: RegExp): number
}

export const echo: Agent = agent({
  name: 'echo',
  model: scriptedModel(({ lastText }) => ({ text: `You said: ${lastText}` })),
})

/** Serves agents until the end of the test, which waits for the replies to all requests. */
export function serve(...agents: Agent[]): TestServer {
  const app = millrace({ store: 'memory:', agents, logger: { warn() {}, error() {} } })
  const replies: Promise<unknown>[] = []
  onTestFinished(async () => {
    await app.close()
    await Promise.allSettled(replies)
  })
  const requests: string[] = []
  return {
    api: 'http://localhost/api',
    requests,
    fetch: (input, init) => {
      const request = new Request(input, init)
      requests.push(`${request.method} ${new URL(request.url).pathname.replace('/api', '')}`)
      const reply = app.fetch(request)
      replies.push(reply)
      return reply
    },
    count: (method, path = /./) =>
      requests.filter(request => request.startsWith(`${method} `) && path.test(request)).length,
  }
}
