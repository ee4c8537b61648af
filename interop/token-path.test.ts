import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')

test('docs/architecture/token.md lists the files with code that runs for every token', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'token-path.fixture.ts')])
  const files = (JSON.parse(stdout) as string[]).map(
    file => `${file}.${existsSync(join(root, `${file}.tsx`)) ? 'tsx' : 'ts'}`,
  )
  const page = readFileSync(join(root, 'docs/architecture/token.md'), 'utf8')
  const listed = [...page.matchAll(/^\| `([^`]+)` \|/gm)].map(([, file]) => file)
  expect(listed.sort()).toEqual(files.sort())
})
