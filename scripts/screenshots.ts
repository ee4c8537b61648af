// `npm run screenshots`: drives the demo in a temporary folder and writes docs/images/*.png. Records the server of Get started
// while it is killed, and writes docs/images/kill.svg. `npm run screenshots -- kill` makes only the recording.

import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { chromium as browserType } from 'playwright-core'
import { dev } from '../packages/cli/src/index.ts'
import { build } from '../studio/build.ts'
import { takePictures } from '../studio/pictures.ts'
import { root } from './command.ts'
import { pageProjectOf, writeProject } from './page-project.ts'
import { drawKill } from './recording/draw-kill.ts'
import { recordKill } from './recording/record-kill.ts'
import { chromium } from './services/chromium.ts'

/** Maximum size of a picture. */
const MAX_BYTES = 250_000
/** Time between the kill and the restart in the recording. */
const PAUSE_MS = 1_500

/** The port that Get started shows. */
const PORT = 4400

const images = join(root, 'docs', 'images')
const files = [await killRecording()]
if (process.argv[2] !== 'kill') files.push(...(await screenshots()))
for (const file of files) {
  const { size } = statSync(file)
  console.log(`${relative(root, file)} ${Math.round(size / 1000)} kB`)
  if (size <= MAX_BYTES) continue
  console.error(`${relative(root, file)} is larger than ${MAX_BYTES / 1000} kB: show less in it.`)
  process.exitCode = 1
}

async function killRecording(): Promise<string> {
  const folder = mkdtempSync(join(root, 'interop', '.recording-'))
  const browser = await browserType.launch(await chromium())
  const file = join(images, 'kill.svg')
  try {
    writeProject(pageProjectOf('get-started'), folder)
    writeFileSync(file, drawKill(await recordKill(folder, browser, { port: PORT, pauseMs: PAUSE_MS })))
    return file
  } finally {
    await browser.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function screenshots(): Promise<string[]> {
  // Without a provider the demo is scripted, so the screenshots are reproducible.
  for (const name of ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY']) delete process.env[name]
  process.env['DEMO_PACE'] = '1'
  const page = await build(line => console.error(line))
  const folder = mkdtempSync(join(tmpdir(), 'millrace-screenshots-'))
  process.chdir(folder)
  const host = await dev({
    file: join(root, 'examples', 'demo', 'app.ts'),
    port: 0,
    page,
    reload: false,
    onEvent: () => {},
  })
  try {
    return await takePictures(host.url, images, await chromium())
  } finally {
    await host.close()
    process.chdir(root)
    rmSync(folder, { recursive: true, force: true })
  }
}
