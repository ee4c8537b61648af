import { describe, test } from 'vitest'
import { Memory, memoryStore } from '../stores/memory/memory-store.ts'
import { contract, nameOf, type StoreUnderTest } from './index.ts'

function memorySubject(): StoreUnderTest {
  let ahead = 0
  const memory = new Memory({ clock: () => Date.now() + ahead })
  const advance = async (ms: number) => {
    ahead += ms
  }
  return { open: async () => memoryStore(undefined, memory), advance }
}

// The memory store has no server to restart.
const cases = contract.filter(({ needs }) => !needs.includes('restart'))

describe('the memory store fulfils the contract', () => {
  const subject = memorySubject()
  for (const each of cases) test(nameOf(each), () => each.run(subject))

  test('passes all cases at once, except those that must run alone', async () => {
    await Promise.all(cases.filter(({ alone }) => !alone).map(each => each.run(subject)))
  })
})
