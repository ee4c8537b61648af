import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const INDEX = new URL('../index.ts', import.meta.url).href

/** Runs a module in a process of its own, which ends when nothing keeps it alive; tells what it printed. */
async function script(body: string): Promise<string> {
  const source = `import { StreamManager, memoryStore } from ${JSON.stringify(INDEX)}
    const manager = new StreamManager({ store: memoryStore() })
    const writer = await manager.createWriter('s', { runId: 'r', agentType: 'a' })
    const delta = (delta) => ({ type: 'text-delta', id: '1', delta })
    ${body}`
  const args = ['--conditions=@millrace/source', '--input-type=module', '-e', source]
  // In plain text, also where whoever runs the tests wants colours.
  const env = { ...process.env, FORCE_COLOR: '0' }
  return (await promisify(execFile)(process.execPath, args, { env })).stdout
}

test('a process stays alive for words that wait for others, and not for a lease', async () => {
  const printed = await script(`
    await writer.write(delta('a')).appended
    const { first } = await writer.write(delta('b')).appended
    console.log(first)
  `)
  // It ended by itself, though the lease would have been renewed for ever.
  expect(printed).toBe('3\n')
})
