import { describe, test } from 'vitest'
import { expectMutantFound } from '../../../../../scripts/faults/sessions/mutant-search.fixture.ts'
import { openChatServer } from './chat-server.fixture.ts'
import { MUTANTS } from './client-mutants.fixture.ts'
import { playTabSchedule } from './tab-schedule.fixture.ts'

describe('schedules', () => {
  test.each(MUTANTS)('find $name', mutant => expectMutantFound(mutant, { open: openChatServer, play: playTabSchedule }))
})
