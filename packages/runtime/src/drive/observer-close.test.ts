import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { cachedEnv } from '../child-env.fixture.ts'

/** The exit code and the output of a process. */
async function ran(what: string): Promise<{ code: number | null; said: string[]; complaints: string }> {
  const program = fileURLToPath(new URL('observer-close.fixture.ts', import.meta.url))
  const child = spawn(process.execPath, ['--conditions=@millrace/source', program, what], { env: cachedEnv() })
  const said: string[] = []
  const complaints: string[] = []
  child.stdout.on('data', data => said.push(...String(data).trim().split('\n')))
  child.stderr.on('data', data => complaints.push(String(data)))
  await once(child, 'close')
  return { code: child.exitCode, said, complaints: complaints.join('') }
}

test('a process with hanging observers closes its runtime and exits', async () => {
  expect(await ran('hangs')).toEqual({ code: 0, said: ['the last line'], complaints: '' })
})

test('observers that close their runtime wait neither for themselves nor for each other', async () => {
  const { said, ...rest } = await ran('closes')
  expect(rest).toEqual({ code: 0, complaints: '' })
  expect(said.sort()).toEqual(['closed by both observers', 'the last line'])
})
