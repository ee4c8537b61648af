import type { Standing } from './harness/standing.ts'

const OTHER_SIZE = 'its row has another size'
const OTHER_FORMAT = 'it has another format'
const ONE_READER =
  'Hono stores nothing: ours appends to a log first and serves from it. With more readers all share the append.'
const COALESCED =
  'our writer coalesces 16 ms of deltas into one append, so a fast model causes sixty appends a second instead of five hundred. Coalesced deltas are shown up to one frame later.'
const STEPS =
  'the AI SDK stores nothing: ours commits each model call and each tool result, notifies readers, and another process can continue from the commit.'

/** Rows of the standings table, with the claims of the documentation. */
export const standings: readonly Standing[] = [
  {
    job: 'a delta into the view',
    benchmark: 'reduce/batches',
    ours: 'millrace, 64 a batch, a view after each',
    peers: ['MUI processStream', 'AI SDK Chat'],
    excluded: [['TanStack', 'it costs a thousand times more at this length and takes minutes']],
    floor: 'a string that grows',
    atMost: 0.5,
    growth: { benchmark: 'reduce/growth', small: 'millrace, 100 x 10,000', large: 'millrace, 1 x 1,000,000' },
    quick: true,
  },
  {
    job: 'a delta into the view, read from a stream',
    benchmark: 'reduce/stream',
    ours: 'millrace',
    peers: ['MUI processStream'],
    floor: 'the stream, read and dropped',
    atMost: 1,
  },
  {
    job: 'a delta after 500 messages',
    benchmark: 'reduce/history',
    ours: 'millrace, 8 a batch, the changes after each; after 500 messages',
    peers: [
      'MUI processStream; after 500 messages',
      'AI SDK Chat; after 500 messages',
      'TanStack StreamProcessor; after 500 messages',
    ],
    excluded: [['after 0 messages', OTHER_SIZE]],
    atMost: 0.5,
  },
  {
    job: 'a partial JSON value, 1 MB, a character',
    benchmark: 'json/large',
    ours: 'millrace',
    peers: ['jsonriver'],
    floor: 'concat, one JSON.parse at the end',
    atMost: 0.5,
    growth: { benchmark: 'json/growth', small: 'millrace, 10 x 100 KB', large: 'millrace, 1 x 1 MB' },
    quick: true,
  },
  {
    job: 'a partial JSON value, 10 KB, a character',
    benchmark: 'json/small',
    ours: 'millrace',
    peers: ['jsonriver', 'partial-json', 'AI SDK parsePartialJson'],
    atMost: 0.5,
  },
  {
    job: 'declared fields of a document, 1 MB',
    benchmark: 'structured/fields',
    ours: 'FieldWatcher, wildcards, 1 x 1 MB',
    peers: ['jsonriver, 1 x 1 MB'],
    excluded: [[' KB', OTHER_SIZE]],
    floor: 'JsonStream, an update a delta, 1 x 1 MB',
    atMost: 1,
    growth: { small: 'FieldWatcher, wildcards, 100 x 10 KB', large: 'FieldWatcher, wildcards, 1 x 1 MB' },
  },
  {
    job: 'an array that grows by an item',
    benchmark: 'structured/append',
    ours: 'reduceStructuredChunks, 1 x 100,000',
    floor: 'an array that grows, 1 x 100,000',
    growth: { small: 'reduceStructuredChunks, 10 x 10,000', large: 'reduceStructuredChunks, 1 x 100,000' },
  },
  {
    job: 'an event to a checked frame',
    benchmark: 'sse/decode',
    ours: 'millrace, checked',
    peers: ['TanStack fetchServerSentEvents', 'AI SDK DefaultChatTransport, checked'],
    // The bytes of the other row, without validation.
    floor: 'eventsource-parser + JSON.parse',
    atMost: 1,
    atMostOfFloor: 1.3,
    quick: true,
  },
  {
    job: 'a frame to an event',
    benchmark: 'sse/encode',
    ours: 'millrace',
    peers: ['TanStack toServerSentEventsStream', 'AI SDK JsonToSseTransformStream'],
    floor: 'JSON.stringify + framing',
    atMost: 1,
    quick: true,
  },
  {
    job: 'a chunk checked, of all kinds',
    benchmark: 'validate/uniform',
    ours: 'millrace checkChunk',
    peers: ['a zod discriminatedUnion'],
    excluded: [['our ChunkSchema', 'it is ours, for applications with zod']],
    atMost: 0.5,
    quick: true,
  },
  {
    job: 'a JSON Patch on shared state',
    benchmark: 'patch/apply',
    ours: 'millrace',
    peers: ['rfc6902, on a structured clone', 'fast-json-patch, which clones'],
    floor: 'fast-json-patch, in place',
    atMost: 1,
  },
  ...(['memory', 'sqlite', 'redis', 'postgres'] as const).map(
    (backend): Standing => ({
      job: `an entry into the log, ${backend}`,
      benchmark: `log/append-${backend}`,
      ours: `our writer, 16 an append, ${backend === 'memory' ? 'one log' : '16 logs'}`,
      floor: `raw, 16 an append, ${backend === 'memory' ? 'one log' : '16 logs'}`,
      // In memory there is no I/O: only validation and encoding remain.
      ...(backend !== 'memory' && { atMostOfFloor: 1 / 0.6 }),
      ...(backend === 'sqlite' && { quick: true }),
    }),
  ),
  {
    job: 'a token for a late reader',
    benchmark: 'log/catch-up',
    ours: 'ours, 1,000 tokens an append, live, 1 reader',
    peers: ['resumable-stream, tokens, live, 1 reader', 'resumable-stream, events, live, 1 reader'],
    excluded: [[', 10 readers', OTHER_SIZE]],
    atMost: 1,
  },
  {
    job: 'a token produced while ten readers follow',
    benchmark: 'log/readers',
    ours: 'ours, 10 readers',
    peers: ['resumable-stream, 10 readers'],
    excluded: [
      ['no readers', OTHER_SIZE],
      [', 1 reader', OTHER_SIZE],
      [', 100 readers', OTHER_SIZE],
    ],
    atMost: 0.1,
  },
  {
    job: 'a token of a run, in memory',
    benchmark: 'runtime/tokens',
    ours: 'ours, memory',
    peers: ['AI SDK streamText'],
    floor: 'the stream alone',
    atMost: 0.5,
    quick: true,
  },
  {
    job: 'a token of a run, on SQLite',
    benchmark: 'runtime/tokens',
    ours: 'ours, sqlite',
    peers: ['AI SDK streamText'],
    floor: 'the stream alone',
    atMost: 0.6,
  },
  {
    job: 'a step of an agent with tools, in memory',
    benchmark: 'runtime/steps',
    ours: 'ours, memory',
    peers: ['AI SDK streamText'],
    atMost: 3,
    aheadReason: STEPS,
  },
  ...[1, 100, 1000].map(
    (readers): Standing => ({
      job: `a delivery, ${readers === 1 ? 'one reader' : `${readers.toLocaleString('en')} readers`}`,
      benchmark: `server/fan-out-${readers}`,
      ours: 'ours',
      peers: ['Hono streamSSE, writeSSE', 'Hono streamSSE, 16 events a write'],
      floor: 'node http, 16 events a write',
      atMost: readers === 1 ? 5 : 1,
      ...(readers === 1 && { aheadReason: ONE_READER }),
      ...(readers > 1 && { atMostOfFloor: 1.25 }),
      ...(readers === 100 && { quick: true }),
    }),
  ),
  ...[false, true].map(
    (tail): Standing => ({
      job: 'from an append to its reader, memory',
      benchmark: 'server/latency-memory',
      ours: 'ours, memory',
      peers: ['durable-streams, memory'],
      atMost: 1,
      ...(tail && { tail }),
    }),
  ),
  {
    job: 'from an append to its reader, disk',
    benchmark: 'server/latency-disk',
    ours: 'ours, SQLite (synchronous=FULL)',
    peers: ['durable-streams, files (fdatasync) and LMDB'],
    atMost: 1,
  },
  ...['memory', 'disk'].map(
    (storage): Standing => ({
      job: `catching up over HTTP, 20,000 entries, ${storage}`,
      benchmark: `server/catch-up-${storage}-20000`,
      ours: 'ours, entry by entry',
      peers: ['durable-streams, SSE', 'durable-streams, one reply'],
      atMost: 1,
    }),
  ),
  {
    job: 'catching up, 2,000 entries, CPU of the server',
    benchmark: 'server/catch-up-memory-2000-cpu',
    ours: 'ours, entry by entry',
    peers: ['durable-streams, SSE', 'durable-streams, one reply'],
    atMost: 1,
  },
  {
    job: 'a delta to a store subscriber, 10,000 messages',
    benchmark: 'client/store',
    ours: 'ours, 10,000 messages',
    peers: ['AI SDK Chat, 10,000 messages', 'TanStack StreamProcessor, 10,000 messages'],
    excluded: [
      ['MUI ChatStore, 10,000', 'it takes milliseconds per delta'],
      [', 0 messages', OTHER_SIZE],
      [', 500 messages', OTHER_SIZE],
    ],
    atMost: 0.5,
    growth: { small: 'ours, 500 messages', large: 'ours, 10,000 messages', sizes: [500, 10_000] },
  },
  {
    job: 'a delta to a store subscriber, no messages',
    benchmark: 'client/store',
    ours: 'ours, 0 messages',
    peers: ['MUI ChatStore, 0 messages', 'AI SDK Chat, 0 messages', 'TanStack StreamProcessor, 0 messages'],
    excluded: [
      [',000 messages', OTHER_SIZE],
      [', 500 messages', OTHER_SIZE],
    ],
    atMost: 1,
    quick: true,
  },
  {
    job: 'bytes allocated for a delta',
    benchmark: 'client/allocation',
    ours: 'ours, 500 messages',
    peers: ['MUI ChatStore, 500 messages', 'AI SDK Chat, 500 messages', 'TanStack StreamProcessor, 500 messages'],
    atMost: 0.5,
  },
  ...(['ai-sdk', 'tanstack'] as const).flatMap((dialect): Standing[] => [
    {
      job: `a chunk encoded for ${dialect}`,
      benchmark: 'dialects/encode',
      ours: `millrace, ${dialect}`,
      peers: [dialect === 'tanstack' ? 'TanStack toServerSentEventsStream' : 'AI SDK JsonToSseTransformStream'],
      excluded: [[dialect === 'tanstack' ? 'AI SDK' : 'TanStack', OTHER_FORMAT]],
      atMost: 0.5,
      growth: {
        benchmark: 'dialects/growth',
        small: `${dialect}, answers of 1,000`,
        large: `${dialect}, one of 100,000`,
      },
      quick: true,
    },
    {
      job: `a chunk decoded from ${dialect}`,
      benchmark: 'dialects/decode',
      ours: `millrace, ${dialect}`,
      peers: [dialect === 'tanstack' ? 'TanStack fetchServerSentEvents' : 'AI SDK DefaultChatTransport'],
      excluded: [[dialect === 'tanstack' ? 'AI SDK' : 'TanStack', OTHER_FORMAT]],
      atMost: 0.5,
    },
  ]),
  ...(
    [
      { rate: 50, atMost: 1 },
      { rate: 500, atMost: 2, aheadReason: COALESCED },
      { rate: 5000, atMost: 1, excluded: [['TanStack', 'it takes a minute for one second of tokens']] },
    ] as const
  ).map(
    ({ rate, ...claimed }): Standing => ({
      job: `a token to the screen, ${rate.toLocaleString('en')} a second`,
      benchmark: `screen/tokens-${rate}`,
      ours: 'ours',
      peers: [
        'AI SDK streamText and useChat',
        ...(rate === 5000 ? [] : ['TanStack chat() and useChat']),
        'MUI hooks, plain server',
      ],
      floor: 'plain page, plain server',
      ...claimed,
    }),
  ),
  {
    job: "the page's main thread, 10 answers at once",
    benchmark: 'screen/crowd-10',
    ours: 'ours',
    peers: ['AI SDK streamText and useChat', 'TanStack chat() and useChat', 'MUI hooks, plain server'],
    floor: 'plain page, plain server',
    atMost: 1,
  },
  {
    job: 'an idle session, SQLite',
    benchmark: 'scale/sessions',
    ours: 'idle, sqlite',
  },
  {
    job: 'a session that waits for approval, SQLite',
    benchmark: 'scale/sessions',
    ours: 'paused, sqlite',
  },
  {
    job: 'a session with a streaming answer and its reader',
    benchmark: 'scale/sessions-streaming',
    ours: 'ours, sqlite',
    peers: ['AI SDK streamText', 'AI SDK streamText, kept by resumable-stream'],
    excluded: [['Hono', 'it only carries events, without a model or a session']],
    floor: 'node http',
    atMost: 1,
  },
  {
    job: 'an append to one of 1,000 readers, a session each',
    benchmark: 'scale/readers',
    ours: 'ours, sqlite, a session each',
    excluded: [
      ['durable-streams', 'it is in memory here and ours on disk: server/latency-disk has both on disk'],
      ['Hono', 'it has no log, like the floor'],
    ],
    floor: 'node http, a session each',
  },
  ...(['its view', 'the first token of a new turn'] as const).map(
    (first): Standing => ({
      job: `cold start of a session of 1,000 turns: ${first}`,
      benchmark: 'scale/cold-start',
      ours: `${first}, 1,000 turns`,
    }),
  ),
]
