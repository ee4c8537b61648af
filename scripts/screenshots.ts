// `npm run screenshots`: drives the demo in a temporary folder and writes docs/images/*.png.

import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { dev } from '../packages/cli/src/index.ts'
import { build } from '../studio/build.ts'
import { takePictures } from '../studio/pictures.ts'
import { root } from './command.ts'
import { chromium } from './services/chromium.ts'

/** Maximum size of a screenshot. */
const MAX_BYTES = 250_000

// Without a provider the demo is scripted, so the screenshots are reproducible.
for (const name of ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY']) delete process.env[name]
process.env['DEMO_PACE'] = '1'

const page = await build(line => console.error(line))
const folder = mkdtempSync(join(tmpdir(), 'millrace-screenshots-'))
process.chdir(folder)
const host = await dev({ file: join(root, 'examples', 'demo', 'app.ts'), port: 0, page, reload: false, tell: () => {} })
try {
  for (const file of await takePictures(host.url, join(root, 'docs', 'images'), await chromium())) {
    const { size } = statSync(file)
    console.log(`${relative(root, file)} ${Math.round(size / 1000)} kB`)
    if (size <= MAX_BYTES) continue
    console.error(`${relative(root, file)} is larger than ${MAX_BYTES / 1000} kB: show less in it.`)
    process.exitCode = 1
  }
} finally {
  await host.close()
  process.chdir(root)
  rmSync(folder, { recursive: true, force: true })
}
