// A server in a process that has done nothing before: its code is loaded, and its file is not open.
import { sqliteStore } from '@millrace/log/sqlite'
import { agent } from '@millrace/runtime'
import { millrace } from '@millrace/server'
import { handleRequests } from '../log/start-child.ts'
import { modelOf, textParts } from '../runtime/model.ts'
import { AGENT, wordsOf } from './turns.ts'

/** Be there; serve a file, whose next turn has that number; or say what has been spent since. */
export type ColdServerRequest = { kind: 'ready' } | { kind: 'serve'; path: string; turns: number } | { kind: 'cpu' }

/** Where it serves, and milliseconds of CPU time since it was told to. */
export interface ColdServerReply {
  readonly port: number
  readonly cpu: number
}

/** The number of the part that has the second word. */
const SECOND_WORD = 3

let [port, from] = [0, process.cpuUsage()]

handleRequests<ColdServerRequest, ColdServerReply>(async asked => {
  if (asked.kind === 'serve') {
    from = process.cpuUsage()
    const { path, turns } = asked
    // It falls silent after its first word, so that nothing else is waited for.
    const model = modelOf(
      () => textParts(wordsOf(turns)),
      part => (part === SECOND_WORD ? new Promise(() => {}) : undefined),
    )
    const program = agent({ name: AGENT, model })
    const app = millrace({ store: sqliteStore({ path }), agents: [program], logger: { warn() {}, error() {} } })
    port = (await app.listen({ port: 0 })).port
  }
  const { user, system } = process.cpuUsage(from)
  return { port, cpu: (user + system) / 1000 }
})
