import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const INDEX = new URL('../index.ts', import.meta.url).href

/** Runs a module in its own process, which ends when nothing keeps it alive. Returns its output. */
async function script(body: string): Promise<string> {
  const source = `import { StreamManager, memoryStore } from ${JSON.stringify(INDEX)}
    const manager = new StreamManager({ store: memoryStore() })
    const writer = await manager.createWriter('s', { runId: 'r', agentType: 'a' })
    const delta = (delta) => ({ type: 'text-delta', id: '1', delta })
    ${body}`
  const args = ['--conditions=@millrace/source', '--input-type=module', '-e', source]
  // Without colours, even if the environment of the test run forces them.
  const env = { ...process.env, FORCE_COLOR: '0' }
  return (await promisify(execFile)(process.execPath, args, { env })).stdout
}

test('a queued write keeps the process alive, a lease does not', async () => {
  const printed = await script(`
    await writer.write(delta('a')).appended
    const { first } = await writer.write(delta('b')).appended
    console.log(first)
  `)
  // The process ended although the lease would have been renewed forever.
  expect(printed).toBe('3\n')
})
