// `npm run tarballs`: packs every package into `tarballs/`, so that a project can install them without a registry.
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from './command.ts'
import { tarballs } from './tarball.ts'

const folder = join(root, 'tarballs')
await rm(folder, { recursive: true, force: true })
await mkdir(folder)
const { length } = await tarballs(folder)
console.log(`Packed ${length} packages. Install them together, in your project:\n\n  npm install ${folder}/*.tgz\n`)
