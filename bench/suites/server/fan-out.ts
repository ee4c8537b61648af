import type { ServerName } from '../../contenders/server/session-server.ts'
import type { Benchmark, Claim, Contender } from '../../harness/suite.ts'

/** Entries an append. */
const SIZE = 16
/** Minimum share of the deliveries of plain http. */
const MIN_SHARE = 0.8

const READERS = [
  { readers: 1, appends: 1_000 },
  { readers: 100, appends: 100 },
  { readers: 1_000, appends: 30 },
]

/** CPU cost of the server per delivered entry, by the number of readers. */
export function fanOutBenchmarks(quick: boolean): Benchmark[] {
  return READERS.map(({ readers, appends }) => {
    const load = { pieces: 1, items: SIZE * readers * (quick ? Math.ceil(appends / 3) : appends) }
    const contender = (
      name: string,
      kind: Contender['kind'],
      serverName: ServerName,
      readerCount = readers,
    ): Contender => ({
      name,
      kind,
      load,
      warmUp: load,
      prepare: async (items, workIndex) =>
        (await import('../../contenders/server/fan-out.ts')).fanOut(serverName, readerCount, SIZE, items, workIndex),
    })
    const ours = contender('ours', 'ours', 'ours memory')
    const http = contender('node http, 16 events a write', 'floor', 'http')
    const batch = contender('Hono streamSSE, 16 events a write', 'peer', 'hono batch')
    const each = contender('Hono streamSSE, writeSSE', 'peer', 'hono each')
    const rate = (of: Contender, to: Contender, atLeast?: number): Claim => ({
      kind: 'rate',
      of: of.name,
      to: to.name,
      ...(atLeast && { atLeast }),
    })
    const alone = readers === 1 ? [contender('ours, appended without readers', 'ours', 'ours memory', 0)] : []
    return {
      name: `fan-out-${readers}`,
      title: `deliveries to ${readers === 1 ? 'one SSE reader' : `${readers.toLocaleString('en')} SSE readers`} of a session, ${SIZE} entries per append: CPU time of the server's process`,
      item: 'delivery',
      reference: ours.name,
      trial: SIZE * readers * 2,
      contenders: [ours, http, batch, each, ...alone],
      claims: [
        rate(ours, http, MIN_SHARE),
        rate(ours, batch),
        rate(ours, each),
        ...[ours, http].map(({ name }): Claim => ({ kind: 'speed', of: name })),
      ],
      notes: [
        'ours: a commit of a writer on the memory store; the others have no log, and write the same entries without their origin',
      ],
    }
  })
}
