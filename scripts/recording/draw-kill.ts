import type { KillRecording, RecordedEvent } from './record-kill.ts'

const WIDTH = 860
const HEIGHT = 336
/** Time that the complete answer stays before the loop starts again, in ms. */
const HOLD_MS = 5_000
/** Time before the first command, in ms. */
const LEAD_MS = 400
const LINE_CHARACTERS = 50

/** A part of the picture and the times at which it is visible, in ms. The last range is open if it has no end. */
interface Visible {
  readonly ranges: readonly { readonly fromMs: number; readonly toMs?: number }[]
}

/**
 * Draws a recording as an animated SVG: the terminal on the left, the page on the right, a caption below.
 * It plays in real time, in a loop. Readers who prefer reduced motion see the last state.
 */
export function drawKill({ events, port }: KillRecording): string {
  const durationMs = LEAD_MS + Math.max(...events.map(({ atMs }) => atMs)) + HOLD_MS
  const keyframes: string[] = []
  /** Attributes that show an element only in its ranges. */
  const shown = ({ ranges }: Visible): string => {
    const percent = (ms: number) => `${((100 * (LEAD_MS + ms)) / durationMs).toFixed(2)}%`
    const steps = ranges.flatMap(({ fromMs, toMs }) => [
      `${percent(fromMs)}{visibility:visible}`,
      ...(toMs === undefined ? [] : [`${percent(toMs)}{visibility:hidden}`]),
    ])
    const name = `k${keyframes.length}`
    keyframes.push(`@keyframes ${name}{0%{visibility:hidden}${steps.join('')}}`)
    const past = ranges.at(-1)?.toMs === undefined ? '' : ' data-past=""'
    return `${past} style="animation-name:${name}"`
  }
  const from = (fromMs: number, toMs?: number): Visible => ({
    ranges: [toMs === undefined ? { fromMs } : { fromMs, toMs }],
  })

  const terminal = events
    .filter(event => event.type === 'command' || event.type === 'output')
    .map((event, row) => terminalLine(event, 92 + row * 25, shown(from(event.atMs))))
  const question = events.find(event => event.type === 'question')
  const questionShown = shown(from(question?.atMs ?? 0))
  const words = wordsOf(events)
  const answer = linesOf(words.map(({ word }) => word)).map((line, row) => {
    const spans = line.map(
      index => `<tspan${shown(words[index] ?? { ranges: [] })}>${escapeXml(words[index]?.word)} </tspan>`,
    )
    return `<text x="382" y="${150 + row * 24}" class="page" xml:space="preserve">${spans.join('')}</text>`
  })
  const captions = captionsOf(events).map(({ text, fromMs, toMs }) => {
    return `<text x="430" y="322" class="caption"${shown(from(fromMs, toMs))}>${escapeXml(text)}</text>`
  })

  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="kill-title kill-desc">
<title id="kill-title">kill -9 in the middle of an answer</title>
<desc id="kill-desc">A server is killed with kill -9 while it streams an answer to a page. After a restart the page removes the unfinished sentence and the answer is written to its end. The tool does not run again.</desc>
<style>
svg{--ink:#22282b;--quiet:#636b6d;--line:#c9c5b8;--sheet:#fffefb;--wash:#e1eeef;--bar:#f1efe8}
@media (prefers-color-scheme:dark){svg{--ink:#dfe3e1;--quiet:#97a1a3;--line:#3d474b;--sheet:#1a1f22;--wash:#1d3439;--bar:#252c30}}
text{font:15px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--ink)}
.mono{font:14px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d7dedc}
.title{font-size:12px;fill:var(--quiet)}.titled{font-size:12px;fill:#8b9698}
.prompt{fill:#76bcc8}.kill{fill:#ec9084;font-weight:600}
.caption{font-size:14px;fill:var(--quiet);text-anchor:middle}
.sheet{fill:var(--sheet);stroke:var(--line)}.bar{fill:var(--bar)}.bubble{fill:var(--wash)}
[style]{animation-duration:${(durationMs / 1000).toFixed(2)}s;animation-timing-function:step-end;animation-iteration-count:infinite}
@media (prefers-reduced-motion:reduce){[style]{animation:none}[data-past]{visibility:hidden}}
${keyframes.join('\n')}
</style>
<rect x="1" y="1" width="348" height="296" rx="9" fill="#14191b" stroke="#3d474b"/>
<circle cx="20" cy="20" r="5" fill="#ec9084"/><circle cx="37" cy="20" r="5" fill="#deb160"/><circle cx="54" cy="20" r="5" fill="#7fb08a"/>
<text x="175" y="24" class="titled" text-anchor="middle">terminal</text>
<text x="18" y="62" class="mono" opacity=".55"># start the server</text>
${terminal.join('\n')}
<rect x="361" y="1" width="498" height="296" rx="9" class="sheet"/>
<path d="M361.5 40V10a9 9 0 0 1 9-9h479a9 9 0 0 1 9 9v30z" class="bar"/>
<circle cx="381" cy="20" r="5" fill="#ec9084"/><circle cx="398" cy="20" r="5" fill="#deb160"/><circle cx="415" cy="20" r="5" fill="#7fb08a"/>
<rect x="440" y="9" width="400" height="23" rx="11" class="sheet"/><text x="456" y="25" class="title">127.0.0.1:${port}</text>
<g${questionShown}><rect x="620" y="66" width="218" height="40" rx="12" class="bubble"/><text x="729" y="91" text-anchor="middle">${escapeXml(question?.text)}</text></g>
${answer.join('\n')}
${captions.join('\n')}
</svg>
`
}

function terminalLine(event: RecordedEvent, y: number, attributes: string): string {
  if (event.type !== 'command' && event.type !== 'output') return ''
  const line = escapeXml(event.line)
  if (event.type === 'output') return `<text x="18" y="${y}" class="mono"${attributes}>${line}</text>`
  const kind = event.line.startsWith('kill') ? 'kill' : 'typed'
  return `<g${attributes}><text x="18" y="${y}" class="mono"><tspan class="prompt">$ </tspan><tspan class="${kind}">${line}</tspan></text></g>`
}

/** The words of the complete answer, each with the times at which the page shows it. */
function wordsOf(events: readonly RecordedEvent[]): ({ word: string } & Visible)[] {
  const answers = events.filter(event => event.type === 'answer')
  const complete = (answers.at(-1)?.text ?? '').split(' ')
  return complete.map((word, index) => {
    const length = complete.slice(0, index + 1).join(' ').length
    const ranges: { fromMs: number; toMs?: number }[] = []
    for (const { atMs, text } of answers) {
      const open = ranges.at(-1)?.toMs === undefined ? ranges.at(-1) : undefined
      if (text.length >= length && open === undefined) ranges.push({ fromMs: atMs })
      if (text.length < length && open !== undefined) open.toMs = atMs
    }
    return { word, ranges }
  })
}

/** Breaks words into lines. Returns the indexes of the words of each line. */
function linesOf(words: readonly string[]): number[][] {
  const lines: number[][] = [[]]
  let length = 0
  for (const [index, word] of words.entries()) {
    if (length + word.length > LINE_CHARACTERS) {
      lines.push([])
      length = 0
    }
    lines.at(-1)?.push(index)
    length += word.length + 1
  }
  return lines
}

/** Sentences that explain what is seen, each until the next one. */
function captionsOf(events: readonly RecordedEvent[]): { text: string; fromMs: number; toMs?: number }[] {
  const kill = events.findIndex(event => event.type === 'command' && event.line.startsWith('kill'))
  const time = (event: RecordedEvent | undefined) => event?.atMs ?? 0
  const after = events.slice(kill + 1)
  const answers = after.filter(event => event.type === 'answer')
  const captions = [
    { text: 'An agent answers. Its tool runs once.', fromMs: 0 },
    { text: 'kill -9 in the middle of the answer.', fromMs: time(events[kill]) },
    {
      text: 'The server starts again. The page reconnects by itself.',
      fromMs: time(after.find(({ type }) => type === 'output')),
    },
    { text: 'The run continues after its last commit. The tool does not run again.', fromMs: time(answers[0]) },
    { text: 'The answer is complete, and the tool ran once.', fromMs: time(answers.at(-1)) },
  ]
  return captions.map((caption, index) => {
    const next = captions[index + 1]
    return next === undefined ? caption : { ...caption, toMs: next.fromMs }
  })
}

const escapeXml = (text = ''): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
