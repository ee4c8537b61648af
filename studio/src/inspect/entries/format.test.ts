import { expect, test } from 'vitest'
import { formatBytes, formatClock, formatDuration } from './format.ts'

const timestamp = new Date(2026, 0, 2, 9, 5, 7, 42).getTime()

test.each([
  ['s', '09:05:07'],
  ['ms', '09:05:07.042'],
] as const)('formats the time of day with a precision of 1 %s', (precision, text) => {
  expect(formatClock(timestamp, precision)).toBe(text)
})

test.each([
  [340, '340 ms'],
  [2500, '2.50 s'],
  [12_340, '12.3 s'],
  [250_000, '4 min 10 s'],
  [7_500_000, '2 h 5 min'],
  [180_000_000, '2 d 2 h'],
])('formats a duration of %d ms', (ms, text) => {
  expect(formatDuration(ms)).toBe(text)
})

test.each([
  [999, '999 B'],
  [1500, '1.5 kB'],
  [2_500_000, '2.5 MB'],
])('formats %d bytes', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text)
})
