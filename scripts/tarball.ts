import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from '../studio/build.ts'
import { command, root } from './command.ts'
import { type Package, packages } from './manifests.ts'

/** A packed package. */
export type Tarball = { pkg: Package; file: string }

/** Packs every public package into the folder, like publishing does. */
export async function tarballs(into: string): Promise<Tarball[]> {
  await pageOfCli()
  const open = packages(root).filter(({ manifest }) => !manifest.private)
  return Promise.all(open.map(async pkg => ({ pkg, file: await pack(pkg, into) })))
}

async function pack({ folder }: Package, into: string): Promise<string> {
  const cwd = join(root, folder)
  const { code, output } = await command('pnpm', ['pack', '--json', '--pack-destination', into], { cwd, quiet: true })
  if (code !== 0) throw new Error(`${folder} does not pack:\n${output}`)
  return JSON.parse(output).filename
}

/** Builds the studio, which the package of the command contains. */
async function pageOfCli(): Promise<void> {
  const page = join(root, 'packages', 'cli', 'page')
  await rm(page, { recursive: true, force: true })
  await cp(await build(), page, { recursive: true })
}
