import type { GrowthChart } from './growth-chart.ts'

const count = (size: number) => size.toLocaleString('en')

/** The curves of `docs/performance.md`. */
export const charts: readonly GrowthChart[] = [
  {
    name: 'growth-answer',
    title: 'An answer, by its length',
    xLabel: 'text deltas in the answer',
    yLabel: 'CPU time a delta',
    unit: 'cpu',
    curves: [
      { label: 'Millrace', points: lengths('millrace', [1000, 10_000, 100_000]) },
      { label: 'MUI', points: lengths('MUI processStream', [1000, 10_000, 100_000]) },
      { label: 'AI SDK', points: lengths('AI SDK Chat', [1000, 10_000, 100_000]) },
      {
        label: 'TanStack',
        points: [
          ...lengths('TanStack StreamProcessor', [1000, 10_000]),
          { size: 100_000, benchmark: 'reduce/batches', contender: 'TanStack StreamProcessor' },
        ],
      },
    ],
  },
  {
    name: 'growth-json',
    title: 'A JSON document with a usable value after each delta, by its length',
    xLabel: 'KB in the document',
    yLabel: 'CPU time a character',
    unit: 'cpu',
    curves: [
      { label: 'Millrace', points: documents('millrace', [3, 10, 30, 100, 1000]) },
      { label: 'jsonriver', points: documents('jsonriver', [3, 10, 30, 100, 1000]) },
      { label: 'AI SDK', points: documents('AI SDK parsePartialJson', [3, 10, 30]) },
      { label: 'partial-json', points: documents('partial-json', [3, 10, 30]) },
    ],
  },
  {
    name: 'growth-conversation',
    title: 'A delta to a store subscriber, by the length of the conversation',
    xLabel: 'messages, including the streaming one',
    yLabel: 'CPU time a delta',
    unit: 'cpu',
    curves: [
      { label: 'Millrace', points: conversations('ours') },
      { label: 'AI SDK', points: conversations('AI SDK Chat') },
      { label: 'TanStack', points: conversations('TanStack StreamProcessor') },
      { label: 'MUI', points: conversations('MUI ChatStore') },
    ],
  },
]

function lengths(contender: string, sizes: readonly number[]) {
  return sizes.map(size => ({ size, benchmark: 'reduce/lengths', contender: `${contender}, ${count(size)}` }))
}

function documents(contender: string, sizes: readonly number[]) {
  return sizes.map(size => ({ size, benchmark: 'json/lengths', contender: `${contender}, ${size} KB` }))
}

function conversations(contender: string) {
  return [0, 500, 10_000].map(before => ({
    size: before + 1,
    benchmark: 'client/store',
    contender: `${contender}, ${count(before)} messages`,
  }))
}
