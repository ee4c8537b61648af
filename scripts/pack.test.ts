// What is published, as a stranger meets it: installed from the tarball, imported, bundled, type-checked.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { command, root } from './command.ts'
import { browserSafe } from './imports.ts'
import { entryPoints, packages } from './manifests.ts'
import { tarballs } from './tarball.ts'

const open = packages(root).filter(({ manifest }) => !manifest.private)
const home = mkdtempSync(join(tmpdir(), 'millrace-pack-'))
afterAll(() => rmSync(home, { recursive: true, force: true }), 60_000)

beforeAll(async () => {
  writeFileSync(join(home, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  const files = (await tarballs(home)).map(({ file }) => file)
  const own = open.map(({ manifest }) => manifest.name)
  const peers = open.flatMap(({ manifest }) => Object.entries(manifest.peerDependencies ?? {}))
  const others = peers.filter(([name]) => !own.includes(name)).map(([name, range]) => `${name}@${range}`)
  const flags = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error']
  const { code, output } = await command('npm', ['install', ...flags, ...files, ...others], { cwd: home, quiet: true })
  expect(output, 'npm install').toSatisfy(() => code === 0)
}, 180_000)

describe.each(open.map(pkg => [pkg.manifest.name ?? pkg.folder, pkg] as const))('%s', (_, pkg) => {
  const safe = browserSafe.has(pkg.folder.replace('packages/', ''))

  test.each(entryPoints(pkg))('%s imports under Node', { timeout: 30_000 }, async entry => {
    const script = `console.log(Object.keys(await import('${entry}')).length)`
    const { code, output } = await command('node', ['--input-type=module', '-e', script], { cwd: home, quiet: true })
    expect({ code, output }).toMatchObject({ code: 0 })
    expect(Number(output)).toBeGreaterThan(0)
  })

  test.each(entryPoints(pkg))(`%s bundles for ${safe ? 'a browser' : 'Node'}`, async entry => {
    const { errors, warnings, outputFiles } = await build({
      stdin: { contents: `export * from '${entry}'`, resolveDir: home },
      bundle: true,
      format: 'esm',
      platform: safe ? 'browser' : 'node',
      write: false,
      logLevel: 'silent',
    })
    expect([...errors, ...warnings]).toEqual([])
    expect(outputFiles[0]?.text.length).toBeGreaterThan(0)
  })

  test.each(entryPoints(pkg))('%s has types that need nothing of ours', { timeout: 60_000 }, async entry => {
    const file = `use${entry.replace(/\W+/g, '-')}.ts`
    writeFileSync(join(home, file), `import * as all from '${entry}'\nexport const names = Object.keys(all)\n`)
    const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2023', '--lib', 'es2023,dom']
    // What runs in Node alone is used where the types of Node are.
    const types = safe ? [] : ['--types', 'node']
    const { code, output } = await command('tsc', [...flags, ...types, file], { cwd: home, quiet: true })
    expect({ code, output }).toEqual({ code: 0, output: '' })
  })
})

test('the command of the package runs, and carries the studio', { timeout: 30_000 }, async () => {
  const { code, output } = await command('node_modules/.bin/millrace', ['--version'], { cwd: home, quiet: true })
  const { version } = JSON.parse(readFileSync(join(root, 'packages/cli/package.json'), 'utf8'))
  expect({ code, output: output.trim() }).toMatchObject({ code: 0, output: expect.stringContaining(version) })
  expect(readFileSync(join(home, 'node_modules/@millrace/cli/page/index.html'), 'utf8')).toContain('<div id="root">')
})
