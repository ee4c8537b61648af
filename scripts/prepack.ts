// The `prepack` of every package: its `dist/`, which scripts/bootstrap.mjs has built, and for the command the page of the studio.
import { cp, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { build } from '../studio/build.ts'

const folder = process.cwd()
if (basename(folder) === 'cli') {
  const page = join(folder, 'page')
  await rm(page, { recursive: true, force: true })
  await cp(await build(), page, { recursive: true })
}
