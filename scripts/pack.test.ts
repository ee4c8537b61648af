// The packages as a user gets them: installed from the tarballs, imported, bundled, type-checked.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build, stop } from 'esbuild'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { command, root } from './command.ts'
import { browserSafe } from './imports.ts'
import { entryPoints, packages } from './manifests.ts'
import { tarballs } from './tarball.ts'

const open = packages(root).filter(({ manifest }) => !manifest.private)
const home = mkdtempSync(join(tmpdir(), 'millrace-pack-'))

beforeAll(async () => {
  writeFileSync(join(home, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  // As in a fresh clone: `prepack` has to build the page.
  rmSync(join(root, 'packages/cli/page'), { recursive: true, force: true })
  const files = (await tarballs(home)).map(({ file }) => file)
  const packageNames = open.map(({ manifest }) => manifest.name)
  const peers = open.flatMap(({ manifest }) => Object.entries(manifest.peerDependencies ?? {}))
  const others = peers.filter(([name]) => !packageNames.includes(name)).map(([name, range]) => `${name}@${range}`)
  const flags = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error']
  const { code, output } = await command('npm', ['install', ...flags, ...files, ...others], { cwd: home, quiet: true })
  expect(output, 'npm install').toSatisfy(() => code === 0)
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

const isSafe = (folder: string): boolean => browserSafe.has(folder.replace('packages/', ''))

describe.each([
  ['a browser', open.filter(({ folder }) => isSafe(folder)).flatMap(entryPoints)],
  ['Node', open.filter(({ folder }) => !isSafe(folder)).flatMap(entryPoints)],
] as const)('the entry points for %s', (target, entries) => {
  const fileOf = (entry: string) => `use-${entry.replace(/\W+/g, '-')}.ts`

  beforeAll(() => {
    for (const entry of entries) {
      const text = `import * as all from '${entry}'\nexport const names = Object.keys(all)\nexport * from '${entry}'\n`
      writeFileSync(join(home, fileOf(entry)), text)
    }
  })

  test('import under Node', async () => {
    const script = `
      const found = {}
      for (const entry of ${JSON.stringify(entries)}) {
        found[entry] = await import(entry).then(all => Object.keys(all).length > 0, String)
      }
      console.log(JSON.stringify(found))`
    const { code, output } = await command('node', ['--input-type=module', '-e', script], { cwd: home, quiet: true })
    expect({ code, output }).toMatchObject({ code: 0 })
    expect(JSON.parse(output)).toEqual(Object.fromEntries(entries.map(entry => [entry, true])))
  })

  test(`bundle for ${target}`, async () => {
    onTestFinished(stop)
    const { errors, warnings, outputFiles } = await build({
      entryPoints: entries.map(entry => join(home, fileOf(entry))),
      outdir: join(home, 'bundles'),
      bundle: true,
      format: 'esm',
      platform: target === 'Node' ? 'node' : 'browser',
      write: false,
      logLevel: 'silent',
    })
    expect([...errors, ...warnings]).toEqual([])
    expect(outputFiles.filter(({ text }) => text.length > 0)).toHaveLength(entries.length)
  })

  test('have types that do not depend on the workspace', async () => {
    const compilerOptions = {
      noEmit: true,
      strict: true,
      module: 'nodenext',
      target: 'es2023',
      lib: ['es2023', 'dom'],
      // Packages for Node alone are used with the types of Node.
      types: target === 'Node' ? ['node'] : [],
    }
    const config = `tsconfig-${target === 'Node' ? 'node' : 'browser'}.json`
    writeFileSync(join(home, config), JSON.stringify({ compilerOptions, files: entries.map(fileOf) }))
    const args = ['-p', config, '--listFiles']
    const { code, output } = await command('tsc', args, { cwd: home, quiet: true })
    const lines = output.trim().split('\n')
    expect({ code, complaints: lines.filter(line => !line.startsWith('/')) }).toEqual({ code: 0, complaints: [] })
    // Checked one by one, because the types of Node that one entry point loads would hide that another needs them.
    expect(lines.some(line => line.includes('@types/node/'))).toBe(target === 'Node')
  })
})

test('the command of the package runs and serves the studio', async () => {
  const { code, output } = await command('node_modules/.bin/millrace', ['--version'], { cwd: home, quiet: true })
  const { version } = JSON.parse(readFileSync(join(root, 'packages/cli/package.json'), 'utf8'))
  expect({ code, output: output.trim() }).toMatchObject({ code: 0, output: expect.stringContaining(version) })
  expect(readFileSync(join(home, 'node_modules/@millrace/cli/page/index.html'), 'utf8')).toContain('<div id="root">')
})

test('every package builds its content before it is packed', () => {
  const prepack = 'node ../../scripts/bootstrap.mjs prepack'
  expect(open.filter(({ manifest }) => manifest.scripts?.['prepack'] !== prepack)).toEqual([])
})

test('all packages have the same version and are in one fixed group of changesets', () => {
  const { fixed } = JSON.parse(readFileSync(join(root, '.changeset/config.json'), 'utf8'))
  expect(fixed.map((group: string[]) => group.toSorted())).toEqual([open.map(({ manifest }) => manifest.name).sort()])
  expect(new Set(open.map(({ manifest }) => manifest.version)).size).toBe(1)
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  expect(changelog).toContain(`\n## ${open[0]?.manifest.version}\n`)
})
