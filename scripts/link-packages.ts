import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './command.ts'

/** Folders with the dependencies of the code of the pages. The first that has a package provides it. */
const HOMES = ['interop', 'packages/runtime', 'packages/server', 'packages/react', 'examples/agent', 'examples/demo']

/** Links all packages that the pages may import into a `node_modules` folder. */
export function linkPackages(into: string): void {
  mkdirSync(join(into, '@millrace'), { recursive: true })
  // No page imports the command.
  symlinkSync(join(root, 'packages/cli'), join(into, '@millrace/cli'))
  for (const home of HOMES) {
    const from = join(root, home, 'node_modules')
    const names = readdirSync(from).filter(name => !name.startsWith('.'))
    for (const name of names.flatMap(each =>
      each.startsWith('@') ? readdirSync(join(from, each)).map(sub => `${each}/${sub}`) : each,
    )) {
      if (existsSync(join(into, name))) continue
      mkdirSync(dirname(join(into, name)), { recursive: true })
      symlinkSync(join(from, name), join(into, name))
    }
  }
}
