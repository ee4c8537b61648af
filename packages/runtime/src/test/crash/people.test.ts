import { memoryStore } from '@millrace/log'
import { expect, test } from 'vitest'
import { createRuntime } from '../../api/runtime.ts'
import { Crowd } from './crowd.fixture.ts'
import { Ledger, noted } from './ledger.fixture.ts'
import { askPeople, peopleAgents } from './mill-program.fixture.ts'
import { SESSION } from './pond-program.fixture.ts'
import { ReaderChecks } from './reader-checks.fixture.ts'

test.each([['asked'], ['paused'], ['told']] as const)(
  'the program without any death, its people answering when %s, on the machine’s own time',
  async when => {
    const ledger = new Ledger()
    const note = ledger.of('alone')
    const runtime = createRuntime({
      store: noted(memoryStore(), note),
      agents: peopleAgents({ note, paceMs: 1, deadlineMs: 20 }),
      backoff: { first: 1 },
      engine: { pollMs: 10 },
      logger: { warn() {}, error() {} },
    })
    const crowd = new Crowd({ voice: () => ({ runtime }), when })
    const story = new ReaderChecks()
    await askPeople(runtime)
    for await (const entry of await runtime.manager.createResumableReader(SESSION, {
      after: 0,
      follow: true,
      whole: true,
      internal: true,
    })) {
      story.take(entry)
      crowd.take(entry)
      if (entry.chunk.type === 'run-finished') break
    }
    await crowd.idle()
    await runtime.close()
    expect(crowd.problems).toEqual([])
    expect([...story.ended.values()]).toEqual(['completed'])
  },
)
