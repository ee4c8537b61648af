import { Memory, memoryStore } from '../../stores/memory/memory-store.ts'
import { schedules } from './log-schedule-suite.fixture.ts'

schedules({
  name: 'memory',
  storeCount: 1,
  count: 40,
  first: 1,
  async open() {
    const clock = { time: 0 }
    const memory = new Memory({ clock: () => clock.time })
    const handle = () => memoryStore(undefined, memory)
    return { handles: [handle(), handle()], clock }
  },
})
