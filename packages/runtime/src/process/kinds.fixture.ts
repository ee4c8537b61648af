// What happens to the processes, by kinds: those with people are the same on every store, the others on every store that is a server.

import { cutOff, deploys, fights, handsOver, instants, points } from './death-schedules.fixture.ts'
import { answersAtDeath, bothDie, peopled } from './people-schedules.fixture.ts'
import type { Kind } from './process-schedules.fixture.ts'
import { stops, stopsAtDeath, stopsBlocked } from './stop-schedules.fixture.ts'
import { deadlyRounds } from './workflow-schedules.fixture.ts'

/** Workflows whose processes die, each between a pause and its answer, and others while they start nodes again. */
export const FLOW_KINDS: readonly Kind[] = [
  {
    title: 'the email draft, killed while it waits and when it goes on',
    share: 1,
    program: 'draft',
    play: deadlyRounds,
  },
  { title: 'questions in a loop, killed between them', share: 1, program: 'rounds', play: deadlyRounds },
  { title: 'branches of which one is tried again', share: 1, program: 'branches', play: deadlyRounds },
  { title: 'a transition after an answer', share: 1, program: 'passage', play: deadlyRounds },
  { title: 'another try after an answer', share: 1, program: 'retry', play: deadlyRounds },
  { title: 'an approval within a model’s work', share: 1, program: 'consent', play: deadlyRounds },
]

/** While people answer by a process of their own. */
export const PEOPLE_KINDS: readonly Kind[] = [
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
]

/** On a store that is a server, and can be out of reach. */
export const SERVER_KINDS: readonly Kind[] = [
  { title: 'one to three deaths, at points', share: 3, play: points },
  { title: 'one to three deaths, at any instant', share: 3, play: instants },
  { title: 'two processes fight for one run, and one sleeps through its lease', share: 2, play: fights },
  { title: 'the store is out of reach for a while', share: 3, play: cutOff },
  { title: 'processes hand over in good order', share: 1, play: handsOver },
  { title: 'a stop at any instant', share: 1, play: stops },
  { title: 'a stop just as the owner dies', share: 1, play: stopsAtDeath },
  { title: 'a deploy after which nobody can drive the run', share: 1, play: deploys },
  { title: 'a stop of what nobody can drive', share: 1, play: stopsBlocked },
  ...PEOPLE_KINDS,
  ...FLOW_KINDS,
  {
    title: 'people answer, and the store is out of reach for who drives',
    share: 1,
    program: 'mill',
    play: peopled(cutOff),
  },
]
