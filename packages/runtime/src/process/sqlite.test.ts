import { join } from 'node:path'
import { deploys, diesAt, fights, handsOver, instants, points } from './death-schedules.fixture.ts'
import { FLOW_KINDS, PEOPLE_KINDS } from './kinds.fixture.ts'
import { peopled } from './people-schedules.fixture.ts'
import { schedules } from './process-schedules.fixture.ts'
import { stops, stopsAtDeath, stopsBlocked } from './stop-schedules.fixture.ts'

schedules({
  name: 'sqlite',
  count: 80,
  lanes: 3,
  every: { pond: 2, mill: 5 },
  dieAt: diesAt,
  spec: async (lane, folder) => ({ kind: 'sqlite', path: join(folder, `lane-${lane}.db`) }),
  kinds: [
    { title: 'one to three deaths, at points', share: 3, play: points },
    { title: 'one to three deaths, at any instant', share: 4, play: instants },
    { title: 'two processes fight for one run, and one sleeps through its lease', share: 2, play: fights },
    { title: 'processes hand over in good order', share: 1, play: handsOver },
    { title: 'a stop at any instant', share: 2, play: stops },
    { title: 'a stop just as the owner dies', share: 2, play: stopsAtDeath },
    { title: 'a deploy after which nobody can drive the run', share: 1, play: deploys },
    { title: 'a stop of what nobody can drive', share: 1, play: stopsBlocked },
    ...PEOPLE_KINDS,
    ...FLOW_KINDS,
    { title: 'people answer, two processes fight for the run', share: 1, program: 'mill', play: peopled(fights) },
  ],
})
