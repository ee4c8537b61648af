import type { ServerName } from '../../contenders/server/session-server.ts'
import type { Benchmark, Contender } from '../../harness/suite.ts'

/** Latency from an append to a reader, by durability. */
export function latencyBenchmarks(quick: boolean): Benchmark[] {
  const contender = (name: string, kind: Contender['kind'], serverName: ServerName): Contender => ({
    name,
    kind,
    load: { pieces: 1, items: quick ? 100 : 500 },
    warmUp: { pieces: 1, items: quick ? 100 : 250 },
    prepare: async count => (await import('../../contenders/server/latency.ts')).latencies(serverName, count),
  })
  const latency = (name: string, title: string, ours: Contender, peer: Contender): Benchmark => ({
    name: `latency-${name}`,
    title: `time from just before an append in the server's process until an SSE reader in another has it, with an append every 4 ms; ${title}`,
    item: 'append',
    unit: 'latency',
    reference: ours.name,
    needs: ['folder'],
    trial: 8,
    contenders: [ours, peer],
    claims: [
      { kind: 'ratio', of: ours.name, to: peer.name, atMost: 1 },
      { kind: 'tail', of: ours.name, to: peer.name, atMost: 1 },
    ],
  })
  return [
    latency(
      'memory',
      'in memory',
      contender('ours, memory', 'ours', 'ours memory'),
      contender('durable-streams, memory', 'peer', 'durable memory'),
    ),
    latency(
      'disk',
      'an append waits for the disk',
      contender('ours, SQLite (synchronous=FULL)', 'ours', 'ours sqlite-full'),
      contender('durable-streams, files (fdatasync) and LMDB', 'peer', 'durable file'),
    ),
  ]
}
