import { afterAll, beforeAll } from 'vitest'
import { postgres } from '../../../../../scripts/services/postgres.ts'
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

/** Three times wal_writer_delay: a crash of the server may lose this much, in ms, if appends do not wait for the disk. */
const MAX_LOSS_MS = 600

let processes: StoreProcessPool
let service: Service
beforeAll(async () => {
  processes = new StoreProcessPool('postgres')
  service = await postgres({ settings: { fsync: 'off' } })
})
afterAll(async () => {
  await processes.stop()
  await service.stop()
})

schedules({
  name: 'postgres',
  first: 1,
  processes: () => processes,
  async testStore(random) {
    const synchronousCommit = random.pick(['on', 'off'] as const)
    const spec = { kind: 'postgres', url: service.url, timeoutMs: 5_000, synchronousCommit } as const
    return { spec, service, maxLossMs: synchronousCommit === 'on' ? 0 : MAX_LOSS_MS }
  },
  kinds: {
    killed: { play: killedWriters, count: 1 },
    midway: { play: killDuringAppend, count: 1 },
    lateAppend: { play: lateAppend, count: 1 },
    zombie: { play: suspendedWriter, count: 0 },
    due: { play: dyingDrivers, count: 1 },
    guests: { play: dyingGuests, count: 1 },
    readers: { play: dyingReaders, count: 0 },
    restored: { play: restored(true), count: 0 },
    putBack: { play: restored(false), count: 1 },
    crash: { play: crash, count: 2 },
    frozen: { play: frozen, count: 1 },
    writerWire: { play: faultyWriterConnection, count: 1 },
    lostAnswers: { play: lostAnswers, count: 1 },
    readerWire: { play: faultyReaderConnection, count: 1 },
    listenerWire: { play: faultyListenerConnection, count: 1 },
    claimWire: { play: faultyClaimConnection, count: 1, kept: [6] },
    guestWire: { play: faultyGuestConnection, count: 1, first: 2 },
  },
})
