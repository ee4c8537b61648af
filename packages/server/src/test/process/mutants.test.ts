import { describe, expect, test } from 'vitest'
import { expectMutantFound } from '../../../../../scripts/faults/sessions/mutant-search.fixture.ts'
import { InProcessServer } from '../../../../../scripts/faults/sessions/session-server.fixture.ts'
import { createApp } from './cluster-app.fixture.ts'
import { playFollowSchedule } from './follow-schedule.fixture.ts'
import { AGENTS } from './followed-agents.fixture.ts'
import { MUTANTS } from './server-mutants.fixture.ts'

const SCHEDULES = 8

const open = () => InProcessServer.open({ agents: AGENTS, createApp })

describe('schedules', () => {
  test('find no problem in a server without a planted bug', async () => {
    const server = await open()
    const seeds = Array.from({ length: SCHEDULES }, (_, n) => n + 1)
    const reports = await Promise.all(seeds.map(seed => playFollowSchedule(seed, server, 'whole')))
    expect(reports.flatMap(({ problems }) => problems)).toEqual([])
    await server.close()
  })

  test.each(MUTANTS)('find $name', mutant => expectMutantFound(mutant, { open, play: playFollowSchedule }))
})
