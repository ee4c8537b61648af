import type { Benchmark, Contender, Load, Suite } from '../harness/suite.ts'

const BATCH = 16
const load: Load = { pieces: 1, items: 100_000 }
const warmUp: Load = { pieces: 3, items: 20_000 }

const wire = () => import('../contenders/sse.ts')
const ai = () => import('../contenders/ai.ts')
const tanstack = () => import('../contenders/tanstack.ts')

/** Encoding and decoding of entries as Server-Sent Events. */
export const sse: Suite = {
  name: 'sse',
  benchmarks: () => [decode(), decodeBatches(), encode(), encodeBatches()],
}

function contender(kind: Contender['kind'], name: string, prepare: Contender['prepare']): Contender {
  return { name, kind, load, warmUp, prepare }
}

const PARSER = 'eventsource-parser + JSON.parse'
const STRINGIFY = 'JSON.stringify + framing'
const OWN_EVENTS = 'the AI SDK and TanStack carry their own events, a third to half as long'

function decode(): Benchmark {
  return {
    name: 'decode',
    title: 'decode and check 100,000 frames of one text delta, in reads of 16 KB',
    item: 'frame',
    reference: 'millrace, checked',
    contenders: [
      contender('ours', 'millrace, checked', async (count, workIndex) =>
        (await wire()).decodeFrames(count, workIndex, 1),
      ),
      contender('floor', PARSER, async (count, workIndex) => (await wire()).parseEvents(count, workIndex, 1, 'JSON')),
      contender('peer', 'TanStack fetchServerSentEvents', async (count, workIndex) =>
        (await tanstack()).tanstackDecode(count, workIndex),
      ),
      contender('peer', 'AI SDK DefaultChatTransport, checked', async (count, workIndex) =>
        (await ai()).aiDecode(count, workIndex),
      ),
      contender('floor', 'eventsource-parser alone', async (count, workIndex) =>
        (await wire()).parseEvents(count, workIndex, 1, 'nothing'),
      ),
    ],
    claims: [{ kind: 'ratio', of: 'millrace, checked', to: PARSER, atMost: 1.3 }],
    notes: [`the first two and the floor read the same bytes; ${OWN_EVENTS}`],
  }
}

function decodeBatches(): Benchmark {
  return {
    name: 'decode-batches',
    title: `decode and check 100,000 text deltas in frames of ${BATCH}`,
    item: 'delta',
    reference: 'millrace, checked',
    contenders: [
      contender('ours', 'millrace, checked', async (count, workIndex) =>
        (await wire()).decodeFrames(count, workIndex, BATCH),
      ),
      contender('floor', PARSER, async (count, workIndex) =>
        (await wire()).parseEvents(count, workIndex, BATCH, 'JSON'),
      ),
    ],
    claims: [{ kind: 'ratio', of: 'millrace, checked', to: PARSER }],
  }
}

function encode(): Benchmark {
  return {
    name: 'encode',
    title: 'encode 100,000 frames of one text delta as events',
    item: 'frame',
    reference: 'millrace',
    contenders: [
      contender('ours', 'millrace', async (count, workIndex) => (await wire()).encodeFrames(count, workIndex, 1)),
      contender('floor', STRINGIFY, async (count, workIndex) => (await wire()).stringifyFrames(count, workIndex, 1)),
      contender('peer', 'TanStack toServerSentEventsStream', async (count, workIndex) =>
        (await tanstack()).tanstackEncode(count, workIndex),
      ),
      contender('peer', 'AI SDK JsonToSseTransformStream', async (count, workIndex) =>
        (await ai()).aiEncode(count, workIndex),
      ),
    ],
    claims: [{ kind: 'ratio', of: 'millrace', to: STRINGIFY, atMost: 1.3 }],
    notes: [
      `the first two write the same text, the second from frames whose omitted fields are already removed; ${OWN_EVENTS}`,
    ],
  }
}

function encodeBatches(): Benchmark {
  return {
    name: 'encode-batches',
    title: `encode 100,000 text deltas in frames of ${BATCH} as events`,
    item: 'delta',
    reference: 'millrace',
    contenders: [
      contender('ours', 'millrace', async (count, workIndex) => (await wire()).encodeFrames(count, workIndex, BATCH)),
      contender('floor', STRINGIFY, async (count, workIndex) =>
        (await wire()).stringifyFrames(count, workIndex, BATCH),
      ),
    ],
    claims: [{ kind: 'ratio', of: 'millrace', to: STRINGIFY }],
  }
}
