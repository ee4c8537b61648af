import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')

/** The TypeScript of a page, block by block. */
const blocksOf = (page: string): string[] =>
  [...readFileSync(join(root, page), 'utf8').matchAll(/```ts\n(.*?)```/gs)].map(([, block]) => block as string)

/** Runs a program like an application, with its own folder and a store in memory. Returns its output. */
function run(program: string): string {
  // Inside the package, so that it can import the package by name.
  const folder = mkdtempSync(join(root, '.example-'))
  try {
    writeFileSync(join(folder, 'example.ts'), program)
    // Without colours, even if the environment of the test run forces them.
    const env = { ...process.env, MILLRACE_STORE: 'memory:', FORCE_COLOR: '0' }
    return execFileSync(process.execPath, ['--conditions=@millrace/source', 'example.ts'], {
      cwd: folder,
      encoding: 'utf8',
      env,
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('the example in the README runs as written', () => {
  const [example] = blocksOf('README.md')
  expect(run(example as string)).toMatch(/1 run-started.*text-delta.*run-finished/s)
})

test('the blocks of the guide run as written, one after the other', () => {
  const blocks = blocksOf('../../docs/guide/log.md')
  const contract = blocks.pop() as string
  expect(blocks).toHaveLength(4)
  const printed = run(
    `${blocks.join('\n')}\nconsole.log(cursor === reader.cursor, reader.status)\nawait store.close()\n`,
  )
  expect(printed).toMatch(/main tool-approval-request.*tool-approval-response.*tool-1 tool-output-available/s)
  expect(printed).toContain('true ended')
  expect(run(contract)).toMatch(/fail 0\n/)
})
