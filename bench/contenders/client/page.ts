// A page of React components in a real browser, on which an answer comes while many messages are mounted.
import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import { join } from 'node:path'
import { numbered } from '../../fixtures/paced.ts'
import { type Job, job } from '../../harness/suite.ts'
import { browser, built, metrics } from '../browser.ts'
import { SCREEN_MS } from './clock.ts'

export type Peer = 'mui' | 'ai' | 'tanstack'

/** A server with a conversation, where the page of it is, and how an answer is said. */
export interface Served {
  readonly address: string
  answer(): Promise<void>
}

/** What is asked of a page: from the arrival of each word to its being in the document, or how often React commits in 16 ms. */
export type PageAsked = 'latency' | 'commits'

/** Whose page, with how many messages mounted, and a word every so many milliseconds. */
export interface PageAnswer {
  readonly whose: 'ours' | Peer
  readonly mounted: number
  readonly paceMs: number
  readonly asked: PageAsked
}

/** What a page tells of an answer that came. */
interface Told {
  readonly latencies: number[]
  readonly ms: number
  readonly commits: number
  readonly renders: number
  readonly frames: number
  readonly text: string
  readonly rows: number
  /** Milliseconds of its main thread, and of them in scripts. */
  readonly busy: number
  readonly script: number
}

declare const bench: { rows(): number; answer(words: number): Promise<Omit<Told, 'busy' | 'script'>> }

const PAGES = join(import.meta.dirname, 'page')

async function serve({ whose, mounted, paceMs }: PageAnswer, deltas: string[]): Promise<Served> {
  const [folder, paced] = [built(PAGES, whose), { deltas, paceMs }]
  if (whose === 'ours') return (await import('./serve-ours.ts')).serveOurs(folder, mounted, paced)
  return (await import('./serve-peer.ts')).servePeer(whose, folder, mounted, paced)
}

/** An answer of so many words on a page. */
export async function pageAnswer(asked: PageAnswer, count: number, piece: number): Promise<Job> {
  const { mounted } = asked
  const deltas = numbered(count, piece)
  const served = await serve(asked, deltas)
  const page = await (await browser()).newPage()
  const complaints: string[] = []
  page.on('pageerror', error => complaints.push(error.message))
  await page.goto(served.address)
  await page.waitForFunction(rows => bench.rows() === rows, mounted)
  const used = await metrics(page)
  return job(
    async (): Promise<Told> => {
      const before = await used()
      const [told] = await Promise.all([page.evaluate(words => bench.answer(words), count), served.answer()])
      const after = await used()
      await page.close()
      return { ...told, busy: after.busy - before.busy, script: after.script - before.script }
    },
    ({ text, rows, latencies }) => {
      strictEqual(text, deltas.join(''), 'the text is another')
      // Who asks says something first, but on our page, on which somebody else did.
      strictEqual(rows, mounted + (asked.whose === 'ours' ? 1 : 2))
      strictEqual(latencies.length, count)
      deepStrictEqual([complaints, latencies.filter(ms => !(ms >= 0))], [[], []])
    },
    ({ latencies, commits, ms }) => (asked.asked === 'latency' ? latencies : [commits / (ms / SCREEN_MS)]),
    ({ commits, renders, frames, ms, busy, script }) => {
      const share = (part: number) => `${((100 * part) / ms).toFixed(0)} %`
      return [
        `${commits} commits and ${renders} rows rendered in ${frames} frames of the screen and ${ms.toFixed(0)} ms; ` +
          `main thread ${share(busy)} busy, ${share(script)} in scripts`,
      ]
    },
  )
}
