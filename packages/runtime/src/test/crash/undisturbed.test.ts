import { memoryStore } from '@millrace/log'
import { expect, test } from 'vitest'
import { createRuntime } from '../../api/runtime.ts'
import { Ledger, recordAppends } from './ledger.fixture.ts'
import { ReaderChecks } from './reader-checks.fixture.ts'
import { verdict } from './run-verdict.fixture.ts'
import { agentsOf, requestBothRuns, SESSION } from './tools-program.fixture.ts'

test('passes every check without crashes, in virtual time', async () => {
  const ledger = new Ledger()
  const writeLine = ledger.of('alone')
  const runtime = createRuntime({
    store: recordAppends(memoryStore(), writeLine),
    agents: agentsOf({ writeLine, paceMs: 1 }),
    backoff: { firstMs: 1 },
    logger: { warn() {}, error() {} },
  })
  const runs = await requestBothRuns(runtime)
  const results = await Promise.all(runs.map(run => run.result()))
  expect(results.map(({ status }) => status)).toEqual(['completed', 'completed'])
  const { head } = (await runtime.manager.getInfo(SESSION)) ?? { head: 0 }
  const entries = await runtime.manager.entries(SESSION, 0, head)
  const { view } = await runtime.manager.view(SESSION)
  await runtime.close()
  const readerChecks = new ReaderChecks()
  for (const entry of entries) readerChecks.onEntry(entry)
  expect([...readerChecks.ended.values()]).toEqual(['completed', 'completed'])
  const record = { entries, view, lines: ledger.lines }
  expect(verdict(record, { undisturbed: record, isExact: true })).toEqual([])
  // The program contains everything that it should test.
  const types = new Set(entries.map(({ chunk }) => chunk.type))
  for (const type of ['step-discarded', 'state-patch', 'data-line', 'tool-input-error', 'structured-data', 'output']) {
    expect(types).toContain(type)
  }
})
