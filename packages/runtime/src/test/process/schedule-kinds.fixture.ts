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
import { roundsWithDeaths } from './workflow-schedules.fixture.ts'

const ONE_HALF: readonly ScheduleKind[] = [
  { title: 'continues after one to three deaths at store calls', share: 3, play: deathsAtPoints },
  { title: 'fences a driver that sleeps beyond its lease', share: 2, play: competingDrivers },
  { title: 'stops a run whose driver dies at the same time', share: 2, play: stopsAtDeath },
  { title: 'blocks a run whose program is missing until a process has it', share: 1, play: missingProgram },
  {
    title: 'continues with answers from another process after one to three deaths',
    share: 2,
    program: 'approvals',
    play: withAnswers(deathsAtPoints),
  },
  { title: 'keeps answers that arrive as the driver dies', share: 2, program: 'approvals', play: answersAtDeath },
  {
    title: 'stops a run with answers whose driver dies at the same time',
    share: 1,
    program: 'approvals',
    play: withAnswers(stopsAtDeath),
  },
  {
    title: 'continues a workflow that is killed while it waits and when it continues',
    share: 1,
    program: 'draft',
    play: roundsWithDeaths,
  },
  {
    title: 'continues a workflow with branches, one of them retried',
    share: 1,
    program: 'branches',
    play: roundsWithDeaths,
  },
  { title: 'continues a workflow that retries after an answer', share: 1, program: 'retry', play: roundsWithDeaths },
]

const OTHER_HALF: readonly ScheduleKind[] = [
  { title: 'continues after one to three deaths at random times', share: 3, play: deathsAtRandomTimes },
  { title: 'continues after handovers', share: 1, play: handOvers },
  { title: 'stops a run at a random time', share: 2, play: stops },
  { title: 'stops a run that no process can drive', share: 1, play: stopsBlocked },
  {
    title: 'continues with answers after deaths at random times',
    share: 2,
    program: 'approvals',
    play: withAnswers(deathsAtRandomTimes),
  },
  {
    title: 'continues after deaths of the driver and of the answering process',
    share: 2,
    program: 'approvals',
    play: bothDie,
  },
  {
    title: 'continues a workflow that is killed between questions in a loop',
    share: 1,
    program: 'rounds',
    play: roundsWithDeaths,
  },
  {
    title: 'continues a workflow that transitions after an answer',
    share: 1,
    program: 'passage',
    play: roundsWithDeaths,
  },
  { title: 'continues a workflow with approvals of tool calls', share: 1, program: 'consent', play: roundsWithDeaths },
]

/** Only a store with a server can be unavailable. */
const CUT_OFF: ScheduleKind = { title: 'continues after the store was unreachable', share: 3, play: disconnects }
const CUT_OFF_WITH_ANSWERS: ScheduleKind = {
  title: 'continues with answers after the store was unreachable for the driver',
  share: 1,
  program: 'approvals',
  play: withAnswers(disconnects),
}

export const SQLITE_KINDS: readonly ScheduleKind[] = [
  ...ONE_HALF,
  ...OTHER_HALF,
  {
    title: 'fences a driver that sleeps beyond its lease while answers arrive',
    share: 1,
    program: 'approvals',
    play: withAnswers(competingDrivers),
  },
]
export const REDIS_KINDS: readonly ScheduleKind[] = [CUT_OFF, ...ONE_HALF, ...OTHER_HALF, CUT_OFF_WITH_ANSWERS]
export const POSTGRES_KINDS: readonly ScheduleKind[] = [CUT_OFF_WITH_ANSWERS, ...OTHER_HALF, ...ONE_HALF, CUT_OFF]
