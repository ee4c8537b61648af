import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compileCache } from '../../scripts/compile-cache.ts'

const here = import.meta.dirname
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-example-'))
  cpSync(join(here, 'agent.ts'), join(folder, 'agent.ts'))
  cpSync(join(here, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(here, 'node_modules'), join(folder, 'node_modules'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs the example like `npm start` without an API key. Kills it when it prints `killAt`. */
async function run(args: string[], killAt?: string): Promise<string> {
  const { OPENAI_API_KEY, ...env } = process.env
  const child = spawn(process.execPath, ['--conditions=@millrace/source', 'agent.ts', ...args], {
    cwd: folder,
    env: { ...env, ...compileCache },
  })
  let output = ''
  child.stdout.on('data', data => {
    output += data
    if (killAt !== undefined && output.includes(killAt)) child.kill('SIGKILL')
  })
  child.stderr.on('data', data => {
    output += data
  })
  await once(child, 'close')
  return output
}

test('answers offline', async () => {
  expect(await run(['Do I need a coat?'])).toBe('Let me look. It is 21 degrees in Ulm: no coat needed.')
})

test('continues the same run after being killed in the middle of an answer', async () => {
  expect(await run(['And now?', 'r2'], 'It is')).not.toContain('needed')
  // The interrupted draft is discarded and generated again from the last commit.
  const [earlier, again] = (await run(['And now?', 'r2'])).split('\n')
  expect('Let me look. It is 21 degrees in Ulm: no coat needed.').toContain(earlier)
  expect(again).toBe('It is 21 degrees in Ulm: no coat needed.')
})
