import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')

/** Runs the TypeScript of a page, block after block, as an application would; gives what it prints. */
function run(page: string, more = ''): string {
  const text = readFileSync(join(root, page), 'utf8')
  const program = [...text.matchAll(/```ts\n(.*?)```/gs)].map(([, block]) => block).join('\n')
  // Inside the package, so that it may import it by its own name.
  const folder = mkdtempSync(join(root, '.example-'))
  try {
    writeFileSync(join(folder, 'example.ts'), `${program}\n${more}`)
    const env = { ...process.env, MILLRACE_STORE: 'memory:' }
    const args = ['--conditions=@millrace/source', 'example.ts']
    return execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8', env })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('the example in the README runs as written', () => {
  expect(run('../../README.md')).toBe('Hello. I go on where I stopped, even after kill -9.')
})

test('the guide to agents runs as written', () => {
  const more = `
    const talk = await planning.start({ agent: polite, input: 'Hi', context: { language: 'Swabian' } })
    console.log((await talk.result()).text, status, text.length, usage.outputTokens, forgetful.name)
    await planning.close()
    await runtime.close()`
  const printed = run('../../docs/guide/agents.md', more)
  expect(printed).toContain('Let me look. It is 21 degrees in Ulm.')
  expect(printed).toContain(`[ 'minster', 'river' ]`)
  expect(printed).toContain('I was told: "Speak Swabian." completed 37')
})

test('the guide to tools runs as written', () => {
  const printed = run('../../docs/guide/tools.md')
  expect(printed).toMatch(/output-available \{\s+found: \[ 'millrace, by tools\/[\w-]+\/call-search-1' \]/)
  expect(printed).toContain('output-error there is nothing to find')
  expect(printed).toContain(`{ answer: '42' }`)
})

test('the guide to recovery runs as written', () => {
  expect(run('../../docs/guide/recovery.md')).toBe('At your service.\n')
})
