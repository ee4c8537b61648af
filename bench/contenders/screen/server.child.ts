// Server process: serves a page, waits for its requests, and produces the answers.
import { openOnce } from '../../harness/cleanup.ts'
import { handleRequests } from '../log/start-child.ts'
import { openServer, type PageAddress, type ScreenSetup, type System } from './open-server.ts'
import { ScriptedAnswers } from './scripted-answers.ts'

/** Requests, in this order: show a page, wait until all answers are requested, produce them. */
export type ServerRequest =
  | { readonly kind: 'show'; readonly system: System; readonly folder: string; readonly setup: ScreenSetup }
  | { readonly kind: 'wait' }
  | { readonly kind: 'produce' }

/** Address of the page; after `produce`, the time of each token. */
export interface ServerReply {
  readonly address?: PageAddress
  readonly producedAt?: number[][]
}

const serverOf = openOnce(openServer)
let script: ScriptedAnswers | undefined

handleRequests<ServerRequest, ServerReply>(async request => {
  if (request.kind === 'show') {
    script = new ScriptedAnswers(request.setup)
    return { address: await (await serverOf(request.system, request.folder)).show(request.setup, script) }
  }
  if (!script) throw new Error('no page: send `show` first')
  if (request.kind === 'wait') {
    await script.requested
    return {}
  }
  await script.begin()
  return { producedAt: script.producedAt }
})
