import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'

/** A suite is the tests of one package or one top-level folder. Its name is the folder's last part: `log`, `studio`, `wide`. */
export type Suite = { name: string; folder: string }

/** Tests that install third-party packages into a folder of their own. They run after the core. */
export const WIDE = 'wide'

const TESTS = '**/*.test.{ts,tsx}'
const EXCLUDED = ['**/node_modules', '**/dist', '**/.*']

/** Paths of all test files, relative to `root`. */
export function testFiles(root: string): string[] {
  return globSync(TESTS, { cwd: root, exclude: EXCLUDED }).map(file => file.replaceAll('\\', '/'))
}

/** The suite that a file belongs to, by its path relative to the root. */
export function suiteOf(file: string): Suite {
  const folder = file.replaceAll('\\', '/').match(/^packages\/[^/]+|^[^/]+/)?.[0] ?? ''
  return { name: folder.replace('packages/', ''), folder }
}

/** All suites, sorted by name. */
export function suites(root: string): Suite[] {
  const found = new Map(testFiles(root).map(file => [suiteOf(file).folder, suiteOf(file)]))
  return [...found.values()].sort((a, b) => a.name.localeCompare(b.name))
}

/**
 * Resolves the names given on the command line to folders and files, relative to `root`: a suite's name, or a path of a folder or file.
 * @throws Error for a name that is neither. The message lists the suites.
 */
export function resolveNames(root: string, names: readonly string[], cwd = root): string[] {
  const all = suites(root)
  return names.map(name => {
    const suite = all.find(each => each.name === name)
    if (suite) return suite.folder
    const path = [resolve(cwd, name), resolve(root, name)].find(existsSync)
    if (path !== undefined) return testPathOf(root, path)
    const list = all.map(each => each.name).join(', ')
    throw new Error(`expected a suite, a folder or a file, found '${name}'. Suites: ${list}`)
  })
}

function testPathOf(root: string, path: string): string {
  const relativePath = relative(root, path).replaceAll('\\', '/')
  if (relativePath === '')
    throw new Error('expected a suite, a folder or a file, found the root: run all suites with npm test')
  if (/\.tsx?$/.test(relativePath) && !/\.test\.tsx?$/.test(relativePath))
    throw new Error(
      `expected a test file, found '${relativePath}': give its folder, or run the tests that a change affects: npm test -- --changed`,
    )
  return relativePath
}

/** Whether `path`, relative to the root, is `folder` or lies inside it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`)
}

/**
 * Whether a test file needs a worker of its own: it replaces modules (`vi.mock`) or the clock (`vi.useFakeTimers`), which timers of
 * other files would then use too, or it runs in a DOM, whose globals libraries read once when they are imported. All other files share
 * workers, which saves importing the same modules for each file.
 */
export function needsOwnWorker(root: string, file: string): boolean {
  return /\bvi\.(mock|useFakeTimers)\(|@vitest-environment/.test(readFileSync(join(root, file), 'utf8'))
}
