// Which kinds of schedules each store plays. `npm test` plays every kind on SQLite, and one half each on Redis and Postgres.

import { answersAtDeath, bothDie, withAnswers } from './approval-schedules.fixture.ts'
import {
  competingDrivers,
  deathsAtPoints,
  deathsAtRandomTimes,
  disconnects,
  handOvers,
  missingProgram,
} from './death-schedules.fixture.ts'
import type { ScheduleKind } from './process-schedules.fixture.ts'
import { stops, stopsAtDeath, stopsBlocked } from './stop-schedules.fixture.ts'
import { deadlyRounds } from './workflow-schedules.fixture.ts'

const ONE_HALF: readonly ScheduleKind[] = [
  { title: 'one to three deaths at calls of the store', share: 3, play: deathsAtPoints },
  { title: 'a driver sleeps through its lease while another takes over', share: 2, play: competingDrivers },
  { title: 'a stop just as the driver dies', share: 2, play: stopsAtDeath },
  { title: 'a deploy without the program, then one with it', share: 1, play: missingProgram },
  {
    title: 'answers from another process, one to three deaths',
    share: 2,
    program: 'mill',
    play: withAnswers(deathsAtPoints),
  },
  { title: 'answers just as the driver dies', share: 2, program: 'mill', play: answersAtDeath },
  { title: 'answers, and a stop just as the driver dies', share: 1, program: 'mill', play: withAnswers(stopsAtDeath) },
  {
    title: 'an email draft, killed while it waits and when it goes on',
    share: 1,
    program: 'draft',
    play: deadlyRounds,
  },
  { title: 'branches of which one is retried', share: 1, program: 'branches', play: deadlyRounds },
  { title: 'a retry after an answer', share: 1, program: 'retry', play: deadlyRounds },
]

const OTHER_HALF: readonly ScheduleKind[] = [
  { title: 'one to three deaths at random instants', share: 3, play: deathsAtRandomTimes },
  { title: 'drivers hand over', share: 1, play: handOvers },
  { title: 'a stop at a random instant', share: 2, play: stops },
  { title: 'a stop of a run that no process can drive', share: 1, play: stopsBlocked },
  { title: 'answers, deaths at random instants', share: 2, program: 'mill', play: withAnswers(deathsAtRandomTimes) },
  { title: 'the driver and the process that answers die', share: 2, program: 'mill', play: bothDie },
  { title: 'questions in a loop, killed between them', share: 1, program: 'rounds', play: deadlyRounds },
  { title: 'a transition after an answer', share: 1, program: 'passage', play: deadlyRounds },
  { title: 'an approval within an agent of a workflow', share: 1, program: 'consent', play: deadlyRounds },
]

/** Only a store with a server can be unavailable. */
const CUT_OFF: ScheduleKind = { title: 'the store is out of reach for a while', share: 3, play: disconnects }
const CUT_OFF_WITH_ANSWERS: ScheduleKind = {
  title: 'answers, and the store is out of reach for the driver',
  share: 1,
  program: 'mill',
  play: withAnswers(disconnects),
}

export const SQLITE_KINDS: readonly ScheduleKind[] = [
  ...ONE_HALF,
  ...OTHER_HALF,
  {
    title: 'answers, and a driver sleeps through its lease',
    share: 1,
    program: 'mill',
    play: withAnswers(competingDrivers),
  },
]
export const REDIS_KINDS: readonly ScheduleKind[] = [CUT_OFF, ...ONE_HALF, ...OTHER_HALF, CUT_OFF_WITH_ANSWERS]
export const POSTGRES_KINDS: readonly ScheduleKind[] = [CUT_OFF_WITH_ANSWERS, ...OTHER_HALF, ...ONE_HALF, CUT_OFF]
