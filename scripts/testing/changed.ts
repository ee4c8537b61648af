import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { command } from '../command.ts'
import { isWithin, suiteOf, testFiles, WIDE } from './suites.ts'

/** Files that no test reads. */
const WITHOUT_TESTS = /^\.ci\/|^LICENSE$|^CONTRIBUTING\.md$/

/** In a test that reads pages or READMEs, to run what they show. */
const READS_PAGES = /\.md['"`]|README/

/** Tests that build or start what they test, without an import that shows it, by the files that they build from. */
const BUILT_FROM: readonly (readonly [files: RegExp, tests: RegExp])[] = [
  [/^docs\//, /^scripts\/site/],
  [/^packages\//, /^scripts\/(pack|manifests|imports)\.test|^packages\/cli\/|^examples\/|^studio\/[^/]+$/],
  [/^(studio|examples)\//, /^packages\/cli\/|^examples\/|^studio\//],
]

/** Files at the root and scripts decide how every test runs. */
const EVERYWHERE = /^[^/]+$|^scripts\//

/** Paths that differ from a commit, including untracked files. */
export async function changedFiles(commit = 'HEAD'): Promise<string[]> {
  // Compares with the merge base, in case the commit has moved on.
  const [base = commit] = await git('merge-base', commit, 'HEAD')
  const lists = await Promise.all([
    git('diff', '--name-only', '--no-renames', base, '--'),
    git('ls-files', '--others', '--exclude-standard'),
  ])
  return [...new Set(lists.flat())].sort()
}

/**
 * Returns `everything`, or the files to hand to vitest, which finds the tests that import them. All tests of the
 * suite of a changed file run, because some tests start files as processes, which no import shows.
 */
export function affectedBy(root: string, changed: readonly string[]): 'everything' | string[] {
  const pages = changed.filter(file => file.endsWith('.md'))
  const files = changed.filter(file => !file.endsWith('.md') && !WITHOUT_TESTS.test(file))
  if (files.some(file => EVERYWHERE.test(file))) return 'everything'
  const folders = new Set(files.map(file => suiteOf(file).folder))
  const built = BUILT_FROM.filter(([from]) => files.some(file => from.test(file))).map(([, tests]) => tests)
  const isAffected = (file: string) =>
    folders.has(suiteOf(file).folder) ||
    built.some(tests => tests.test(file)) ||
    (pages.length > 0 && READS_PAGES.test(readFileSync(join(root, file), 'utf8')))
  const affected = [...new Set([...files, ...testFiles(root).filter(isAffected)])]
  // The wide suites run apart, with packages of their own.
  return affected.filter(file => !isWithin(file, WIDE) && existsSync(join(root, file)))
}

async function git(...args: string[]): Promise<string[]> {
  const { code, output } = await command('git', ['-c', 'core.quotepath=off', ...args], { quiet: true })
  if (code !== 0) throw new Error(`git ${args.join(' ')} failed:\n${output}`)
  return output.split('\n').filter(line => line !== '')
}
