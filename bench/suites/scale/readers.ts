import type { SessionServerName } from '../../contenders/scale/open-sessions.ts'
import type { SessionSharing } from '../../contenders/scale/readers.ts'
import type { Benchmark, Claim, Contender } from '../../harness/suite.ts'

const sharings: readonly SessionSharing[] = ['distinct', 'shared']
const sessionServers: readonly {
  readonly serverName: SessionServerName
  readonly name: string
  readonly kind: Contender['kind']
}[] = [
  { serverName: 'ours sqlite', name: 'ours, sqlite', kind: 'ours' },
  { serverName: 'http', name: 'node http', kind: 'floor' },
  { serverName: 'hono', name: 'Hono streamSSE', kind: 'peer' },
  { serverName: 'durable', name: 'durable-streams, memory', kind: 'peer' },
]
const nameOf = (name: string, sharing: SessionSharing): string =>
  `${name}, ${sharing === 'distinct' ? 'a session each' : 'one session'}`

/** Latency to the readers of one process, and their memory. */
export function readersBenchmarks(quick: boolean): Benchmark[] {
  if (quick) return [readersBenchmark('readers', 96, true)]
  return [readersBenchmark('readers', 1_000, false), readersBenchmark('readers-many', 10_000, false)]
}

function readersBenchmark(name: string, readers: number, quick: boolean): Benchmark {
  const contenders = sharings.flatMap(sharing =>
    sessionServers.map(
      ({ serverName, name, kind }): Contender => ({
        name: nameOf(name, sharing),
        kind,
        load: { pieces: 1, items: quick ? 30 : sharing === 'distinct' ? 1_000 : 50 },
        warmUp: { pieces: 1, items: 10 },
        prepare: async count =>
          (await import('../../contenders/scale/readers.ts')).followedAppends(serverName, sharing, readers, count),
      }),
    ),
  )
  const [ours, ...others] = sessionServers.map(({ name }) => name)
  return {
    name,
    title: `time from just before an append until the SSE readers of its session in another process have it, while one server process has ${readers.toLocaleString('en')} readers: a session each, with an append every 10 ms; or one session for all, with an append every ${readers / 10} ms`,
    item: 'append',
    unit: 'latency',
    rounds: quick ? 1 : 3,
    trial: 4,
    contenders,
    claims: sharings.flatMap(sharing =>
      others.flatMap((to): Claim[] => [
        { kind: 'ratio', of: nameOf(String(ours), sharing), to: nameOf(to, sharing) },
        { kind: 'tail', of: nameOf(String(ours), sharing), to: nameOf(to, sharing) },
      ]),
    ),
    needs: ['folder'],
    notes: [
      'with a session each, appends go to sixteen of the sessions in turn; the readers of the others are idle',
      'with one session, the latencies of all readers count, including the work of the single reader process',
      ...(quick ? ['quick: neither 1,000 nor 10,000 readers'] : []),
    ],
  }
}
