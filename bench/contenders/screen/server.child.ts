// The process of a server: a page is served, its answers are waited for, and said.
import { openOnce } from '../../harness/cleanup.ts'
import { answer } from '../log/apart.ts'
import { type Address, openServer, type Shown, type Whose } from './served.ts'
import { Speech } from './speech.ts'

/** What is asked of it, in this order: to show a page, to wait until all answers were asked for, and to say them. */
export type Asked =
  | { readonly kind: 'show'; readonly whose: Whose; readonly folder: string; readonly shown: Shown }
  | { readonly kind: 'wait' }
  | { readonly kind: 'speak' }

/** Where the page is; and, when all was said, when each token was. */
export interface Told {
  readonly address?: Address
  readonly said?: number[][]
}

const serverOf = openOnce(openServer)
let speech: Speech | undefined

answer<Asked, Told>(async asked => {
  if (asked.kind === 'show') {
    speech = new Speech(asked.shown)
    return { address: await (await serverOf(asked.whose, asked.folder)).show(asked.shown, speech) }
  }
  if (!speech) throw new Error('no page was asked for')
  if (asked.kind === 'wait') {
    await speech.asked
    return {}
  }
  await speech.begin()
  return { said: speech.said }
})
