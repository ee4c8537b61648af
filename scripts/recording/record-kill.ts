import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import { type RunningProgram, startProgram } from '../page-project.ts'

/** Something that a person at the terminal and at the page sees. `atMs` counts from the first command. */
export type RecordedEvent =
  | { readonly atMs: number; readonly type: 'command' | 'output'; readonly line: string }
  /** The complete text of the answer on the page, after each change. */
  | { readonly atMs: number; readonly type: 'answer'; readonly text: string }
  | { readonly atMs: number; readonly type: 'question'; readonly text: string }

export interface KillRecording {
  readonly events: readonly RecordedEvent[]
  readonly port: number
}

export interface RecordKillOptions {
  /** Port of the server. @default 0, a free one */
  readonly port?: number
  /** Time between the kill and the restart, so that a viewer sees the kill. @default 0 */
  readonly pauseMs?: number
}

export const QUESTION = 'Do I need a coat in Ulm?'
export const ANSWER = /^It is 21 degrees in Ulm, .* along the river\.$/
/** The server is killed when the page shows this. */
const KILL_AFTER = 'the wind is calm.'
const WAIT_MS = 120_000

/**
 * Runs the project of Get started in a browser, kills its server with SIGKILL in the middle of an answer, starts it again
 * and waits for the complete answer. Records both the terminal and the page.
 *
 */
export async function recordKill(
  folder: string,
  browser: Browser,
  { port: firstPort = 0, pauseMs = 0 }: RecordKillOptions = {},
): Promise<KillRecording> {
  const start = performance.now()
  const events: RecordedEvent[] = []
  const now = () => Math.round(performance.now() - start)
  const output = (line: string) => events.push({ atMs: now(), type: 'output', line })
  const command = (line: string) => events.push({ atMs: now(), type: 'command', line })
  const running = new Set<RunningProgram>()
  const serve = async (port: string) => {
    command('node server.ts')
    const program = await startProgram(folder, ['server.ts'], { PORT: port }, output)
    running.add(program)
    return program
  }
  const context = await browser.newContext()
  try {
    const first = await serve(`${firstPort}`)
    const { port } = new URL(first.url)
    context.setDefaultTimeout(WAIT_MS)
    const page = await context.newPage()
    await page.exposeFunction('recordAnswer', (text: string) => events.push({ atMs: now(), type: 'answer', text }))
    await page.goto(first.url)
    await page.evaluate(observeAnswer)
    const answer = page.locator('p[data-role=assistant]')
    await page.fill('input', QUESTION)
    events.push({ atMs: now(), type: 'question', text: QUESTION })
    await page.press('input', 'Enter')
    await answer.filter({ hasText: KILL_AFTER }).waitFor()
    command(`kill -9 ${first.child.pid}`)
    const exit = once(first.child, 'exit')
    first.child.kill('SIGKILL')
    await exit
    running.delete(first)
    await sleep(pauseMs)
    await serve(port)
    await answer.filter({ hasText: ANSWER }).waitFor()
    await page.reload()
    await answer.filter({ hasText: ANSWER }).waitFor()
    return { events, port: Number(port) }
  } finally {
    await context.close()
    for (const { child } of running) {
      child.kill('SIGTERM')
      await once(child, 'exit')
    }
  }
}

/** Runs in the page: reports the text of the answer after each change. */
function observeAnswer(): void {
  const record: (text: string) => void = Reflect.get(globalThis, 'recordAnswer')
  let last = ''
  const observer = new MutationObserver(() => {
    const text = document.querySelector('p[data-role=assistant]')?.textContent ?? ''
    if (text === last) return
    last = text
    record(text)
  })
  observer.observe(document.body, { childList: true, characterData: true, subtree: true })
}
