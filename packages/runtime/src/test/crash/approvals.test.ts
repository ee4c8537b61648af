import { memoryStore } from '@millrace/log'
import { expect, test } from 'vitest'
import { createRuntime } from '../../api/runtime.ts'
import { AnsweringClients } from './answering-clients.fixture.ts'
import { approvalsAgents, requestApprovalsRun } from './approvals-program.fixture.ts'
import { Ledger, recordAppends } from './ledger.fixture.ts'
import { ReaderChecks } from './reader-checks.fixture.ts'
import { SESSION } from './tools-program.fixture.ts'

test.each([
  ['as soon as they are requested', 'asked'],
  ['one at each pause', 'paused'],
  ['all at each pause', 'on-fault'],
] as const)('runs the program without crashes in real time, with answers %s', async (_, when) => {
  const ledger = new Ledger()
  const writeLine = ledger.of('alone')
  const runtime = createRuntime({
    store: recordAppends(memoryStore(), writeLine),
    agents: approvalsAgents({ writeLine, paceMs: 1, deadlineMs: 20 }),
    backoff: { firstMs: 1 },
    engine: { pollMs: 10 },
    logger: { warn() {}, error() {} },
  })
  const clients = new AnsweringClients({ pickProcess: () => ({ runtime }), when })
  const readerChecks = new ReaderChecks()
  await requestApprovalsRun(runtime)
  for await (const entry of await runtime.manager.createResumableReader(SESSION, {
    after: 0,
    follow: true,
    includeDiscarded: true,
    internal: true,
  })) {
    readerChecks.onEntry(entry)
    clients.onEntry(entry)
    if (entry.chunk.type === 'run-finished') break
  }
  await clients.idle()
  await runtime.close()
  expect(clients.problems).toEqual([])
  expect([...readerChecks.ended.values()]).toEqual(['completed'])
})
