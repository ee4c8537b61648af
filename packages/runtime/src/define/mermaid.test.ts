import fc from 'fast-check'
import { expect, test } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import { agent } from './agent.ts'
import type { NodeContext } from './node.ts'
import { workflow } from './workflow.ts'

const runs = multiplied

const define = () =>
  workflow({
    id: 'email-draft',
    nodes: {
      ask: (): { condition?: 'clear' | 'again' } => ({}),
      draft: { run: () => {}, title: 'Writing "it"', onError: { route: 'apology' } },
      research: agent({ name: 'researcher', model: scriptedModel([]) }),
      check: () => {},
      translate: () => {},
      end_it: (_: NodeContext) => {},
      apology: () => {},
    },
    edges: [
      ['start', 'ask'],
      ['ask', 'draft', { when: 'clear' }],
      ['ask', 'ask', { when: 'again', max: 3 }],
      ['ask', 'research', { otherwise: true }],
      ['research', 'end'],
      ['draft', ['check', 'translate'], { join: 'end_it' }],
      ['check', 'end_it'],
      ['translate', 'end_it'],
      ['end_it', 'end'],
      ['apology', 'end'],
    ],
  })

test('prints conditions, limits, forks, joins and error routes', () => {
  expect(define().toMermaid()).toBe(`flowchart TD
  start(("start"))
  n1["ask"]
  n2["draft<br/>Writing #34;it#34;"]
  n3(["research"])
  n4["check"]
  n5["translate"]
  n6["end_it"]
  n7["apology"]
  finish(("end"))
  n6_join{{"join"}}
  n6_join --> n6
  start --> n1
  n1 -->|"clear"| n2
  n1 -->|"again, at most 3 times"| n1
  n1 -->|"otherwise"| n3
  n3 --> finish
  n2 --> fork6{{"fork"}}
  fork6 --> n4
  fork6 --> n5
  n4 --> n6_join
  n5 --> n6_join
  n6 --> finish
  n7 --> finish
  n2 -.->|"on error"| n7
`)
})

test('prints the same diagram for the same definition', () => {
  expect(define().toMermaid()).toBe(define().toMermaid())
})

// The part of Mermaid's grammar that a diagram may use: one shape or link per line, and only quoted and escaped labels.
const LABEL = `"(?:[\\p{L}\\p{M}\\p{N} _,?!'()/.-]|#\\d+;|<br/>)+"`
const SHAPE = `(?:\\(\\(${LABEL}\\)\\)|\\(\\[${LABEL}\\]\\)|\\[${LABEL}\\]|\\{\\{${LABEL}\\}\\})`
const NAME = '(?:start|finish|n\\d+(?:_join)?|fork\\d+)'
const LINE = new RegExp(`^  ${NAME}(?:${SHAPE}|(?: -->| -\\.->)(?:\\|${LABEL}\\|)? ${NAME}${SHAPE}?)$`, 'u')

/** Returns the labels of a flowchart as a reader sees them. @throws if a line does not match the grammar. */
function readLabels(diagram: string): string[] {
  const [head, ...lines] = diagram.trimEnd().split('\n')
  expect(head).toBe('flowchart TD')
  const shown = new Set<string>()
  for (const line of lines) {
    expect(line).toMatch(LINE)
    const [name, ...others] = line.match(new RegExp(NAME, 'g')) ?? []
    if (!line.includes('>') || line.includes('<br/>')) shown.add(name as string)
    else
      for (const one of [name, others.at(-1)] as string[]) expect(shown.has(one) || one.startsWith('fork')).toBe(true)
  }
  return [...diagram.matchAll(/"([^"]*)"/g)].map(([, label = '']) =>
    label.replace(/#(\d+);/g, (_, code) => String.fromCodePoint(Number(code))),
  )
}

test('prints only lines that match the flowchart grammar', () => {
  expect(readLabels(define().toMermaid())).toContain('draft<br/>Writing "it"')
})

test('escapes any title and condition as a label', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }).filter(label => label.trim() !== ''),
    fc.constantFrom(
      'end',
      '"]; click n1 callback',
      '`md`',
      '1. first',
      '- item',
      'a#b;',
      '%% no',
      '<script>',
      'a\nb',
      '|"x"|',
      ';',
    ),
  )
  fc.assert(
    fc.property(text, text, (title, when) => {
      const diagram = workflow({
        id: 'labels',
        nodes: { a: { run: () => ({ condition: when as string }), title }, b: () => {} },
        edges: [
          ['start', 'a'],
          ['a', 'b', { when: when as string }],
          ['b', 'end'],
        ],
      }).toMermaid()
      const labels = readLabels(diagram)
      const words = (label: string) => label.trim().replace(/\s+/gu, ' ')
      expect(labels).toContain(title === 'a' ? 'a' : `a<br/>${words(title)}`)
      expect(labels).toContain(words(when))
    }),
    { numRuns: runs(200) },
  )
})
