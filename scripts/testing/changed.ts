import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { command } from '../command.ts'
import { suiteOf, testFiles } from './suites.ts'

/** Files that no test reads. */
const WITHOUT_TESTS = /^\.ci\/|^LICENSE$|^CONTRIBUTING\.md$|^docs\/images\//

/** In a test that reads pages or READMEs, to run what they show. */
const READS_PAGES = /\.md['"`]|README/

/** Files at the root and scripts decide how every test runs. */
const EVERYWHERE = /^[^/]+$|^scripts\//

/** The paths that differ from a commit, with those that git does not track yet. */
export async function changedFiles(commit = 'HEAD'): Promise<string[]> {
  const lists = await Promise.all([
    git('diff', '--name-only', '--no-renames', commit),
    git('ls-files', '--others', '--exclude-standard'),
  ])
  return [...new Set(lists.flat())].sort()
}

/**
 * Returns `everything`, or the files to hand to vitest, which finds the tests that import them. The suite of a
 * changed file runs whole, because some tests start files as processes, which no import shows.
 */
export function affectedBy(root: string, changed: readonly string[]): 'everything' | string[] {
  const pages = changed.filter(file => file.endsWith('.md'))
  const files = changed.filter(file => !file.endsWith('.md') && !WITHOUT_TESTS.test(file))
  if (files.some(file => EVERYWHERE.test(file))) return 'everything'
  const folders = new Set(files.map(file => suiteOf(file).folder))
  const isAffected = (file: string) =>
    folders.has(suiteOf(file).folder) || (pages.length > 0 && READS_PAGES.test(readFileSync(join(root, file), 'utf8')))
  return [...new Set([...files, ...testFiles(root).filter(isAffected)])]
}

async function git(...args: string[]): Promise<string[]> {
  const { code, output } = await command('git', args, { quiet: true })
  if (code !== 0) throw new Error(`git ${args.join(' ')} failed:\n${output}`)
  return output.split('\n').filter(line => line !== '')
}
