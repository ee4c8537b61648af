import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { cachedEnv } from '../child-env.fixture.ts'

/** The exit code and the output of a process. */
async function ran(scenario: string): Promise<{ code: number | null; stdoutLines: string[]; stderr: string }> {
  const program = fileURLToPath(new URL('observer-close.fixture.ts', import.meta.url))
  const child = spawn(process.execPath, ['--conditions=@millrace/source', program, scenario], { env: cachedEnv() })
  const stdoutLines: string[] = []
  const stderrChunks: string[] = []
  child.stdout.on('data', data => stdoutLines.push(...String(data).trim().split('\n')))
  child.stderr.on('data', data => stderrChunks.push(String(data)))
  await once(child, 'close')
  return { code: child.exitCode, stdoutLines, stderr: stderrChunks.join('') }
}

test('a process with hanging observers closes its runtime and exits', async () => {
  expect(await ran('hangs')).toEqual({ code: 0, stdoutLines: ['the last line'], stderr: '' })
})

test('observers that close their runtime wait neither for themselves nor for each other', async () => {
  const { stdoutLines, ...rest } = await ran('closes')
  expect(rest).toEqual({ code: 0, stderr: '' })
  expect(stdoutLines.sort()).toEqual(['closed by both observers', 'the last line'])
})
