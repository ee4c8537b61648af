// Makes old-server.mjs.gz again: the program upgrade-server.fixture.ts with the packages of an earlier commit.
//
//   node packages/server/src/test/upgrade/build-old-server.fixture.ts
//
// It needs the commit in the local repository. Packages of others come from the current `node_modules`.

import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build, type Plugin } from 'esbuild'

/** The last commit before sessions of several owners could have the same id. */
const COMMIT = 'e16a3814'

const root = join(import.meta.dirname, '../../../../..')
const folder = join(mkdtempSync(join(tmpdir(), 'millrace-old-')), 'tree')
const git = (...args: string[]) => execFileSync('git', args, { cwd: root, stdio: 'inherit' })

/** Takes the packages of Millrace, this one included, from the sources of the commit. */
const oldPackages: Plugin = {
  name: 'old-packages',
  setup({ onResolve }) {
    onResolve({ filter: /^@millrace\// }, ({ path }) => {
      const [, name = '', ...rest] = path.split('/')
      const home = join(folder, 'packages', name)
      const { exports } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
      return { path: join(home, exports[['.', ...rest].join('/')]['@millrace/source']) }
    })
    onResolve({ filter: /^(\.\.\/){2}app\// }, ({ path, importer }) => {
      if (!importer.startsWith(import.meta.dirname)) return undefined
      return { path: join(folder, 'packages/server/src', path.replaceAll('../', '')) }
    })
  },
}

git('worktree', 'add', '--detach', folder, COMMIT)
try {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, 'upgrade-server.fixture.ts')],
    write: false,
    bundle: true,
    minify: true,
    keepNames: true,
    platform: 'node',
    format: 'esm',
    target: 'node22',
    plugins: [oldPackages],
    nodePaths: globSync(join(root, 'packages/*/node_modules')),
    banner: { js: "import { createRequire } from 'node:module';const require = createRequire(import.meta.url);" },
  })
  const [output] = outputFiles
  if (output === undefined) throw new Error('esbuild: expected one output, found none')
  writeFileSync(join(import.meta.dirname, 'old-server.mjs.gz'), gzipSync(output.contents, { level: 9 }))
} finally {
  git('worktree', 'remove', '--force', folder)
  rmSync(join(folder, '..'), { recursive: true, force: true })
}
