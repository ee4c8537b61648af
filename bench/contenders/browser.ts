// Builds and opens pages in Chromium, and reads the metrics of their main thread.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildSync, stop } from 'esbuild'
import { chromium as browserType, type Page } from 'playwright-core'
import { chromium } from '../../scripts/services/chromium.ts'
import { onCleanup, openOnce } from '../harness/cleanup.ts'

/** Builds a page and its script for production and returns the folder. `watch.js` beside the script is loaded first. */
export const buildPage = openOnce((scripts: string, name: string): string => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-page-'))
  onCleanup(() => rmSync(folder, { recursive: true, force: true }))
  // Ends the thread of esbuild.
  onCleanup(stop)
  const isSource = import.meta.resolve('@millrace/client').endsWith('.ts')
  buildSync({
    entryPoints: [join(scripts, `${name}.jsx`)],
    outfile: join(folder, 'page.js'),
    // React looks for its devtools hook when it is loaded.
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

/** The one browser of this process. */
export const browser = openOnce(async () => {
  const started = await browserType.launch(await chromium())
  onCleanup(() => started.close())
  return started
})

/** Work of a page's main thread, in ms: wall time in total and in scripts, and CPU time. */
export interface MainThreadUse {
  readonly busy: number
  readonly script: number
  readonly cpu: number
}

/** Returns a function that reads the work of a page's main thread so far. */
export async function metrics(page: Page): Promise<() => Promise<MainThreadUse>> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    const msOf = (name: string) => 1000 * (metrics.find(metric => metric.name === name)?.value ?? Number.NaN)
    return { busy: msOf('TaskDuration'), script: msOf('ScriptDuration'), cpu: msOf('ThreadTime') }
  }
}
