import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { root } from '../command.ts'
import { isRunning } from '../services/services.fixture.ts'
import { type Child, startChildProcess } from './process.ts'

function start(...args: string[]): Child {
  const started = startChildProcess(join(import.meta.dirname, 'scripted-child.fixture.ts'), args)
  onTestFinished(started.kill9)
  return started
}

test('messages go to the child, events come back, in order', async () => {
  const { event, events, send, exited } = start('echo', 'one', '-x "two"')
  expect(await event('ready')).toEqual({ event: 'ready', args: ['one', '-x "two"'] })
  const [first, second] = [event('echo'), event<{ n: number }>('echo')]
  for (const n of [1, 2, 3, 4]) await send({ n, text: 'a\nb' })
  expect(await first).toEqual({ event: 'echo', n: 1, text: 'a\nb' })
  expect((await second).n).toBe(2)
  await send({ leave: true })
  expect(await exited).toEqual({ code: 0, signal: null, output: 'output of a library\n' })
  expect(events<{ n: number }>('other')).toEqual([])
  expect(events<{ n: number }>('echo').map(({ n }) => n)).toEqual([3, 4])
  expect(events('echo')).toEqual([])
})

test('events that were sent before kill9() can be read after it', async () => {
  const { pid, event, events, kill9, exited } = start('count')
  for (let n = 1; n <= 100; n++) expect(await event('acked')).toEqual({ event: 'acked', n })
  await kill9()
  expect(await exited).toMatchObject({ code: null, signal: 'SIGKILL' })
  expect(await isRunning(pid)).toBe(false)
  const rest = events<{ n: number }>('acked').map(({ n }) => n)
  expect(rest).toEqual(rest.map((_, index) => 101 + index))
  await kill9()
})

describe('event()', () => {
  test('rejects with the output of the child when it fails', async () => {
    const { event, exited } = start('fail')
    const waiting = event('never')
    await expect(waiting).rejects.toThrow(
      /^scripted-child\.fixture\.ts ended with code 1 before it sent 'never':\n[^$]*the act fails/,
    )
    const { code, output } = await exited
    expect(code).toBe(1)
    expect(output.length).toBeLessThanOrEqual(10_000)
    await expect(event('never')).rejects.toThrow(/the act fails/)
  })

  test('rejects with the output of the child when it is killed', async () => {
    const { event, send, kill9 } = start('wait')
    await event('ready')
    const waiting = event('never')
    await kill9()
    await expect(waiting).rejects.toThrow(/ended with SIGKILL before it sent 'never'/)
    await expect(send({})).rejects.toThrow(/ended with SIGKILL and takes no message/)
  })

  test('rejects when the file does not exist', async () => {
    const { event } = startChildProcess(join(import.meta.dirname, 'none.fixture.ts'))
    await expect(event('ready')).rejects.toThrow(/none\.fixture\.ts ended with code 1.*\n[^$]*MODULE_NOT_FOUND/)
  })

  test('rejects when the child sends too many events', async () => {
    const { event, events } = start('count')
    await expect(event('never')).rejects.toThrow(/killed, because it sent 10001 events that were not taken/)
    expect(events('acked')).toHaveLength(10_001)
  })

  test('rejects when the child sends a line without an end', async () => {
    await expect(start('long').event('never')).rejects.toThrow(/killed, because a line .* more than 1048576 characters/)
  })
})

test.each([
  ['waits', ['wait']],
  ['is too busy to notice', ['busy']],
  ['is frozen', ['wait', 'frozen']],
])('a child that %s dies with its parent', async (_, args) => {
  const { event, kill9 } = start('hold', ...args)
  const { pid } = await event<{ pid: number }>('held')
  expect(await isRunning(pid)).toBe(true)
  await kill9()
  await vi.waitFor(async () => expect(await isRunning(pid)).toBe(false), { timeout: 60_000, interval: 20 })
})

test('resolves packages of the workspace to their sources', async () => {
  const { path, names } = await start('resolve').event<{ path: string; names: string[] }>('resolved')
  expect(path).toBe(join(root, 'packages/protocol/src/index.ts'))
  expect(names).toContain('Fold')
})
