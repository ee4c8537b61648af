import { expect, test } from 'vitest'
import { folder } from './folder.fixture.ts'
import { entryPoints, manifestViolations, packages } from './manifests.ts'

const good = {
  name: '@millrace/log',
  description: 'The log.',
  keywords: ['millrace', 'log'],
  license: 'MIT',
  type: 'module',
  sideEffects: false,
  engines: { node: '>=22.18' },
  exports: {
    '.': { types: './dist/index.d.ts', default: './dist/index.js' },
    './memory': { types: './dist/memory.d.ts', default: './dist/memory.js' },
    './package.json': './package.json',
  },
  files: ['dist', 'src', '!src/**/*.test.ts', '!src/**/*.fixture.ts'],
}

function workspace(manifest: object, name = 'log'): string {
  return folder({
    [`packages/${name}/package.json`]: JSON.stringify(manifest),
    [`packages/${name}/README.md`]: '# Log',
  })
}

test('accepts a complete manifest and lists its entry points', () => {
  const root = workspace(good)
  expect(manifestViolations(root)).toEqual([])
  expect(packages(root).flatMap(entryPoints)).toEqual(['@millrace/log', '@millrace/log/memory'])
})

test.each([
  ['description', { description: 'The log' }],
  ['keywords', { keywords: ['log'] }],
  ['engines', { engines: { node: '>=18' } }],
  ['license', { license: 'ISC' }],
  ['type', { type: undefined }],
  ['sideEffects', { sideEffects: undefined }],
  ['name', { name: '@millrace/logs' }],
  ['exports', { exports: {} }],
  ['types', { exports: { '.': { default: './dist/index.js' } } }],
  ['types', { exports: { '.': './dist/index.js' } }],
  ['test.ts', { files: ['dist', 'src', '!src/**/*.fixture.ts'] }],
  ['fixture.ts', { files: ['dist', 'src', '!src/**/*.test.ts'] }],
])('rejects a wrong %s', (field, change) => {
  expect(manifestViolations(workspace({ ...good, ...change }))).toEqual([expect.stringContaining(field)])
})

test('requires a README and a row in the table of arrows', () => {
  const bare = folder({ 'packages/log/package.json': JSON.stringify(good) })
  expect(manifestViolations(bare)).toEqual(['packages/log: a README.md is missing'])
  const stranger = workspace({ ...good, name: '@millrace/stranger' }, 'stranger')
  expect(manifestViolations(stranger)).toEqual([expect.stringContaining('no arrows')])
})

test('requires that a package with .tsx files excludes .tsx tests', () => {
  const files = { 'packages/log/README.md': '# Log', 'packages/log/src/a.tsx': '' }
  const bare = folder({ ...files, 'packages/log/package.json': JSON.stringify(good) })
  expect(manifestViolations(bare)).toEqual([
    expect.stringContaining('!src/**/*.test.tsx'),
    expect.stringContaining('!src/**/*.fixture.tsx'),
  ])
  const both = { ...good, files: [...good.files, '!src/**/*.test.tsx', '!src/**/*.fixture.tsx'] }
  expect(manifestViolations(folder({ ...files, 'packages/log/package.json': JSON.stringify(both) }))).toEqual([])
})
