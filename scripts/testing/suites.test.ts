import { expect, test } from 'vitest'
import { root } from '../command.ts'
import { folder } from '../folder.fixture.ts'
import { affectedBy } from './changed.ts'
import { needsOwnWorker, resolveNames, suiteOf, suites, testFiles } from './suites.ts'

// Joined, so that this file itself does not contain the markers.
const DOM = ['@vitest', 'environment'].join('-')
const MOCK = ['vi', 'mock('].join('.')
const CLOCK = ['vi', 'useFakeTimers()'].join('.')

const workspace = () =>
  folder({
    'packages/log/src/a.test.ts': '',
    'packages/log/src/deep/b.test.tsx': `// ${DOM} jsdom\n`,
    'packages/client/src/c.test.ts': `${MOCK}'./c.ts')\n`,
    'packages/client/src/clock.test.ts': `${CLOCK}\n`,
    'studio/d.test.ts': '',
    'node_modules/x/e.test.ts': '',
  })

test('finds a suite for each package and folder with tests', () => {
  const home = workspace()
  expect(suites(home).map(({ name, folder }) => [name, folder])).toEqual([
    ['client', 'packages/client'],
    ['log', 'packages/log'],
    ['studio', 'studio'],
  ])
  expect(suiteOf('packages/log/src/a.test.ts')).toEqual({ name: 'log', folder: 'packages/log' })
})

test('resolves names of suites and paths', () => {
  const home = workspace()
  expect(resolveNames(home, ['log', 'studio/d.test.ts', 'packages/log/src/deep'])).toEqual([
    'packages/log',
    'studio/d.test.ts',
    'packages/log/src/deep',
  ])
  expect(resolveNames(home, ['src/deep'], `${home}/packages/log`)).toEqual(['packages/log/src/deep'])
})

test('rejects an unknown name and lists the suites', () => {
  const home = workspace()
  expect(() => resolveNames(home, ['.'])).toThrow('run all suites with npm test')
  expect(() => resolveNames(root, ['packages/log/src/store/log-store.ts'])).toThrow(
    "expected a test file, found 'packages/log/src/store/log-store.ts'",
  )
  expect(() => resolveNames(home, ['lgo'])).toThrow(
    "expected a suite, a folder or a file, found 'lgo'. Suites: client, log, studio",
  )
})

test('gives files with a DOM or replaced modules their own worker', () => {
  const home = workspace()
  expect(testFiles(home).filter(file => needsOwnWorker(home, file))).toEqual(
    expect.arrayContaining([
      'packages/client/src/c.test.ts',
      'packages/client/src/clock.test.ts',
      'packages/log/src/deep/b.test.tsx',
    ]),
  )
  expect(needsOwnWorker(home, 'studio/d.test.ts')).toBe(false)
})

test('a changed file affects all tests of its suite and the tests of its builds', () => {
  const home = workspace()
  expect([...affectedBy(home, ['packages/log/src/a.ts'])].sort()).toEqual([
    'packages/log/src/a.test.ts',
    'packages/log/src/deep/b.test.tsx',
    'studio/d.test.ts',
  ])
})

test('a changed script or file at the root affects everything', () => {
  expect(affectedBy(root, ['scripts/faults/proxy.ts'])).toBe('everything')
  expect(affectedBy(root, ['pnpm-lock.yaml', 'studio/src/x.ts'])).toBe('everything')
})

test('a changed page affects the tests that run the code of pages', () => {
  const affected = affectedBy(root, ['docs/guide/log.md', 'README.md'])
  expect(affected).toContain('packages/log/src/docs.test.ts')
  expect(affected).not.toContain('packages/log/src/test/chaos/memory.test.ts')
  expect(affectedBy(root, ['LICENSE'])).toEqual([])
})

test('a change affects tests that build or start the file, and no wide suites', () => {
  expect(affectedBy(root, ['docs/.vitepress/config.ts'])).toContain('scripts/site.test.ts')
  expect(affectedBy(root, ['packages/react/src/index.ts'])).toEqual(
    expect.arrayContaining(['scripts/pack.test.ts', 'studio/chat.test.ts']),
  )
  expect(affectedBy(root, ['wide/deno/server.ts'])).toEqual([])
  expect(affectedBy(root, ['packages/log/src/deleted.ts'])).not.toContain('packages/log/src/deleted.ts')
})
