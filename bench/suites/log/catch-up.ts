import type { Benchmark, Claim, Contender } from '../../harness/suite.ts'

const READERS = [1, 10, 100]
/** resumable-stream does not reliably serve more readers at once: it sends each the full text, and a reader gives up after a second. */
const RESUMABLE_MAX_READERS = 10

/** The speed of the model decides how many tokens share an append. */
const SPEEDS = [
  { name: '1,000 tokens an append', size: 1_000 },
  { name: '8 tokens an append', size: 8 },
  { name: 'a token an append', size: 1 },
]

const catchUp = () => import('../../contenders/log/catch-up.ts')
const readersOf = () => import('../../contenders/log/readers.ts')
const readerText = (readers: number): string => (readers === 1 ? '1 reader' : `${readers} readers`)

/** Time for late readers to receive a long answer. */
export function catchUpBenchmark(quick: boolean, rounds: number): Benchmark {
  const load = { pieces: 1, items: quick ? 20_000 : 100_000 }
  const [unpaced, paced, slow] = SPEEDS.map(({ name }) => name) as [string, string, string]
  const ours = (speed: string, state: 'live' | 'finished', readers: number): Contender => {
    const size = SPEEDS.find(({ name }) => name === speed)?.size ?? 0
    const prepare: Contender['prepare'] = async (tokens, workIndex) =>
      (await catchUp()).catchUpOurs(size, state, readers, tokens, workIndex)
    return { name: `ours, ${speed}, ${state}, ${readerText(readers)}`, kind: 'ours', load, warmUp: load, prepare }
  }
  const peer = (transport: 'tokens' | 'events', readers: number): Contender => {
    const prepare: Contender['prepare'] = async (tokens, workIndex) =>
      (await catchUp()).catchUpResumable(transport, readers, tokens, workIndex)
    return {
      name: `resumable-stream, ${transport}, live, ${readerText(readers)}`,
      kind: 'peer',
      load,
      warmUp: load,
      prepare,
    }
  }
  const readerCounts = quick ? [1, 10] : READERS
  const events = peer('events', 1)
  const tokens = readerCounts
    .filter(readers => readers <= RESUMABLE_MAX_READERS)
    .map(readers => peer('tokens', readers))
  const live = readerCounts.map(readers => ours(unpaced, 'live', readers))
  const finished = readerCounts.map(readers => ours(unpaced, 'finished', readers))
  const others = (quick ? [1] : [1, 10]).map(readers => ours(paced, 'live', readers))
  const slowest = quick ? [] : [ours(slow, 'live', 1)]
  const compare = (of: Contender, to: Contender | undefined, atMost?: number): Claim[] =>
    to ? [{ kind: 'ratio', of: of.name, to: to.name, ...(atMost && { atMost }) }] : []
  return {
    name: 'catch-up',
    title: `time until each late reader has a complete answer of ${load.items.toLocaleString('en')} tokens, on one Redis`,
    item: 'token',
    unit: 'wall',
    rounds,
    needs: ['folder', 'redis'],
    contenders: [...tokens, events, ...live, ...finished, ...others, ...slowest],
    claims: [
      ...[...live, ...finished].flatMap((of, i) => compare(of, tokens[i % readerCounts.length], 1)),
      ...others.slice(0, 1).flatMap(of => compare(of, events, 1)),
      ...others.flatMap((of, i) => compare(of, tokens[i])),
      ...slowest.flatMap(of => [...compare(of, events), ...compare(of, tokens[0])]),
    ],
    notes: [
      'resumable-stream sends the past text as one string from the memory of its producer, and null after the end; ours reads entries from the log and merges them',
      "tokens: the plain text, which is not enough for a chat; events: a 'data:' line per token, as in its own pages",
      'resumable-stream does not always serve a hundred readers at once: a reader without data within a second gives up',
      'ours, 1,000 tokens an append: tokens are produced as fast as they are consumed; 8 is a model of 500 tokens per second, whose tokens of 16 ms share an append; 1 is a model below 60',
      ...(quick ? ['quick: a shorter answer, fewer readers, no slow model'] : []),
    ],
  }
}

/** Cost of readers for the producer. */
export function readersBenchmark(quick: boolean, rounds: number): Benchmark {
  const catchUpContender = (transport: 'ours' | 'tokens', readers: number, items: number): Contender => {
    const prepare: Contender['prepare'] = async (tokens, workIndex) =>
      (await readersOf()).produceForReaders(transport, readers, tokens, workIndex)
    return {
      name: `${transport === 'ours' ? 'ours' : 'resumable-stream'}, ${readers === 0 ? 'no readers' : readerText(readers)}`,
      kind: transport === 'ours' ? 'ours' : 'peer',
      load: { pieces: 1, items },
      warmUp: { pieces: 1, items: items / 2 },
      prepare,
    }
  }
  const readerCounts = quick ? [1, 10] : READERS
  const [alone, peerAlone] = [catchUpContender('ours', 0, 20_000), catchUpContender('tokens', 0, 20_000)]
  const ours = readerCounts.map(readers => catchUpContender('ours', readers, 20_000))
  // Its cost per token is constant, so fewer tokens are enough.
  const peers = readerCounts.map(readers => catchUpContender('tokens', readers, 2_000 / readers))
  return {
    name: 'readers',
    title: 'producing an answer token by token, as fast as it is consumed, while readers in another process follow',
    item: 'token',
    unit: 'wall',
    rounds,
    needs: ['folder', 'redis'],
    contenders: [alone, ...ours, peerAlone, ...peers],
    claims: [
      ...ours.map((of): Claim => ({ kind: 'rate', of: of.name, to: alone.name })),
      ...peers.map((of): Claim => ({ kind: 'rate', of: of.name, to: peerAlone.name })),
      ...ours.map((of, i): Claim => ({ kind: 'rate', of: of.name, to: peers[i]?.name ?? '' })),
    ],
    notes: ['the readers, the producer and Redis share the cores of one machine'],
  }
}
