// Pages in a real browser: how one is built and shown, and what its main thread does.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildSync, stop } from 'esbuild'
import { chromium as browsers, type Page } from 'playwright-core'
import { chromium } from '../../scripts/services/chromium.ts'
import { onCleanup, openOnce } from '../harness/cleanup.ts'

/** A folder with a page and its script, as it would be shipped: `watch.js` beside the script comes before everything else in it. */
export const built = openOnce((scripts: string, name: string): string => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-page-'))
  onCleanup(() => rmSync(folder, { recursive: true, force: true }))
  // Ends the thread that it builds in.
  onCleanup(stop)
  const isSource = import.meta.resolve('@millrace/client').endsWith('.ts')
  buildSync({
    entryPoints: [join(scripts, `${name}.jsx`)],
    outfile: join(folder, 'page.js'),
    // React looks for who counts its commits when it is loaded.
    inject: [join(scripts, 'watch.js')],
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2023',
    jsx: 'automatic',
    conditions: isSource ? ['@millrace/source'] : [],
    define: { 'process.env.NODE_ENV': '"production"' },
    logLevel: 'silent',
  })
  const body = '<div id="root"></div><script type="module" src="/page.js"></script>'
  writeFileSync(join(folder, 'index.html'), `<!doctype html><meta charset="utf-8"><title>Bench</title>${body}`)
  return folder
})

/** The browser of this process. */
export const browser = openOnce(async () => {
  const started = await browsers.launch(await chromium())
  onCleanup(() => started.close())
  return started
})

/** What the main thread of a page has done, in milliseconds: by the clock in all and in scripts, and of a processor. */
export interface Used {
  readonly busy: number
  readonly script: number
  readonly cpu: number
}

/** Tells what the main thread of a page has done so far. */
export async function metrics(page: Page): Promise<() => Promise<Used>> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    const of = (name: string) => 1000 * (metrics.find(metric => metric.name === name)?.value ?? Number.NaN)
    return { busy: of('TaskDuration'), script: of('ScriptDuration'), cpu: of('ThreadTime') }
  }
}
