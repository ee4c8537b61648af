import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './command.ts'
import { folder } from './folder.fixture.ts'
import { isTest } from './imports.ts'
import { layers, layerViolations } from './layers.ts'

/** The violations in a package `log` with these files, under `src`. */
function violations(
  files: Record<string, string>,
  rows = [['error'], ['store', 'ticket'], ['stores/memory', 'stores']],
) {
  const placed = Object.fromEntries(Object.entries(files).map(([file, text]) => [`packages/log/src/${file}`, text]))
  const manifest = JSON.stringify({ exports: { '.': './src/index.ts' }, bin: { log: './dist/main.js' } })
  return layerViolations(folder({ ...placed, 'packages/log/package.json': manifest }), { log: rows })
}

const files = {
  'index.ts': "export * from './stores/memory/memory-store.ts'",
  'error/error.ts': 'export type A = 1',
  'store/store.ts': "import '../error/error.ts'",
  'ticket/ticket.ts': 'export type B = 1',
  'stores/open.ts': "import '../store/store.ts'",
  'stores/memory/memory-store.ts': "import type { A } from '../../error/error.ts'",
}

test('allows imports of lower folders and of the own folder', () => {
  expect(violations({ ...files, 'store/other.ts': "import './store.ts'" })).toEqual([])
})

test.each([
  ['upwards', { 'error/error.ts': "import '../store/store.ts'" }, 'error may not import store'],
  [
    'upwards, of a type',
    { 'error/error.ts': "import type { A } from '../store/store.ts'" },
    'error may not import store',
  ],
  [
    'upwards, inside a type',
    { 'error/error.ts': "export type A = import('../store/store.ts').A" },
    'error may not import store',
  ],
  [
    'upwards, of the type of a module',
    { 'error/error.ts': "export type A = typeof import('../store/store.ts')" },
    'error may not import store',
  ],
  ['of a folder in the same row', { 'store/store.ts': "import '../ticket/ticket.ts'" }, 'store may not import ticket'],
  ['of an entry point', { 'store/store.ts': "import '../index.ts'" }, 'store may not import src'],
  [
    'of a nested folder in the same row',
    { 'stores/open.ts': "import './memory/memory-store.ts'" },
    'stores may not import stores/memory',
  ],
])('rejects an import %s', (_, changed, reason) => {
  expect(violations({ ...files, ...changed })).toEqual([expect.stringContaining(reason)])
})

test('rejects a folder without a layer and a layer without files', () => {
  expect(violations({ ...files, 'new/a.ts': 'export const a = 1' })).toEqual([
    expect.stringContaining('is not in the layers'),
  ])
  expect(violations(files, [['error'], ['store', 'ticket'], ['stores/memory', 'stores'], ['gone']])).toEqual([
    expect.stringContaining('gone: has a layer and no source file'),
  ])
})

test('rejects a folder without a layer inside one that has a layer', () => {
  expect(violations({ ...files, 'stores/new/new-store.ts': 'export const a = 1' })).toEqual([
    expect.stringContaining('stores/new/new-store.ts: its folder is not in the layers'),
  ])
})

test('rejects a file beside the entry points that the package does not export', () => {
  expect(violations({ ...files, 'main.ts': "import './store/store.ts'" })).toEqual([])
  expect(violations({ ...files, 'helper.ts': "import './store/store.ts'" })).toEqual([
    expect.stringContaining('helper.ts: is neither in the exports nor in the bin'),
  ])
})

test('gives a file that is listed by its path a layer of its own', () => {
  const rows = [['error'], ['store', 'ticket', 'stores/types.ts'], ['stores/memory'], ['stores']]
  const withTypes = { ...files, 'stores/types.ts': "import '../error/error.ts'" }
  const memoryStore = 'stores/memory/memory-store.ts'
  expect(violations({ ...withTypes, [memoryStore]: "import '../types.ts'" }, rows)).toEqual([])
  expect(violations({ ...withTypes, [memoryStore]: "import '../open.ts'" }, rows)).toEqual([
    expect.stringContaining('stores/memory may not import stores'),
  ])
  expect(violations({ ...withTypes, 'stores/types.ts': "import './open.ts'" }, rows)).toEqual([
    expect.stringContaining('stores/types.ts may not import stores'),
  ])
})

test('ignores tests and fixtures', () => {
  expect(violations({ ...files, 'error/error.test.ts': "import '../store/store.ts'", 'x/a.fixture.ts': '' })).toEqual(
    [],
  )
})

test('has the same files and folders in every dialect, and no helper beside the encoder', () => {
  const src = join(root, 'packages/dialects/src')
  const formats = readdirSync(src, { withFileTypes: true })
    .filter(({ name }) => layers['dialects']?.flat().includes(`${name}/types.ts`))
    .map(({ name }) => name)
  expect(formats.length).toBeGreaterThan(5)
  const clients = ['server.ts', 'transport.ts', 'adapter.ts']
  const roots = ['index.ts', 'types.ts', 'encoder.ts', 'decoder.ts', 'schemas.ts', ...clients]
  const folders = ['events', 'encode', 'decode', 'messages', 'client']
  const others = formats.flatMap(format =>
    readdirSync(join(src, format))
      .filter(name => !roots.includes(name) && !folders.includes(name) && !isTest(name))
      .map(name => `${format}/${name}`),
  )
  expect(others).toEqual([])
})

test('lists every package', () => {
  expect(Object.keys(layers).sort()).toEqual(readdirSync(join(root, 'packages')).sort())
})
