import type { Arrivals, Asked, Telling } from '../../contenders/client/telling.ts'
import { TRIAL } from '../../contenders/client/trial.ts'
import type { Benchmark, Contender, Job, Load } from '../../harness/suite.ts'

/** How many messages a conversation has before the answer comes. */
const LENGTHS = [0, 500, 10_000]
const DELTAS = 10_000
/** Each delta in a frame of the screen of its own, as of a model of 60 tokens a second: all of them are told. */
const EACH: Arrivals = { size: 1, apartMs: 16 }
/** As of a model of 500 tokens a second that comes once a frame, or token by token. */
const FRAMES: Arrivals = { size: 8, apartMs: 16 }
const APART: Arrivals = { size: 1, apartMs: 2 }

type Store = 'ours' | 'MUI ChatStore' | 'AI SDK Chat' | 'TanStack StreamProcessor'

const stores: readonly Store[] = ['ours', 'MUI ChatStore', 'AI SDK Chat', 'TanStack StreamProcessor']

async function prepare(store: Store, telling: Telling): Promise<Job> {
  switch (store) {
    case 'ours':
      return (await import('../../contenders/client/store-ours.ts')).oursTold(telling)
    case 'MUI ChatStore':
      return (await import('../../contenders/client/store-mui.ts')).muiTold(telling)
    case 'AI SDK Chat':
      return (await import('../../contenders/client/store-ai.ts')).aiTold(telling)
    case 'TanStack StreamProcessor':
      return (await import('../../contenders/client/store-tanstack.ts')).tanstackTold(telling)
  }
}

const nameOf = (store: Store, history: number) => `${store}, ${history.toLocaleString('en')} messages`

function contender(store: Store, history: number, arrivals: Arrivals, asked: Asked, load: Load, warmUp: Load) {
  return {
    name: nameOf(store, history),
    kind: store === 'ours' ? 'ours' : 'peer',
    load,
    warmUp,
    prepare: (count, piece) => prepare(store, { count, piece, history, arrivals, asked }),
  } satisfies Contender
}

/** What deltas cost the stores of clients, by the length of the conversation, and who is told of them. */
export function storeBenchmarks(quick: boolean): Benchmark[] {
  return [
    time('store', 'each told by itself', EACH, quick),
    time('store-frames', '8 told at once', FRAMES, quick),
    allocation('allocation', 'each told by itself', EACH, quick),
    allocation('allocation-frames', '8 told at once', FRAMES, quick),
    notifications(),
  ]
}

function time(name: string, how: string, arrivals: Arrivals, quick: boolean): Benchmark {
  const loadOf = (store: Store, history: number): Load => {
    // A load of ours is so short that many, each with a conversation of its own, would have to be held ready.
    if (store === 'ours') return { pieces: 1, items: 10 * DELTAS }
    // It takes milliseconds a delta there, the same for each.
    if (store === 'MUI ChatStore' && history === 10_000) return { pieces: 1, items: DELTAS / (quick ? 50 : 10) }
    return { pieces: 1, items: DELTAS / (quick && history === 10_000 ? 10 : 1) }
  }
  return {
    name,
    title: `10,000 text deltas of an answer into conversations of 0, 500 and 10,000 messages, with one who shows it; ${how}`,
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
      'ours is told ten such answers a load, one after the other; MUI 1,000 deltas after 10,000 messages, or 200 if quick, the AI SDK and TanStack there 1,000 if quick',
      'a clock of the benchmark’s own passes from frame to frame: nobody waits, and what goes by timers goes as often as it would',
    ],
  }
}

function allocation(name: string, how: string, arrivals: Arrivals, quick: boolean): Benchmark {
  const load = { pieces: 1, items: DELTAS / (quick ? 2 : 1) }
  const warmUp = { pieces: 5, items: load.items }
  return {
    name,
    title: `what is allocated for a text delta, collected or not, after 500 messages; ${how}`,
    item: 'delta',
    unit: 'bytes',
    reference: nameOf('ours', 500),
    trial: TRIAL,
    contenders: stores.map(store => contender(store, 500, arrivals, 'bytes', load, warmUp)),
    claims: [{ kind: 'cost', of: nameOf('ours', 500), atMost: 512 }],
    notes: ['MUI and the AI SDK take chunks only from a ReadableStream, of which some is'],
  }
}

function notifications(): Benchmark {
  const load = { pieces: 1, items: DELTAS }
  return {
    name: 'notifications',
    title: '10,000 text deltas, one every 2 ms: how often who shows the answer is told in a frame of 16 ms',
    item: 'frame',
    unit: 'times',
    reference: nameOf('ours', 0),
    rounds: 1,
    trial: TRIAL,
    contenders: stores.map(store =>
      contender(store, 0, APART, 'notifications', load, { pieces: 1, items: DELTAS / 10 }),
    ),
    // The first is told at once, and what ends the answer in the frame after the last delta.
    claims: [{ kind: 'cost', of: nameOf('ours', 0), atMost: 1.002 }],
    notes: ['by the clock of the benchmark, so that each run gives the same'],
  }
}
