import type { Rest } from '../../contenders/scale/at-rest.ts'
import type { Giver } from '../../contenders/scale/streaming.ts'
import type { Benchmark, Contender } from '../../harness/suite.ts'

/** Two that keep what is written to them elsewhere than in the heap: in a file that the process reads itself, and in another process. */
const backends = ['sqlite', 'redis'] as const
const rests: readonly Rest[] = ['idle', 'paused']

/** What a session at rest takes of the process that drove it. */
export function sessionsBenchmark(quick: boolean): Benchmark {
  return {
    name: 'sessions',
    title:
      'heap and external memory that a session at rest takes in the process that drove it, when all is collected: idle, its run has ended; paused, its run waits for approval',
    item: 'session',
    unit: 'bytes',
    rounds: quick ? 1 : 3,
    trial: 20,
    contenders: backends.flatMap(backend =>
      rests.map(
        (rest): Contender => ({
          name: `${rest}, ${backend}`,
          kind: 'ours',
          load: { pieces: 1, items: quick ? 1_000 : 5_000 },
          warmUp: { pieces: 1, items: 500 },
          prepare: async (count, piece) =>
            (await import('../../contenders/scale/at-rest.ts')).sessionsAtRest(backend, rest, count, piece),
        }),
      ),
    ),
    claims: [],
    needs: ['folder', 'redis'],
    notes: ['some of them are read in the end, or approved, and have to be whole'],
  }
}

/** What a session takes whose answer is under way, with a reader of its own. */
export function streamingBenchmark(quick: boolean): Benchmark {
  const contender = (name: string, kind: Contender['kind'], giver: Giver): Contender => ({
    name,
    kind,
    load: { pieces: 1, items: quick ? 200 : 500 },
    warmUp: { pieces: 1, items: 100 },
    prepare: async (count, piece) =>
      (await import('../../contenders/scale/streaming.ts')).streamingSessions(giver, count, piece),
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
      'heap and external memory that a session takes whose model is in the middle of an answer of 200 tokens, with an SSE reader each in another process',
    item: 'session',
    unit: 'bytes',
    reference: ours.name,
    rounds: quick ? 1 : 3,
    trial: 20,
    contenders: [ours, contender('ours, redis', 'ours', 'ours redis'), ...peers],
    claims: peers.map(({ name }) => ({ kind: 'ratio', of: ours.name, to: name })),
    needs: ['folder', 'redis'],
    notes: [
      'a request of the reader starts the answer, and the reply is the answer; all answers are read to their end when the memory has been taken',
      'ours is in a log and can be resumed, and its session is there when it has ended; Hono and node http are given the words of the same model, and keep nothing, as does the AI SDK alone',
    ],
  }
}
