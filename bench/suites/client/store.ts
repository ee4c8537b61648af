import type { Arrivals, StoreFigure, StoreLoad } from '../../contenders/client/store-job.ts'
import { TRIAL } from '../../contenders/client/trial.ts'
import type { Benchmark, Contender, Job, Load } from '../../harness/suite.ts'

/** Number of messages before the answer. */
const LENGTHS = [0, 500, 10_000]
const DELTAS = 10_000
/** One delta per screen frame, like a model of 60 tokens per second. Each delta is notified. */
const ONE_PER_FRAME: Arrivals = { size: 1, intervalMs: 16 }
/** Like a model of 500 tokens per second: 8 per frame at once, or token by token. */
const EIGHT_PER_FRAME: Arrivals = { size: 8, intervalMs: 16 }
const TOKENS: Arrivals = { size: 1, intervalMs: 2 }

type Store = 'ours' | 'MUI ChatStore' | 'AI SDK Chat' | 'TanStack StreamProcessor'

const stores: readonly Store[] = ['ours', 'MUI ChatStore', 'AI SDK Chat', 'TanStack StreamProcessor']

async function prepare(store: Store, load: StoreLoad): Promise<Job> {
  switch (store) {
    case 'ours':
      return (await import('../../contenders/client/store-ours.ts')).oursStore(load)
    case 'MUI ChatStore':
      return (await import('../../contenders/client/store-mui.ts')).muiStore(load)
    case 'AI SDK Chat':
      return (await import('../../contenders/client/store-ai.ts')).aiStore(load)
    case 'TanStack StreamProcessor':
      return (await import('../../contenders/client/store-tanstack.ts')).tanstackStore(load)
  }
}

const nameOf = (store: Store, history: number) => `${store}, ${history.toLocaleString('en')} messages`

function contender(store: Store, history: number, arrivals: Arrivals, figure: StoreFigure, load: Load, warmUp: Load) {
  return {
    name: nameOf(store, history),
    kind: store === 'ours' ? 'ours' : 'peer',
    load,
    warmUp,
    prepare: (count, workIndex) => prepare(store, { count, workIndex, history, arrivals, figure }),
  } satisfies Contender
}

/** Cost of deltas in client stores by the length of the conversation, and the number of notifications. */
export function storeBenchmarks(quick: boolean): Benchmark[] {
  return [
    time('store', 'one delta per notification', ONE_PER_FRAME, quick),
    time('store-frames', '8 deltas per notification', EIGHT_PER_FRAME, quick),
    allocation('allocation', 'one delta per notification', ONE_PER_FRAME, quick),
    allocation('allocation-frames', '8 deltas per notification', EIGHT_PER_FRAME, quick),
    notifications(),
  ]
}

function time(name: string, batching: string, arrivals: Arrivals, quick: boolean): Benchmark {
  const loadOf = (store: Store, history: number): Load => {
    // Our load is short: without more pieces per load, many prepared conversations would be in memory at once.
    if (store === 'ours') return { pieces: 1, items: 10 * DELTAS }
    // MUI takes milliseconds per delta at this length, so fewer deltas are enough.
    if (store === 'MUI ChatStore' && history === 10_000) return { pieces: 1, items: DELTAS / (quick ? 50 : 10) }
    return { pieces: 1, items: DELTAS / (quick && history === 10_000 ? 10 : 1) }
  }
  return {
    name,
    title: `apply 10,000 text deltas of an answer to conversations of 0, 500 and 10,000 messages, with one subscriber; ${batching}`,
    item: 'delta',
    reference: nameOf('ours', 10_000),
    trial: TRIAL,
    contenders: stores.flatMap(store =>
      LENGTHS.map(history => {
        const load = loadOf(store, history)
        return contender(store, history, arrivals, 'time', load, { pieces: 1, items: Math.min(load.items, DELTAS) })
      }),
    ),
    claims: [
      { kind: 'ratio', of: nameOf('ours', 10_000), to: nameOf('ours', 0), atMost: 1.2 },
      { kind: 'ratio', of: nameOf('ours', 500), to: nameOf('ours', 0) },
      ...stores.slice(1).map(store => ({ kind: 'ratio' as const, of: nameOf('ours', 0), to: nameOf(store, 0) })),
      ...stores.slice(1).map(store => ({ kind: 'ratio' as const, of: nameOf(store, 10_000), to: nameOf(store, 0) })),
    ],
    notes: [
      'ours receives ten answers per load; with 10,000 messages MUI receives 1,000 deltas (quick: 200), the AI SDK and TanStack 1,000 if quick',
      'a fake clock advances frame by frame without waiting, so timers fire as often as in real time',
    ],
  }
}

function allocation(name: string, batching: string, arrivals: Arrivals, quick: boolean): Benchmark {
  const load = { pieces: 1, items: DELTAS / (quick ? 2 : 1) }
  const warmUp = { pieces: 5, items: load.items }
  return {
    name,
    title: `bytes allocated per text delta after 500 messages; ${batching}`,
    item: 'delta',
    unit: 'bytes',
    reference: nameOf('ours', 500),
    trial: TRIAL,
    contenders: stores.map(store => contender(store, 500, arrivals, 'bytes', load, warmUp)),
    claims: [{ kind: 'cost', of: nameOf('ours', 500), atMost: 512 }],
    notes: ['MUI and the AI SDK read chunks only from a ReadableStream, which allocates a part of it'],
  }
}

function notifications(): Benchmark {
  const load = { pieces: 1, items: DELTAS }
  return {
    name: 'notifications',
    title: 'notifications of a subscriber per frame of 16 ms, with 10,000 text deltas, one every 2 ms',
    item: 'frame',
    unit: 'times',
    reference: nameOf('ours', 0),
    rounds: 1,
    trial: TRIAL,
    contenders: stores.map(store =>
      contender(store, 0, TOKENS, 'notifications', load, { pieces: 1, items: DELTAS / 10 }),
    ),
    // The first delta is notified at once, and the end of the answer in the frame after the last delta.
    claims: [{ kind: 'cost', of: nameOf('ours', 0), atMost: 1.002 }],
    notes: ['by a fake clock, so the result is deterministic'],
  }
}
