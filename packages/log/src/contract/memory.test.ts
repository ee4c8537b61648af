import { describe, test } from 'vitest'
import { Memory, memoryStore } from '../memory/store.ts'
import { contract, nameOf, type Subject } from './index.ts'

function memorySubject(): Subject {
  let ahead = 0
  const memory = new Memory({ clock: () => Date.now() + ahead })
  const advance = async (ms: number) => {
    ahead += ms
  }
  return { open: async () => memoryStore(undefined, memory), advance }
}

describe('the memory store keeps the contract', () => {
  const subject = memorySubject()
  for (const each of contract) {
    if (!each.needs.includes('restart')) test(nameOf(each), () => each.run(subject))
  }
})
