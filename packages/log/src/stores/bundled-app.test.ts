import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bundle } from '../../../../scripts/faults/bundle.ts'

const folder = mkdtempSync(join(tmpdir(), 'millrace-bundled-'))
beforeAll(() => bundle(folder, { app: join(import.meta.dirname, 'bundled-app.fixture.ts') }))
afterAll(() => rmSync(folder, { recursive: true }))

const run = async (cwd: string): Promise<Record<string, unknown>> => {
  // Without the folders in which the scripts of the workspace look for packages.
  const { NODE_PATH, ...env } = process.env
  const args = [join(folder, 'app.js'), join(folder, 'app.db')]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, env })
  return JSON.parse(stdout)
}
const missing = (scheme: string, name: string) => ({
  code: 'invalid',
  message: `openStore: ${scheme}: needs the package ${name}, which is not installed: run npm install ${name}`,
})

test('a bundle opens memory and SQLite, workers included, and names the driver that is not installed', async () => {
  expect(await run(folder)).toEqual({
    'memory:': 1024 * 1024,
    'sqlite:': 1024 * 1024,
    'heartbeat of sqlite:': 'ready',
    'redis://localhost:1': missing('redis', 'redis'),
    'postgres://localhost:1/none': missing('postgres', 'pg'),
  })
})

test('a bundle and its threads load the drivers that are installed in its working directory', async () => {
  const installed = join(import.meta.dirname, '../..')
  expect(await run(installed)).toMatchObject({
    'redis://localhost:1': 'opened',
    'postgres://localhost:1/none': 'opened',
  })
})
