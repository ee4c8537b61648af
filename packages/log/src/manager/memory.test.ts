import { describe, test } from 'vitest'
import { Memory, memoryStore } from '../stores/memory/memory-store.ts'
import { behaviours } from './manager-behaviours.fixture.ts'

describe('a manager on memory', () => {
  const memory = new Memory()
  for (const { title, run } of behaviours) test(title, () => run({ open: async () => memoryStore(undefined, memory) }))
})
