import type { InactiveState } from '../../contenders/scale/inactive-sessions.ts'
import type { AnswerServerName } from '../../contenders/scale/streaming.ts'
import type { Benchmark, Contender } from '../../harness/suite.ts'

/** Backends that store entries outside the heap: in a file, and in another process. */
const backends = ['sqlite', 'redis'] as const
const inactiveStates: readonly InactiveState[] = ['idle', 'paused']

/** Memory of an inactive session in the process that drove it. */
export function sessionsBenchmark(quick: boolean): Benchmark {
  return {
    name: 'sessions',
    title:
      'heap and external memory of an inactive session in the process that drove it, after garbage collection; idle: its run has ended; paused: its run waits for approval',
    item: 'session',
    unit: 'bytes',
    rounds: quick ? 1 : 3,
    trial: 20,
    contenders: backends.flatMap(backend =>
      inactiveStates.map(
        (state): Contender => ({
          name: `${state}, ${backend}`,
          kind: 'ours',
          load: { pieces: 1, items: quick ? 1_000 : 5_000 },
          warmUp: { pieces: 1, items: 500 },
          prepare: async (count, workIndex) =>
            (await import('../../contenders/scale/inactive-sessions.ts')).inactiveSessions(
              backend,
              state,
              count,
              workIndex,
            ),
        }),
      ),
    ),
    claims: [],
    needs: ['folder', 'redis'],
    notes: ['at the end some sessions are read, after approval if they are paused, and must be complete'],
  }
}

/** Memory of a session with a streaming answer and one reader. */
export function streamingBenchmark(quick: boolean): Benchmark {
  const contender = (name: string, kind: Contender['kind'], serverName: AnswerServerName): Contender => ({
    name,
    kind,
    load: { pieces: 1, items: quick ? 200 : 500 },
    warmUp: { pieces: 1, items: 100 },
    prepare: async (count, workIndex) =>
      (await import('../../contenders/scale/streaming.ts')).streamingSessions(serverName, count, workIndex),
  })
  const ours = contender('ours, sqlite', 'ours', 'ours sqlite')
  const peers = [
    contender('AI SDK streamText', 'peer', 'ai'),
    contender('AI SDK streamText, kept by resumable-stream', 'peer', 'ai resumable'),
    contender('Hono streamSSE', 'peer', 'hono'),
    contender('node http', 'floor', 'http'),
  ]
  return {
    name: 'sessions-streaming',
    title:
      'heap and external memory of a session in the middle of an answer of 200 tokens, with one SSE reader in another process',
    item: 'session',
    unit: 'bytes',
    reference: ours.name,
    rounds: quick ? 1 : 3,
    trial: 20,
    contenders: [ours, contender('ours, redis', 'ours', 'ours redis'), ...peers],
    claims: peers.map(({ name }) => ({ kind: 'ratio', of: ours.name, to: name })),
    needs: ['folder', 'redis'],
    notes: [
      'a request of the reader starts the answer, and the response is the answer; after the measurement all answers are read to their end',
      'ours is stored in a log, can be resumed and read after its end; Hono, node http and the AI SDK alone store nothing',
    ],
  }
}
