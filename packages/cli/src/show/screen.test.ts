import { expect, test } from 'vitest'
import type { Terminal } from '../terminal/terminal.ts'
import { Screen, widthOf } from './screen.ts'

/** A terminal emulator with the features that a screen uses: wrapping, cursor up and right, erase to the end. */
class TerminalEmulator {
  rows: string[] = ['']
  row = 0
  column = 0
  readonly columns: number

  constructor(columns: number) {
    this.columns = columns
  }

  write(text: string): void {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern finds control sequences
    for (const [piece, count, verb] of text.matchAll(/\u001b\[(\d*)([ACJ])|[\s\S]/g)) {
      if (verb === 'A') this.row -= Number(count)
      else if (verb === 'C') this.column += Number(count)
      else if (verb === 'J') this.rows = [...this.rows.slice(0, this.row), this.#line.slice(0, this.column)]
      else if (piece === '\r') this.column = 0
      else if (piece === '\n') this.#down()
      else this.#put(piece)
    }
  }

  get text(): string {
    return this.rows.join('\n')
  }

  get #line(): string {
    return this.rows[this.row] ?? ''
  }

  #put(char: string): void {
    this.rows[this.row] = this.#line.slice(0, this.column).padEnd(this.column) + char
    if (++this.column === this.columns) this.#down()
  }

  #down(): void {
    this.row += 1
    this.column = 0
    this.rows[this.row] ??= ''
  }
}

function screenOf(columns: number, rows = 20): { screen: Screen; emulator: TerminalEmulator } {
  const emulator = new TerminalEmulator(columns)
  const terminal: Terminal = {
    isJson: false,
    isLive: true,
    write: async text => emulator.write(text),
    control: async sequence => emulator.write(sequence),
    say: () => {},
    paint: (_, text) => text,
    ask: async () => undefined,
    signal: new AbortController().signal,
  }
  return { screen: new Screen(terminal, () => ({ columns, rows })), emulator }
}

test('erases the text of a lane since its last commit, over several rows', async () => {
  const { screen, emulator } = screenOf(10)
  await screen.line('a', 'sealed')
  screen.makePermanent('a')
  await screen.write('a', 'this is longer than one row')
  expect(emulator.text).toBe('sealed\nthis is lo\nnger than \none row')
  await screen.erase('a')
  await screen.write('a', 'again')
  expect(emulator.text).toBe('sealed\nagain')
})

test('keeps the text of other lanes and earlier text on the same row', async () => {
  const { screen, emulator } = screenOf(10)
  await screen.write('a', 'ab ')
  screen.makePermanent('a')
  await screen.write('a', 'gone ')
  await screen.line('b', 'other')
  await screen.line('', 'fact')
  await screen.line('a', 'gone too')
  await screen.erase('a')
  expect(emulator.text.trimEnd()).toBe('ab \nother\nfact')
  await screen.erase('b')
  expect(emulator.text.trimEnd()).toBe('ab \nfact')
})

test('does not erase text that scrolled off the screen', async () => {
  const { screen, emulator } = screenOf(10, 3)
  for (const word of ['one', 'two', 'three', 'four']) await screen.line('a', word)
  const before = emulator.text
  await screen.erase('a')
  expect(emulator.text).toBe(before)
})

test('computes the width of text', () => {
  expect(['mill', '水車', 'e\u0301', '🎡', 'a\tb'].map(widthOf)).toEqual([4, 4, 1, 2, 9])
})
