import { describe, expect, test } from 'vitest'
import { failure, ID, request, thrown, World } from './manager-world.fixture.ts'
import { StreamManager } from './stream-manager.ts'

const WRONG = [Number.NaN, -1, 1.5, Number.POSITIVE_INFINITY, '3', null] as number[]

describe('a manager names the expected value', () => {
  test('rejects invalid settings', () => {
    const { store } = new World().tap
    for (const name of [
      'leaseMs',
      'coalesceMs',
      'retryTimeoutMs',
      'maxEntryBytes',
      'blobBytes',
      'maxBlobBytes',
      'queueBytes',
    ]) {
      for (const value of WRONG.filter(value => value !== null)) {
        expect(
          thrown(() => new StreamManager({ store, [name]: value })),
          `${name} ${value}`,
        ).toBe('invalid')
      }
    }
    expect(() => new StreamManager({ store, leaseMs: 99 })).toThrow(
      'leaseMs: expected a whole number from 100 to 86400000, found 99',
    )
    expect(thrown(() => new StreamManager({ store, owner: '' }))).toBe('invalid')
  })

  test('rejects invalid numbers', async () => {
    const { manager } = new World()
    await manager.createStream(ID)
    for (const n of WRONG) {
      const calls = [
        () => manager.forkStream(ID, n, 'copy'),
        () => manager.cleanupToStep(ID, n),
        () => manager.expireStream(ID, n),
        () => manager.due([], n),
        () => manager.listStreams('ada', { limit: n }),
        ...(n === null
          ? []
          : [
              () => manager.view(ID, n),
              () => manager.cleanupToStep(ID, 1, { minSequence: n }),
              () => manager.trimStream(ID, { maxEntries: n }),
              () => manager.trimStream(ID, { maxAgeMs: n }),
            ]),
      ]
      for (const call of calls) expect(await failure(call()), `${call} ${n}`).toBe('invalid')
    }
    for (const after of [Number.NaN, -1, 1.5, '', 'x', '1.a', {}, true, [2]] as number[]) {
      expect(await failure(manager.createResumableReader(ID, { after })), JSON.stringify(after)).toBe('invalid')
    }
  })

  test('rejects invalid names', async () => {
    const { manager } = new World()
    for (const name of ['', 'x'.repeat(513), '\ud800', 5, null, {}] as string[]) {
      const calls = [
        () => manager.createStream(name),
        () => manager.createWriter(name, { runId: 'r', agentType: 'a' }),
        () => manager.createWriter(ID, { runId: name, agentType: 'a' }),
        () => manager.append(name, 'ada', request('r')),
        () => manager.append(ID, name, request('r')),
        () => manager.getInfo(name),
        () => manager.endStream(name),
        () => manager.forkStream(ID, 0, name),
        () => manager.createReader(name),
        () => manager.deleteStream(name),
      ]
      for (const call of calls) expect(await failure(call()), `${call} ${JSON.stringify(name)}`).toBe('invalid')
    }
  })

  test('rejects a root agent with a name other than its run', async () => {
    const { manager } = new World()
    const creating = manager.createWriter(ID, { runId: 'r', agentId: 'b', agentType: 'a' })
    await expect(creating).rejects.toThrow(
      'agentId: expected r or nothing, found b: the root agent has the id of its run',
    )
  })
})
