// The process of a server: a page is served, its answers are waited for, and said.
import { openOnce } from '../../harness/cleanup.ts'
import { handleRequests } from '../log/start-child.ts'
import { ScriptedAnswers } from './scripted-answers.ts'
import { type Address, openServer, type Shown, type System } from './served.ts'

/** What is asked of it, in this order: to show a page, to wait until all answers were asked for, and to say them. */
export type ServerRequest =
  | { readonly kind: 'show'; readonly system: System; readonly folder: string; readonly shown: Shown }
  | { readonly kind: 'wait' }
  | { readonly kind: 'produce' }

/** Where the page is; and, when all was said, when each token was. */
export interface ServerReply {
  readonly address?: Address
  readonly said?: number[][]
}

const serverOf = openOnce(openServer)
let script: ScriptedAnswers | undefined

handleRequests<ServerRequest, ServerReply>(async asked => {
  if (asked.kind === 'show') {
    script = new ScriptedAnswers(asked.shown)
    return { address: await (await serverOf(asked.system, asked.folder)).show(asked.shown, script) }
  }
  if (!script) throw new Error('no page was asked for')
  if (asked.kind === 'wait') {
    await script.asked
    return {}
  }
  await script.begin()
  return { said: script.said }
})
