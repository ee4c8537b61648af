import type { Benchmark, Contender, Job, Load, Suite } from '../harness/suite.ts'

const BATCH = 64
/** Deltas per frame of 16 ms at 500 tokens per second. */
const FRAME = 8
const HISTORY = 500
const load: Load = { pieces: 1, items: 100_000 }
/** All contenders and sizes get this load. */
const warmUp: Load = { pieces: 6, items: 10_000 }

const fold = () => import('../contenders/fold.ts')
const mui = () => import('../contenders/mui.ts')
const ai = () => import('../contenders/ai.ts')
const tanstack = () => import('../contenders/tanstack.ts')

/** Folding parsed entries of one long answer into a view. */
export const reduce: Suite = {
  name: 'reduce',
  benchmarks: quick => [
    inBatches(quick),
    ...(quick ? [againstTanstack()] : []),
    throughStream(),
    growth(),
    lengths(quick),
    paced(),
    history(),
  ],
}

function contender(kind: Contender['kind'], name: string, load: Load, prepare: Contender['prepare']): Contender {
  return { name, kind, load, warmUp, prepare }
}

const muiContender = (load: Load) =>
  contender('peer', 'MUI processStream', load, async (count, workIndex) => (await mui()).muiAnswer(count, workIndex, 0))
const aiContender = (load: Load) =>
  contender('peer', 'AI SDK Chat', load, async (count, workIndex) => (await ai()).aiAnswer(count, workIndex, 0))
const tanstackContender = (load: Load) =>
  contender('peer', 'TanStack StreamProcessor', load, async (count, workIndex) =>
    (await tanstack()).tanstackAnswer(count, workIndex, 0),
  )
const batchContender = (load: Load, size: number) =>
  contender('ours', `millrace, ${size} a batch`, load, async (count, workIndex) =>
    (await fold()).foldBatches(count, workIndex, size, 'nothing'),
  )

function inBatches(quick: boolean): Benchmark {
  const ours = `millrace, ${BATCH} a batch`
  return {
    name: 'batches',
    title: '100,000 text deltas of one message, from parsed chunks to the final state',
    item: 'delta',
    reference: ours,
    contenders: [
      batchContender(load, BATCH),
      contender('ours', `millrace, ${BATCH} a batch, a view after each`, load, async (count, workIndex) =>
        (await fold()).foldBatches(count, workIndex, BATCH, 'views'),
      ),
      batchContender(load, 1),
      muiContender(load),
      aiContender(load),
      ...(quick ? [] : [tanstackContender(load)]),
      contender('floor', 'a string that grows', load, async (count, workIndex) =>
        (await fold()).concat(count, workIndex),
      ),
    ],
    claims: [
      { kind: 'ratio', of: ours, to: 'MUI processStream', atMost: 0.5 },
      { kind: 'ratio', of: ours, to: 'AI SDK Chat', atMost: 0.15 },
      ...(quick ? [] : [{ kind: 'ratio' as const, of: ours, to: 'TanStack StreamProcessor', atMost: 0.02 }]),
    ],
    notes: [
      'MUI and the AI SDK read chunks one by one from a ReadableStream; no contender reads the text before the end',
      ...(quick
        ? ['quick: without TanStack, which takes minutes at this length; see reduce/tanstack for a shorter one']
        : []),
    ],
  }
}

function againstTanstack(): Benchmark {
  const load = { pieces: 1, items: 40_000 }
  return {
    name: 'tanstack',
    title: '40,000 text deltas of one message',
    item: 'delta',
    reference: `millrace, ${BATCH} a batch`,
    contenders: [batchContender(load, BATCH), tanstackContender(load)],
    claims: [{ kind: 'ratio', of: `millrace, ${BATCH} a batch`, to: 'TanStack StreamProcessor' }],
    notes: ['the processor is quadratic, so its target of 0.02 is for 100,000 deltas and not judged at this size'],
  }
}

function throughStream(): Benchmark {
  const ours = 'millrace'
  return {
    name: 'stream',
    title: '100,000 text deltas of one message, read from a ReadableStream one by one',
    item: 'delta',
    reference: ours,
    contenders: [
      contender('ours', ours, load, async (count, workIndex) => (await fold()).foldStream(count, workIndex)),
      muiContender(load),
      contender('floor', 'the stream, read and dropped', load, async (count, workIndex) =>
        (await fold()).readStream(count, workIndex),
      ),
    ],
    claims: [
      { kind: 'ratio', of: ours, to: 'MUI processStream', atMost: 1.1 },
      { kind: 'ratio', of: 'the stream, read and dropped', to: ours },
    ],
    notes: ['the last ratio is the share of the transport in our cost'],
  }
}

function growth(): Benchmark {
  const total = 1_000_000
  const sizes = [10_000, 100_000, total]
  const name = (size: number) => `millrace, ${total / size} x ${size.toLocaleString('en')}`
  const [small = 0, large = 0] = [sizes.at(0), sizes.at(-1)]
  return {
    name: 'growth',
    title: `${total.toLocaleString('en')} text deltas in k messages of n deltas each, ${BATCH} per batch`,
    item: 'delta',
    reference: name(small),
    contenders: sizes.map(size =>
      contender('ours', name(size), { pieces: total / size, items: size }, async (count, workIndex) =>
        (await fold()).foldBatches(count, workIndex, BATCH, 'nothing'),
      ),
    ),
    claims: [{ kind: 'exponent', small: name(small), large: name(large), under: 1.1 }],
  }
}

/** Maximum answer length for TanStack. Longer ones take minutes. */
const TANSTACK_MOST = 10_000

function lengths(quick: boolean): Benchmark {
  const total = 100_000
  const sizes = [1000, 10_000, total]
  const drivers: [string, (load: Load) => Contender][] = [
    ['millrace', load => batchContender(load, BATCH)],
    ['MUI processStream', muiContender],
    ['AI SDK Chat', aiContender],
    ['TanStack StreamProcessor', tanstackContender],
  ]
  const name = (driver: string, size: number) => `${driver}, ${size.toLocaleString('en')}`
  return {
    name: 'lengths',
    title: 'text deltas in answers of 1,000, 10,000 and 100,000, cost per delta',
    item: 'delta',
    rounds: quick ? 1 : 3,
    contenders: drivers.flatMap(([driver, make]) =>
      sizes
        .filter(size => driver !== 'TanStack StreamProcessor' || size <= TANSTACK_MOST)
        .map(size => ({ ...make({ pieces: total / size, items: size }), name: name(driver, size) })),
    ),
    claims: drivers.map(([driver]) => ({
      kind: 'exponent',
      small: name(driver, 1000),
      large: name(driver, driver === 'TanStack StreamProcessor' ? TANSTACK_MOST : total),
    })),
    notes: ['TanStack takes 15 s for 100,000 deltas, so only reduce/batches measures that size'],
  }
}

function paced(): Benchmark {
  const total = 100_000
  const sizes = [10_000, total]
  const readers: [string, Contender['kind'], Contender['prepare']][] = [
    ['reads the new text', 'ours', async (count, workIndex) => (await fold()).foldReadNewText(count, workIndex, FRAME)],
    [
      'reads the full text',
      'ours',
      async (count, workIndex) => (await fold()).foldReadFullText(count, workIndex, FRAME),
    ],
    [
      'full text of a plain string',
      'floor',
      async (count, workIndex) => (await fold()).concatReadFullText(count, workIndex, FRAME),
    ],
  ]
  const name = (reader: string, size: number) => `${reader}, ${total / size} x ${size.toLocaleString('en')}`
  const exponent = (reader: string, under?: number) => ({
    kind: 'exponent' as const,
    small: name(reader, 10_000),
    large: name(reader, total),
    ...(under === undefined ? {} : { under }),
  })
  return {
    name: 'paced',
    title: `${FRAME} text deltas a frame (500 a second, a frame each 16 ms), with a reader in every frame`,
    item: 'delta',
    reference: name('reads the new text', total),
    contenders: readers.flatMap(([reader, kind, prepare]) =>
      sizes.map(size => contender(kind, name(reader, size), { pieces: total / size, items: size }, prepare)),
    ),
    claims: [
      exponent('reads the new text', 1.1),
      exponent('reads the full text'),
      exponent('full text of a plain string'),
    ],
    notes: [
      'frames follow without waiting, so only the work is measured; 1000 ns a delta is 0.5 ms of CPU for a second of streaming',
    ],
  }
}

function history(): Benchmark {
  const load = { pieces: 1, items: 10_000 }
  const drivers: [string, Contender['kind'], (count: number, workIndex: number, length: number) => Promise<Job>][] = [
    [
      `millrace, ${FRAME} a batch, a view after each`,
      'ours',
      async (count, workIndex, length) => (await fold()).foldBatches(count, workIndex, FRAME, 'views', length),
    ],
    [
      `millrace, ${FRAME} a batch, the changes after each`,
      'ours',
      async (count, workIndex, length) => (await fold()).foldBatches(count, workIndex, FRAME, 'changes', length),
    ],
    [
      'MUI processStream',
      'peer',
      async (count, workIndex, length) => (await mui()).muiAnswer(count, workIndex, length),
    ],
    ['AI SDK Chat', 'peer', async (count, workIndex, length) => (await ai()).aiAnswer(count, workIndex, length)],
    [
      'TanStack StreamProcessor',
      'peer',
      async (count, workIndex, length) => (await tanstack()).tanstackAnswer(count, workIndex, length),
    ],
  ]
  const name = (driver: string, length: number) => `${driver}; after ${length} messages`
  return {
    name: 'history',
    title: `10,000 text deltas into a conversation of ${HISTORY} messages, and of none`,
    item: 'delta',
    reference: name(drivers[0]?.[0] ?? '', HISTORY),
    contenders: drivers.flatMap(([driver, kind, prepare]) =>
      [0, HISTORY].map(length =>
        contender(kind, name(driver, length), load, (count, workIndex) => prepare(count, workIndex, length)),
      ),
    ),
    claims: drivers.map(([driver]) => ({ kind: 'ratio', of: name(driver, HISTORY), to: name(driver, 0) })),
    notes: [
      'the ratios show the cost of the history',
      'a full view is a new list of all messages; MUI, fed without a pause, updates its store only once',
    ],
  }
}
