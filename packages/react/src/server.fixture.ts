// A server in the same process, and who asked it for what.

import { type Agent, agent, scriptedModel } from '@millrace/runtime'
import { millrace } from '@millrace/server'
import { onTestFinished } from 'vitest'

export interface Served {
  readonly api: string
  readonly fetch: typeof fetch
  /** Method and path of all that was asked. */
  readonly asked: string[]
  /** How often something was asked. */
  count(method: string, path?: RegExp): number
}

export const echo: Agent = agent({
  name: 'echo',
  model: scriptedModel(({ lastText }) => ({ text: `You said: ${lastText}` })),
})

/** Serves agents until the test is over. */
export function serve(...agents: Agent[]): Served {
  const app = millrace({ store: 'memory:', agents, logger: { warn() {}, error() {} } })
  onTestFinished(() => app.close())
  const asked: string[] = []
  return {
    api: 'http://localhost/api',
    asked,
    fetch: (input, init) => {
      const request = new Request(input, init)
      asked.push(`${request.method} ${new URL(request.url).pathname.replace('/api', '')}`)
      return app.fetch(request)
    },
    count: (method, path = /./) => asked.filter(one => one.startsWith(`${method} `) && path.test(one)).length,
  }
}
