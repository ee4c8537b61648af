import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compileCache } from '../../scripts/compile-cache.ts'

const here = import.meta.dirname
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-example-'))
  for (const file of ['approval.ts', 'package.json']) cpSync(join(here, file), join(folder, file))
  symlinkSync(join(here, 'node_modules'), join(folder, 'node_modules'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs the example like `npm start` to its end. Returns its output. */
const run = (...args: string[]): string =>
  execFileSync(process.execPath, ['--conditions=@millrace/source', 'approval.ts', ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, ...compileCache },
  })

const asks = (session: string) => `${session} asks: { order: 'A7', euros: 40 }\npaused \n`

test('waits without a process and continues after another process has answered', () => {
  expect(run('s1')).toBe(asks('s1'))
  // Started again, it waits for the same approval.
  expect(run('s1')).toBe(asks('s1'))
  expect(run('s1', 'yes')).toBe('')
  expect(run('s1')).toBe('completed The money is on its way.\n')
  expect(run('s1')).toBe('completed The money is on its way.\n')
})

test('does not pay after a denial', () => {
  expect(run('s2')).toBe(asks('s2'))
  expect(run('s2', 'no', 'Not twice.')).toBe('')
  expect(run('s2')).toBe('completed I may not.\n')
})
