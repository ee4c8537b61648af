// A child process that runs the act named by its first argument.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { root } from '../command.ts'
import { messagesOfTest, reportEvent, startChildProcess } from './process.ts'

const [, file = '', act = '', ...args] = process.argv

const acts: Record<string, () => Promise<void>> = {
  async echo() {
    console.log('output of a library')
    await reportEvent('ready', { args })
    for await (const message of messagesOfTest()) {
      if ('leave' in message) break
      await reportEvent('echo', message)
    }
  },
  async count() {
    for (let n = 1; ; n++) await reportEvent('acked', { n })
  },
  async fail() {
    process.stderr.write('x'.repeat(100_000))
    throw new Error('the act fails')
  },
  async long() {
    process.stdout.write('x'.repeat(4 * 1024 * 1024))
    await messagesOfTest().next()
  },
  async wait() {
    await reportEvent('ready')
    setInterval(() => {}, 1_000)
  },
  async busy() {
    await reportEvent('ready')
    for (;;) {}
  },
  /** Starts a child, freezes it if requested, and reports its process id. */
  async hold() {
    const [heldAct = '', frozen] = args
    const held = startChildProcess(file, [heldAct])
    await held.event('ready')
    if (frozen) process.kill(held.pid, 'SIGSTOP')
    await reportEvent('held', { pid: held.pid })
    await held.exited
  },
  async resolve() {
    const path = createRequire(join(root, 'packages/log/package.json')).resolve('@millrace/protocol')
    await reportEvent('resolved', { path, names: Object.keys(await import(path)) })
  },
}

await acts[act]?.()
