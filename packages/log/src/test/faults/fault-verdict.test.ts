import type { Entry } from '@millrace/protocol'
import { beforeAll, describe, expect, test } from 'vitest'
import { StreamManager } from '../../manager/stream-manager.ts'
import type { LogStore } from '../../store/log-store.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { driveRun, SharedDriverState } from './drive-run.fixture.ts'
import { ReportedLog, ReportedReader } from './fault-record.fixture.ts'
import {
  problemsOfAcks,
  problemsOfBlobs,
  problemsOfLog,
  problemsOfReader,
  readWhole,
  type WholeBatch,
  type WholeLog,
} from './fault-verdict.fixture.ts'
import { answerQuestions, followLog } from './readers-and-guests.fixture.ts'
import type { ProcessMessage, Run } from './store-process-messages.fixture.ts'
import { tokensIn } from './token.fixture.ts'

const run: Run = { streamId: 'log', runId: 'run', program: 'agent:mill@1' }

/** A log by two writers, of which the second took over during streamed text, with a guest and a reader. */
async function recordedRun() {
  const store = memoryStore()
  const manager = new StreamManager({ store, blobBytes: 2048 })
  const record = new ReportedLog(run)
  const reader = new ReportedReader('r1', run.streamId)
  const ending = new AbortController()
  const recorder = (by: string) => async (message: ProcessMessage) => {
    record.record(by, { ...message, at: 1000 })
    reader.take({ ...message, at: 1000 })
  }
  const acked = async (by: string, count: number) => {
    while (record.acks.filter(ack => ack.by === by).length < count) await new Promise(setImmediate)
  }
  const plan = { seed: 3, questionRate: 0.3, releasesWhileWaiting: false, outputLength: 10 }
  const sharedStates = ['p1', 'p2'].map(tag => new SharedDriverState(manager, tag, plan, recorder(tag))) as [
    SharedDriverState,
    SharedDriverState,
  ]
  await manager.createStream(run.streamId)
  const following = followLog(manager, 'r1', run.streamId, 0, ending.signal, recorder('r1'))
  const answering = answerQuestions(manager, 'ann', run.streamId, ending.signal, recorder('ann'))
  const lost = driveRun(sharedStates[0], run, false).catch(() => {})
  await acked('p1', 30)
  const draftWriter = await new StreamManager({ store }).createWriter(run.streamId, {
    ...run,
    agentType: 'mill',
    takeover: true,
  })
  await draftWriter.write({ type: 'text-delta', id: 'open', delta: 'a draft' }).appended
  await lost
  const ended = driveRun(sharedStates[1], run, true)
  await acked('p2', 3)
  sharedStates[1].finish([run.streamId])
  await ended
  const whole = await readWhole(store, run.streamId)
  while (reader.current.sequence < whole.head.head) await new Promise(setImmediate)
  ending.abort()
  await Promise.all([following, answering])
  return { store, record, reader, whole }
}

let store: LogStore
let record: ReportedLog
let reader: ReportedReader
let whole: WholeLog
beforeAll(async () => {
  ;({ store, record, reader, whole } = await recordedRun())
})

const writers = () => whole.batches.filter(({ entries }) => entries[0]?.origin.guest === undefined)
const changed = (change: (batches: WholeBatch[]) => void): WholeLog => {
  const batches = structuredClone(whole.batches) as WholeBatch[]
  change(batches)
  return { ...whole, batches }
}
const ofReader = (change: (reader: ReportedReader) => void): ReportedReader => {
  const copy = new ReportedReader('r1', run.streamId)
  copy.segments.splice(0, 1, ...structuredClone(reader.segments))
  change(copy)
  return copy
}
const entriesOf = (batch: WholeBatch | undefined): Entry[] => batch?.entries as Entry[]

test('finds no problems in a correct log', async () => {
  expect(record.acks.length).toBeGreaterThan(20)
  expect(record.answers.map(({ outcome }) => outcome)).toContain('duplicate')
  expect(problemsOfLog(whole)).toEqual([])
  expect(problemsOfAcks(whole, record)).toEqual([])
  expect(await problemsOfReader(store, whole, reader)).toEqual([])
  expect(await problemsOfBlobs(store, run.streamId, whole)).toEqual([])
})

describe('reports a violation inside a log', () => {
  const recordRead = (batches: WholeBatch[]) => {
    return batches.flatMap(entriesOf).filter(({ chunk }) => tokensIn(chunk)[0]?.line === 'main') as [Entry, Entry]
  }
  test.each<[string, RegExp, (batches: WholeBatch[]) => void]>([
    ['a gap', /law 1: \d+ follows \d+/, batches => batches.splice(3, 1)],
    ['a lost end', /law 1: the head is/, batches => batches.pop()],
    ['an incomplete batch', /law 1: \(\d+, \d+\) has/, batches => entriesOf(batches.at(-2)).pop()],
    [
      'a timestamp that decreases',
      /law 1: the time decreases/,
      batches => Object.assign(batches[4] as object, { timestamp: 1 }),
    ],
    [
      'deltas in another order',
      /law 1: \[p1\.main/,
      batches => {
        const [one, two] = recordRead(batches)
        ;[one.chunk, two.chunk] = [two.chunk, one.chunk]
      },
    ],
    [
      'a repeated delta',
      /law 2: .* is in the log twice/,
      batches => {
        const [one, two] = recordRead(batches)
        two.chunk = one.chunk
      },
    ],
    [
      'an append of a fenced writer',
      /law 4: 1-.* writes at/,
      batches => {
        Object.assign(batches.at(-1) as object, { mark: batches[0]?.mark })
      },
    ],
    [
      'a takeover without executor-superseded',
      /law 4: the takeover at \d+ begins with/,
      batches => {
        for (const batch of batches) {
          if (entriesOf(batch)[0]?.chunk.type === 'executor-superseded') entriesOf(batch).shift()
        }
      },
    ],
    [
      'a takeover that does not discard a draft',
      /law 4: the takeover at \d+ leaves the draft of main/,
      batches => {
        for (const entry of batches.flatMap(entriesOf)) {
          if (entry.chunk.type === 'step-discarded') entry.chunk = { type: 'status', message: '' }
        }
      },
    ],
    [
      'a second end',
      /law 7: run started 1 and finished 2 times/,
      batches => {
        ;(entriesOf(batches.at(-2))[0] as Entry).chunk = { type: 'run-finished', status: 'completed' }
      },
    ],
    [
      'a ticket that does not match the entries',
      /law 5: the ticket is/,
      batches => {
        for (const entry of batches.flatMap(entriesOf)) {
          if (entry.chunk.type === 'step-discarded') entry.chunk = { type: 'status', message: '' }
        }
      },
    ],
    [
      'a ticket that moved without its entries',
      /law 5: the ticket's version/,
      batches => {
        const end = batches.findLast(({ entries }) => entries.some(({ chunk }) => chunk.type === 'run-finished'))
        Object.assign(end as object, { mark: 'other' })
      },
    ],
  ])('%s', (_, expected, change) => {
    expect(problemsOfLog(changed(change))).toContainEqual(expect.stringMatching(expected))
  })
})

describe('compares a log with the acknowledgements, and reports', () => {
  const recordWith = (fields: Partial<ReportedLog>): ReportedLog => {
    return Object.assign(Object.create(ReportedLog.prototype), record, fields) as ReportedLog
  }
  const without = (token: string) =>
    changed(batches => {
      for (const entry of batches.flatMap(entriesOf)) {
        if (JSON.stringify(entry.chunk).includes(token)) entry.chunk = { type: 'status', message: '' }
      }
    })
  const ack = () => record.acks[10] as ReportedLog['acks'][number]

  test('an acknowledged append that is lost, unless the setting allows it', () => {
    const [token = ''] = ack().tokens
    const lost = /was acknowledged, and is lost/
    expect(problemsOfAcks(without(token), record)).toContainEqual(expect.stringMatching(lost))
    const lossy = recordWith({ lossy: [{ from: 999, to: 1001 }] })
    expect(problemsOfAcks(without(token), lossy)).not.toContainEqual(expect.stringMatching(lost))
    expect(problemsOfAcks(without(token), lossy)).toContainEqual(expect.stringMatching(/is lost, .* is not/))
  })

  test('an acknowledged append at other sequences', () => {
    const acks = [{ ...ack(), first: 1, last: 1 }]
    expect(problemsOfAcks(whole, recordWith({ acks }))).toEqual([
      expect.stringMatching(/was acknowledged at 1 to 1, but is at/),
    ])
  })

  test('an append that a restored copy should not have', () => {
    expect(problemsOfAcks(whole, recordWith({ lostAcks: [ack()] }))).toEqual([
      expect.stringMatching(/but is in the log/),
    ])
  })

  test('an incomplete batch', () => {
    const { tokens } = record.sent.find(batch => batch.tokens.length > 1) as ReportedLog['sent'][number]
    const found = problemsOfAcks(without(tokens[0] as string), recordWith({ acks: [] }))
    expect(found).toContainEqual(expect.stringMatching(/law 1: \d+ entries of the batch/))
  })

  test('a refused answer in the log, a missing accepted answer, and two answers to one question', () => {
    const taken = record.answers.find(({ outcome }) => outcome === 'appended') as ReportedLog['answers'][number]
    const refused = recordWith({ answers: [{ ...taken, outcome: 'refused', reason: 'late' }] })
    expect(problemsOfAcks(whole, refused)).toEqual([
      expect.stringMatching(/law 5: .* was refused as late, but is in the log/),
    ])
    expect(problemsOfAcks(without(taken.token), recordWith({ answers: [taken] }))).toContainEqual(
      expect.stringMatching(/law 5: .* was appended at \d+, but is at undefined/),
    )
    const twice = changed(batches => {
      const all = batches.flatMap(entriesOf)
      const first = all.find(({ chunk }) => tokensIn(chunk).some(({ text }) => text === taken.token)) as Entry
      Object.assign(all.at(-1) as Entry, { origin: first.origin, chunk: first.chunk })
    })
    expect(problemsOfAcks(twice, recordWith({ answers: [] }))).toContainEqual(
      expect.stringMatching(/law 5: .* is answered at/),
    )
  })

  test('a missing end of a run', () => {
    const [end] = record.ends
    expect(problemsOfAcks(without(end?.token ?? ''), record)).toContainEqual(
      expect.stringMatching(/law 7: the run ended/),
    )
  })
})

describe('compares a reader with the log, and reports', () => {
  const strange = (entry: Entry | undefined): Entry => ({ ...(entry as Entry), timestamp: 1 })
  test.each<[string, RegExp, (reader: ReportedReader) => void]>([
    [
      'another entry',
      /r1 got .*, the log has/,
      copy => {
        copy.current.entries[5] = strange(copy.current.entries[5])
      },
    ],
    [
      'entries of another log after those of its own',
      /got 10 of the log after 5, which is not of the log/,
      copy => {
        for (let i = 4; i < 9; i++) copy.current.entries[i] = strange(copy.current.entries[i])
        Object.assign(copy.current, { truncated: 'epoch' })
        copy.startSegment()
      },
    ],
    [
      'a truncation without a reason',
      /was truncated as past-head at/,
      copy => {
        Object.assign(copy.current, { truncated: 'past-head' })
        copy.startSegment()
      },
    ],
    [
      'an end before the head',
      /ends at 3, the log at/,
      copy => {
        copy.current.sequence = 3
      },
    ],
  ])('%s', async (_, expected, change) => {
    const found = await problemsOfReader(store, whole, ofReader(change))
    expect(found).toContainEqual(expect.stringMatching(expected))
  })

  test('a gap, a repeat and an incomplete batch, on arrival', () => {
    const [first, second] = entriesOf(writers()[0])
    const problemsOf = (after: number, sequence: number, entries: (Entry | undefined)[]) => {
      const copy = new ReportedReader('r1', run.streamId)
      copy.take({ kind: 'read', reader: 'r1', after, sequence, cursor: 'c', entries: entries as Entry[], at: 0 })
      return copy.problems
    }
    expect(problemsOf(0, 2, [first, second])).toEqual([])
    expect(problemsOf(1, 2, [second])).toEqual([expect.stringMatching(/at 0 got what follows 1/)])
    expect(problemsOf(0, 2, [first])).toEqual([expect.stringMatching(/got 1 of \(0, 2\]/)])
    expect(problemsOf(0, 2, [first, first])).toEqual([expect.stringMatching(/got 1,1 of/)])
  })
})

test('law 6: reports a missing blob', async () => {
  expect(whole.batches.some(({ entries }) => entries.some(({ blobs }) => blobs))).toBe(true)
  const other = memoryStore()
  const found = await problemsOfBlobs(other, run.streamId, whole)
  expect(found[0]).toMatch(/law 6: the blob of \d+ has undefined of \d+ bytes/)
})
