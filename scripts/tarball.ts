import { join } from 'node:path'
import { command, root } from './command.ts'
import { type Package, packages } from './manifests.ts'

/** A package as it would be published. */
export type Tarball = { pkg: Package; file: string }

/** Packs every package that is not private into the folder, as publishing would: `prepack` builds the content. */
export async function tarballs(into: string): Promise<Tarball[]> {
  const open = packages(root).filter(({ manifest }) => !manifest.private)
  return Promise.all(open.map(async pkg => ({ pkg, file: await pack(pkg, into) })))
}

async function pack({ folder }: Package, into: string): Promise<string> {
  const cwd = join(root, folder)
  const { code, output } = await command('pnpm', ['pack', '--json', '--pack-destination', into], { cwd, quiet: true })
  if (code !== 0) throw new Error(`${folder} does not pack:\n${output}`)
  // The lines of `prepack` are in the output too.
  const [json] = /^\{$.*^\}$/ms.exec(output) ?? []
  if (json === undefined) throw new Error(`pnpm pack of ${folder}: expected a JSON object, found:\n${output}`)
  return JSON.parse(json).filename
}
