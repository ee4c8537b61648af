// A server in a new process: its code is loaded, and its file is not open yet.
import { sqliteStore } from '@millrace/log/sqlite'
import { agent } from '@millrace/runtime'
import { millrace } from '@millrace/server'
import { handleRequests } from '../log/start-child.ts'
import { modelOf, textParts } from '../runtime/model.ts'
import { AGENT, wordsOf } from './turns.ts'

/** Reply when started; serve a file with `turns` as its next turn; or report the CPU time since then. */
export type ColdServerRequest = { kind: 'ready' } | { kind: 'serve'; path: string; turns: number } | { kind: 'cpu' }

/** Port, and CPU time in ms since the `serve` request. */
export interface ColdServerReply {
  readonly port: number
  readonly cpu: number
}

/** Index of the stream part with the second word. */
const SECOND_WORD = 3

let [port, from] = [0, process.cpuUsage()]

handleRequests<ColdServerRequest, ColdServerReply>(async request => {
  if (request.kind === 'serve') {
    from = process.cpuUsage()
    const { path, turns } = request
    // The model pauses after its first word, so that only that is measured.
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
