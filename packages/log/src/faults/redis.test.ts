import { afterAll, beforeAll } from 'vitest'
import { redis } from '../../../../scripts/services/redis.ts'
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

let processes: Processes
let services: Service[]
beforeAll(async () => {
  processes = new Processes('redis')
  const of = (appendfsync: string) => redis({ settings: { appendonly: 'yes', appendfsync } })
  services = await Promise.all([of('always'), of('everysec')])
})
afterAll(async () => {
  await processes.stop()
  for (const service of services) await service.stop()
})

schedules({
  name: 'redis',
  processes: () => processes,
  async ground(random) {
    // By either setting, the end of the server's process loses nothing.
    const service = random.pick(services)
    return { spec: { kind: 'redis', url: service.url, timeout: 5_000 }, service, losesMs: 0 }
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
    claimWire: { play: claimWire, count: 2 },
    guestWire: { play: guestWire, count: 2 },
  },
})
