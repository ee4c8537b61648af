// A text that is still being written, as it will probably be: marks that are open at its end are closed, and those that say nothing yet are
// left out, so that no stars and brackets flash up for as long as the rest is on its way. What has ended is never touched.

/** A last line of marks alone: a list, a heading, a rule or the rule of a table that may be about to begin. */
const MARKS_ALONE = /(^|\n)(?:[-=*+#>`~_|:\\ \t]+|[ \t]{0,9}\d{1,9}[.)])$/

interface Open {
  readonly mark: string
  readonly at: number
}

/** The end of a text without half of a mark in it. */
export function heal(text: string): string {
  const trimmed = text.replace(MARKS_ALONE, '$1')
  const start = startOfLast(trimmed)
  return trimmed.slice(0, start) + healLine(trimmed.slice(start))
}

/** Where the last paragraph, line of a list or row begins: emphasis does not reach beyond those. */
const startOfLast = (text: string): number => {
  const breaks = /\n[ \t]*\n|\n(?=[ \t]*(?:[-*+]|\d{1,9}[.)]|>|#{1,6}|\|)[ \t])/g
  let start = 0
  for (const found of text.matchAll(breaks)) start = found.index + found[0].length
  return start
}

function healLine(line: string): string {
  const open: Open[] = []
  let bracket: number | undefined
  for (let i = 0; i < line.length; ) {
    const char = line[i] as string
    if (char === '\\') {
      i += 2
    } else if (char === '`') {
      const ticks = runAt(line, i)
      const end = endOfCode(line, i + ticks.length, ticks)
      if (end === undefined) {
        const code = line.slice(i + ticks.length)
        // Its own end may be half there.
        const begun = /`*$/.exec(code)?.[0] ?? ''
        const rest = code.slice(0, code.length - begun.length)
        const before = line.slice(0, i)
        return closed(rest.trim() === '' ? before : before + ticks + rest + ticks, open)
      }
      i = end
    } else if (char === '*' || char === '_' || (char === '~' && line[i + 1] === '~')) {
      const run = runAt(line, i)
      const after = line[i + run.length]
      const isClosing = open.at(-1)?.mark[0] === char && /\S/.test(line[i - 1] ?? ' ')
      if (isClosing) {
        close(open, run.length)
      } else if (after === undefined) {
        return closed(line.slice(0, i), open)
      } else if (/\S/.test(after) && (char !== '_' || !/\w/.test(line[i - 1] ?? ' '))) {
        open.push({ mark: run.slice(0, 3), at: i })
      }
      i += run.length
    } else if (char === '[') {
      bracket = i
      i++
    } else if (char === ']' && bracket !== undefined) {
      const label = line.slice(bracket + 1, i)
      const isImage = line[bracket - 1] === '!'
      const before = line.slice(0, isImage ? bracket - 1 : bracket)
      if (i + 1 === line.length && !/^[ xX]?$/.test(label)) return closed(before + label, open)
      if (line[i + 1] === '(' && !line.includes(')', i)) return closed(before + label, open)
      bracket = undefined
      i++
    } else {
      i++
    }
  }
  // A label that is being written: whether it is one its end will tell.
  return closed(bracket === undefined ? line : line.slice(0, bracket).replace(/!$/, '') + line.slice(bracket + 1), open)
}

const runAt = (line: string, at: number): string => {
  let end = at
  while (line[end] === line[at]) end++
  return line.slice(at, end)
}

function endOfCode(line: string, from: number, ticks: string): number | undefined {
  for (let i = from; i < line.length; ) {
    if (line[i] !== '`') {
      i++
      continue
    }
    const run = runAt(line, i)
    i += run.length
    if (run === ticks) return i
  }
  return undefined
}

/** Takes as many marks off the end as were closed. */
function close(open: Open[], length: number): void {
  for (let left = length; left > 0; ) {
    const last = open.pop()
    if (last === undefined) return
    const { mark, at } = last
    if (mark.length > left) open.push({ mark: mark.slice(left), at })
    left -= mark.length
  }
}

/** With what is open at its end closed. */
function closed(line: string, open: readonly Open[]): string {
  const text = line.trimEnd()
  const isEmpty = open.length > 0 && text.length <= (open.at(-1)?.at ?? 0) + (open.at(-1)?.mark.length ?? 0)
  if (isEmpty) return closed(text.slice(0, open.at(-1)?.at), open.slice(0, -1))
  if (open.length === 0) return line
  return (
    text +
    open
      .map(({ mark }) => mark)
      .reverse()
      .join('')
  )
}
