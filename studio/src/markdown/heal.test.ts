import { expect, test } from 'vitest'
import { heal } from './heal.ts'

test.each([
  ['some **bo', 'some **bo**'],
  ['some **bold** wo', 'some **bold** wo'],
  ['some **', 'some '],
  ['some **bold*', 'some **bold**'],
  ['some *it', 'some *it*'],
  ['a **b *c', 'a **b *c***'],
  ['~~go', '~~go~~'],
  ['run `np', 'run `np`'],
  ['run `', 'run '],
  ['run ``a`', 'run ``a``'],
  ['run `a` and', 'run `a` and'],
  ['see [the mi', 'see the mi'],
  ['see [the mill]', 'see the mill'],
  ['see [the mill](htt', 'see the mill'],
  ['see [the mill](https://x.example)', 'see [the mill](https://x.example)'],
  ['![a pict](htt', 'a pict'],
  ['see [1] and', 'see [1] and'],
  ['Words\n-', 'Words\n'],
  ['Words\n==', 'Words\n'],
  ['Words\n1.', 'Words\n'],
  ['| a | b |\n|--', '| a | b |\n'],
  ['- one\n- [ ]', '- one\n- [ ]'],
  ['2 * 3', '2 * 3'],
  ['snake_case_na', 'snake_case_na'],
  ['**done**\n\nmore', '**done**\n\nmore'],
  ['it is **half\n\nmore', 'it is **half\n\nmore'],
  ['1 2 3', '1 2 3'],
  ['A \\*star', 'A \\*star'],
  ['', ''],
])('%j is shown as %j while it is written', (text, shown) => {
  expect(heal(text)).toBe(shown)
})
