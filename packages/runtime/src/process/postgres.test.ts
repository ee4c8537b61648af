import { postgres } from '../../../../scripts/services/postgres.ts'
import { cutOff, deploys, diesAt, fights, handsOver, instants, points } from './deaths.fixture.ts'
import { answersAtDeath, bothDie, peopled } from './people.fixture.ts'
import { schedules } from './schedule.fixture.ts'
import { stops, stopsAtDeath, stopsBlocked } from './stops.fixture.ts'

// Here no power is cut: what a crash of the server can lose is for other tests.
const server = postgres({
  settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off' },
})

schedules({
  name: 'postgres',
  count: 75,
  lanes: 3,
  every: { pond: 7, mill: 9 },
  dieAt: diesAt,
  spec: async lane => ({ kind: 'postgres', url: (await server).url, schema: `lane${lane}`, timeout: 5_000 }),
  close: async () => (await server).stop(),
  kinds: [
    { title: 'one to three deaths, at points', share: 3, play: points },
    { title: 'one to three deaths, at any instant', share: 3, play: instants },
    { title: 'two processes fight for one run, and one sleeps through its lease', share: 2, play: fights },
    { title: 'the store is out of reach for a while', share: 3, play: cutOff },
    { title: 'processes hand over in good order', share: 1, play: handsOver },
    { title: 'a stop at any instant', share: 1, play: stops },
    { title: 'a stop just as the owner dies', share: 1, play: stopsAtDeath },
    { title: 'a deploy after which nobody can drive the run', share: 1, play: deploys },
    { title: 'a stop of what nobody can drive', share: 1, play: stopsBlocked },
    {
      title: 'people answer by another process, one to three deaths',
      share: 2,
      program: 'mill',
      play: peopled(points),
    },
    { title: 'people answer, deaths at any instant', share: 2, program: 'mill', play: peopled(instants) },
    { title: 'people answer just as the owner dies', share: 2, program: 'mill', play: answersAtDeath },
    { title: 'who drives and who answers die', share: 2, program: 'mill', play: bothDie },
    { title: 'people answer, and somebody stops it', share: 1, program: 'mill', play: peopled(stopsAtDeath) },
    {
      title: 'people answer, and the store is out of reach for who drives',
      share: 1,
      program: 'mill',
      play: peopled(cutOff),
    },
  ],
})
