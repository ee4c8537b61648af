// Completes the end of streaming Markdown: closes open marks and hides incomplete ones, so that no stars and brackets flash up. Complete
// parts stay as they are.

/** A last line with only marks: the possible start of a list, heading, rule or table. */
const MARKS_ALONE = /(^|\n)(?:[-=*+#>`~_|:\\ \t]+|[ \t]{0,9}\d{1,9}[.)])$/

interface Open {
  readonly mark: string
  readonly at: number
}

/** Completes or removes incomplete marks at the end of a text. */
export function heal(text: string): string {
  const trimmed = text.replace(MARKS_ALONE, '$1')
  const start = startOfLast(trimmed)
  return trimmed.slice(0, start) + healLine(trimmed.slice(start))
}

/** Start of the last paragraph, list item or row: emphasis does not cross these. */
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
        // The closing marks may be incomplete.
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
  // An open bracket may become a link label.
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

/** Removes closed marks from the end of the list. */
function close(open: Open[], length: number): void {
  for (let left = length; left > 0; ) {
    const last = open.pop()
    if (last === undefined) return
    const { mark, at } = last
    if (mark.length > left) open.push({ mark: mark.slice(left), at })
    left -= mark.length
  }
}

/** Closes the open marks at the end of a line. */
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
