// Measures answers on a page, from the token of the model to the frame that shows it. The server, the browser and the measuring process are separate.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { openOnce } from '../../harness/cleanup.ts'
import { type Job, job } from '../../harness/suite.ts'
import { browser, buildPage, type MainThreadUse, metrics } from '../browser.ts'
import { clock, startChild } from '../log/start-child.ts'
import type { PageAddress, ScreenSetup, System } from './open-server.ts'
import { tokensOf } from './scripted-answers.ts'
import type { ServerReply, ServerRequest } from './server.child.ts'

/** Measured quantity: latency from token to screen, CPU time of the main thread, or dropped frames. */
export type ScreenFigure = 'latency' | 'cpu' | 'frames'

/** Report of a page. Times are in ms. */
interface PageReport {
  /** For each answer, the times at which its tokens were painted. */
  readonly times: number[][]
  /** The text of each answer. */
  readonly texts: string[]
  /** Number of messages on the page. */
  readonly rows: number
  /** The times of all frames. */
  readonly frames: number[]
}

interface ScreenMeasurement extends PageReport, MainThreadUse {
  readonly latencies: number[]
  /** From the first produced token to the last painted one, in ms. */
  readonly ms: number
}

declare const bench: {
  now(): number
  rows(): number
  ask(tokens: number): void
  report(): Promise<PageReport>
}

const FRAME_MS = 1000 / 60
const PAGES = join(import.meta.dirname, 'page')
const serverProcess = openOnce(() => startChild<ServerRequest, ServerReply>('../screen/server.child.ts'))

async function openPage({ page: url, conversations }: PageAddress, messages: number): Promise<Page> {
  const page = await (await browser()).newPage()
  await page.addInitScript(plan => Object.assign(globalThis, { plan }), { messages, conversations })
  await page.goto(url)
  await page.waitForFunction(rows => 'bench' in globalThis && bench.rows() === rows, messages * conversations.length)
  return page
}

/** @throws if the page's clock differs from that of the other processes. */
async function checkClock(page: Page): Promise<void> {
  const before = clock()
  const pageTime = await page.evaluate(() => bench.now())
  const after = clock()
  // The browser rounds its clock.
  ok(
    pageTime > before - 1 && pageTime < after + 1,
    `expected the page clock between ${before} and ${after}, found ${pageTime}`,
  )
}

/** Concurrent answers on one page. */
export async function measureScreen(system: System, figure: ScreenFigure, setup: ScreenSetup): Promise<Job> {
  const { answers, messages, tokens } = setup
  const { address: url } = await serverProcess().request({
    kind: 'show',
    system,
    folder: buildPage(PAGES, system),
    setup,
  })
  if (!url) throw new Error('the server did not return the address of the page')
  const page = await openPage(url, messages)
  const pageErrors: string[] = []
  page.on('pageerror', error => pageErrors.push(error.message))
  const readMetrics = await metrics(page)
  await checkClock(page)
  const texts = Array.from({ length: answers }, (_, answer) => tokensOf(setup, answer).join(''))
  return job(
    async (): Promise<ScreenMeasurement> => {
      await Promise.all([page.evaluate(count => bench.ask(count), tokens), serverProcess().request({ kind: 'wait' })])
      const before = await readMetrics()
      const [report, { producedAt = [] }] = await Promise.all([
        page.evaluate(() => bench.report()),
        serverProcess().request({ kind: 'produce' }),
      ])
      const after = await readMetrics()
      await page.close()
      const [first, last] = [
        Math.min(...producedAt.map(([time = 0]) => time)),
        Math.max(...report.times.map(times => times.at(-1) ?? 0)),
      ]
      return {
        ...report,
        latencies: report.times.flatMap((times, i) =>
          times.map((time, k) => time - (producedAt[i]?.[k] ?? Number.NaN)),
        ),
        frames: report.frames.filter(time => time >= first && time <= last),
        ms: last - first,
        busy: after.busy - before.busy,
        script: after.script - before.script,
        cpu: after.cpu - before.cpu,
      }
    },
    measurement => {
      deepStrictEqual(measurement.texts, texts, 'expected the page to show the texts of the model')
      strictEqual(
        measurement.rows,
        answers * (messages + 2),
        'expected the earlier messages, a question and an answer in each conversation',
      )
      strictEqual(measurement.latencies.length, answers * tokens)
      deepStrictEqual([pageErrors, measurement.latencies.filter(ms => !(ms >= 0))], [[], []])
    },
    measurement => figuresOf(figure, measurement),
    measurement => [remarkOf(measurement)],
  )
}

const droppedShare = ({ frames, ms }: ScreenMeasurement): number => Math.max(0, 1 - frames.length / (ms / FRAME_MS))

function figuresOf(figure: ScreenFigure, measurement: ScreenMeasurement): number[] {
  if (figure === 'latency') return measurement.latencies
  return [figure === 'cpu' ? measurement.cpu / measurement.ms : droppedShare(measurement)]
}

function remarkOf(measurement: ScreenMeasurement): string {
  const { frames, ms, busy, script, cpu, latencies } = measurement
  const longest = Math.max(...frames.slice(1).map((time, i) => time - (frames[i] ?? time)))
  const share = (part: number) => `${(100 * part).toFixed(0)} %`
  return (
    `${frames.length} frames in ${ms.toFixed(0)} ms, ${share(droppedShare(measurement))} dropped, the longest ${longest.toFixed(0)} ms; ` +
    `main thread ${share(busy / ms)} busy (wall time), ${share(script / ms)} in scripts, ${(cpu / latencies.length).toFixed(3)} ms of CPU per token`
  )
}
