// A page of React components in Chromium that shows a streaming answer while many messages are mounted.
import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import { join } from 'node:path'
import { numberedDeltas } from '../../fixtures/paced.ts'
import { type Job, job } from '../../harness/suite.ts'
import { browser, buildPage, metrics } from '../browser.ts'
import { SCREEN_MS } from './clock.ts'

export type Peer = 'mui' | 'ai' | 'tanstack'

/** A server with a conversation: the URL of its page, and a function that produces an answer. */
export interface ServedPage {
  readonly url: string
  answer(): Promise<void>
}

/** Measured quantity: from the arrival of each word to the document change, or React commits per 16 ms. */
export type PageFigure = 'latency' | 'commits'

/** The system under test, the number of mounted messages, and the ms between two words. */
export interface PageAnswer {
  readonly system: 'ours' | Peer
  readonly mounted: number
  readonly paceMs: number
  readonly figure: PageFigure
}

/** Measurements of one answer, reported by the page. */
interface PageMeasurement {
  readonly latencies: number[]
  readonly ms: number
  readonly commits: number
  readonly renders: number
  readonly frames: number
  readonly text: string
  readonly rows: number
  /** Wall time of the main thread in ms, in total and in scripts. */
  readonly busy: number
  readonly script: number
}

declare const bench: { rows(): number; answer(words: number): Promise<Omit<PageMeasurement, 'busy' | 'script'>> }

const PAGES = join(import.meta.dirname, 'page')

async function serve({ system, mounted, paceMs }: PageAnswer, deltas: string[]): Promise<ServedPage> {
  const [folder, paced] = [buildPage(PAGES, system), { deltas, paceMs }]
  if (system === 'ours') return (await import('./serve-ours.ts')).serveOurs(folder, mounted, paced)
  return (await import('./serve-peer.ts')).servePeer(system, folder, mounted, paced)
}

/** Streams an answer of `count` words to a page. */
export async function pageAnswer(pageAnswerOptions: PageAnswer, count: number, workIndex: number): Promise<Job> {
  const { mounted } = pageAnswerOptions
  const deltas = numberedDeltas(count, workIndex)
  const served = await serve(pageAnswerOptions, deltas)
  const page = await (await browser()).newPage()
  const pageErrors: string[] = []
  page.on('pageerror', error => pageErrors.push(error.message))
  await page.goto(served.url)
  await page.waitForFunction(rows => bench.rows() === rows, mounted)
  const readMetrics = await metrics(page)
  return job(
    async (): Promise<PageMeasurement> => {
      const before = await readMetrics()
      const [measured] = await Promise.all([page.evaluate(words => bench.answer(words), count), served.answer()])
      const after = await readMetrics()
      await page.close()
      return { ...measured, busy: after.busy - before.busy, script: after.script - before.script }
    },
    ({ text, rows, latencies }) => {
      strictEqual(text, deltas.join(''), 'expected the page to show the text of the model')
      // The pages of peers also show the user's message. On ours another client has sent it.
      strictEqual(rows, mounted + (pageAnswerOptions.system === 'ours' ? 1 : 2))
      strictEqual(latencies.length, count)
      deepStrictEqual([pageErrors, latencies.filter(ms => !(ms >= 0))], [[], []])
    },
    ({ latencies, commits, ms }) => (pageAnswerOptions.figure === 'latency' ? latencies : [commits / (ms / SCREEN_MS)]),
    ({ commits, renders, frames, ms, busy, script }) => {
      const share = (part: number) => `${((100 * part) / ms).toFixed(0)} %`
      return [
        `${commits} commits and ${renders} rows rendered in ${frames} frames of the screen and ${ms.toFixed(0)} ms; ` +
          `main thread ${share(busy)} busy, ${share(script)} in scripts`,
      ]
    },
  )
}
