import { afterAll, beforeAll } from 'vitest'
import { postgres } from '../../../../scripts/services/postgres.ts'
import type { Service } from '../../../../scripts/services/server.ts'
import { Processes } from './actor.fixture.ts'
import { restored } from './copies.fixture.ts'
import { due, guests, killed, readers, zombie } from './deaths.fixture.ts'
import { schedules } from './schedule.fixture.ts'
import { crash, frozen } from './servers.fixture.ts'
import {
  claimWire,
  guestWire,
  lateAppend,
  listenerWire,
  lostAnswers,
  midway,
  readerWire,
  writerWire,
} from './wires.fixture.ts'

/** Three times wal_writer_delay: what the death of the server may take where appends do not wait for its disk. */
const LOSES_MS = 600

let processes: Processes
let service: Service
beforeAll(async () => {
  processes = new Processes('postgres')
  service = await postgres({ settings: { fsync: 'off' } })
})
afterAll(async () => {
  await processes.stop()
  await service.stop()
})

schedules({
  name: 'postgres',
  processes: () => processes,
  async ground(random) {
    const synchronousCommit = random.pick(['on', 'off'] as const)
    const spec = { kind: 'postgres', url: service.url, timeout: 5_000, synchronousCommit } as const
    return { spec, service, losesMs: synchronousCommit === 'on' ? 0 : LOSES_MS }
  },
  kinds: {
    killed: { play: killed, count: 4 },
    midway: { play: midway, count: 3 },
    lateAppend: { play: lateAppend, count: 2 },
    zombie: { play: zombie, count: 2 },
    due: { play: due, count: 2 },
    guests: { play: guests, count: 2 },
    readers: { play: readers, count: 2 },
    restored: { play: restored(true), count: 2 },
    putBack: { play: restored(false), count: 3 },
    crash: { play: crash, count: 4 },
    frozen: { play: frozen, count: 2 },
    writerWire: { play: writerWire, count: 5 },
    lostAnswers: { play: lostAnswers, count: 2 },
    readerWire: { play: readerWire, count: 4 },
    listenerWire: { play: listenerWire, count: 3 },
    claimWire: { play: claimWire, count: 2, kept: [6] },
    guestWire: { play: guestWire, count: 2 },
  },
})
