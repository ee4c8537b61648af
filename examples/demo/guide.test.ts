import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { mockServer } from '../../packages/runtime/src/test/providers/mock-server.fixture.ts'
import { modelsOf } from './model.ts'

const guide = readFileSync(join(import.meta.dirname, '../../docs/guide/models.md'), 'utf8')

/** Runs the TypeScript of the guide to models and returns its output. */
async function printed(env: Readonly<Record<string, string>>): Promise<string> {
  // Inside the demo, so that it can import the same packages.
  const cwd = mkdtempSync(join(import.meta.dirname, '.example-'))
  onTestFinished(() => rmSync(cwd, { recursive: true }))
  const blocks = [...guide.matchAll(/```ts\n(.*?)```/gs)].map(([, block]) => block)
  writeFileSync(join(cwd, 'example.ts'), blocks.join('\n'))
  const child = spawn(process.execPath, ['--conditions=@millrace/source', 'example.ts'], {
    cwd,
    env: { ...process.env, OPENAI_API_KEY: '', OPENAI_BASE_URL: '', OPENAI_MODEL: '', ...env },
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', data => {
      text += data
    })
  }
  await once(child, 'close')
  return text
}

test('the guide to models runs as written, by a script', async () => {
  expect(await printed({})).toBe('I am a script. 4\n')
})

test('the guide to models runs as written, by a provider', async () => {
  const usage = { prompt_tokens: 20, completion_tokens: 5 }
  const server = await mockServer({ content: 'I am a model.', usage })
  onTestFinished(server.close)
  const env = { OPENAI_API_KEY: 'sk-key-of-a-test', OPENAI_BASE_URL: server.url, OPENAI_MODEL: 'some-model' }
  expect(await printed(env)).toBe('I am a model. 5\n')
  expect(server.requestBodies[0]).toMatchObject({ model: 'some-model' })
})

test('the guide to models names the models that the demo takes', () => {
  for (const prefix of ['OPENAI', 'ANTHROPIC']) {
    const [model] = modelsOf({ [`${prefix}_API_KEY`]: 'k' }).modelName.split(' ')
    const [, named] = new RegExp(`^\\| \`${prefix}_MODEL\` .*\`([^\`]+)\` \\|$`, 'm').exec(guide) ?? []
    expect(named).toBe(model)
  }
})
