import { afterAll, beforeAll } from 'vitest'
import { redis } from '../../../../../scripts/services/redis.ts'
import type { Service } from '../../../../../scripts/services/server.ts'
import {
  faultyClaimConnection,
  faultyGuestConnection,
  faultyListenerConnection,
  faultyReaderConnection,
  faultyWriterConnection,
  killDuringAppend,
  lateAppend,
  lostAnswers,
} from './connection-faults.fixture.ts'
import { dyingDrivers, dyingGuests, dyingReaders, killedWriters, suspendedWriter } from './process-deaths.fixture.ts'
import { crash, frozen } from './server-faults.fixture.ts'
import { schedules } from './store-fault-suite.fixture.ts'
import { StoreProcessPool } from './store-process-pool.fixture.ts'
import { restored } from './store-restores.fixture.ts'

let processes: StoreProcessPool
let services: Service[]
beforeAll(async () => {
  processes = new StoreProcessPool('redis')
  const redisWith = (appendfsync: string) => redis({ settings: { appendonly: 'yes', appendfsync } })
  services = await Promise.all([redisWith('always'), redisWith('everysec')])
})
afterAll(async () => {
  await processes.stop()
  for (const service of services) await service.stop()
})

schedules({
  name: 'redis',
  first: 2,
  processes: () => processes,
  async testStore(random) {
    // With either setting, the death of the server process loses nothing.
    const service = random.pick(services)
    return { spec: { kind: 'redis', url: service.url, timeoutMs: 5_000 }, service, maxLossMs: 0 }
  },
  kinds: {
    killed: { play: killedWriters, count: 1 },
    midway: { play: killDuringAppend, count: 1 },
    lateAppend: { play: lateAppend, count: 1 },
    zombie: { play: suspendedWriter, count: 1 },
    due: { play: dyingDrivers, count: 0 },
    guests: { play: dyingGuests, count: 0 },
    readers: { play: dyingReaders, count: 1 },
    restored: { play: restored(true), count: 1 },
    putBack: { play: restored(false), count: 1 },
    crash: { play: crash, count: 1 },
    frozen: { play: frozen, count: 1 },
    writerWire: { play: faultyWriterConnection, count: 1 },
    lostAnswers: { play: lostAnswers, count: 1 },
    readerWire: { play: faultyReaderConnection, count: 1 },
    listenerWire: { play: faultyListenerConnection, count: 1 },
    claimWire: { play: faultyClaimConnection, count: 1 },
    guestWire: { play: faultyGuestConnection, count: 1 },
  },
})
