// Prints a workflow as a Mermaid flowchart.

import type { Edge } from './edge.ts'
import type { Node } from './node.ts'

/** The flowchart of a workflow. Agents are rounded, forks and joins are nodes, error routes are dotted. */
export function mermaidOf(nodes: ReadonlyMap<string, Node>, edges: readonly Edge[]): string {
  // A node id may be a Mermaid keyword, such as `end`, so nodes are numbered.
  const names = new Map([...nodes.keys()].map((id, index) => [id, `n${index + 1}`]))
  names.set('start', 'start').set('end', 'finish')
  const nameOf = (id: string) => names.get(id) as string
  const joins = new Set(edges.flatMap(({ join }) => (join === undefined ? [] : [join])))
  const shapes = [...nodes.values()].map(node => `${nameOf(node.id)}${shapeOf(node)}`)
  const joinNodes = [...joins].flatMap(join => [
    `${nameOf(join)}_join{{"join"}}`,
    `${nameOf(join)}_join --> ${nameOf(join)}`,
  ])
  const links = edges.flatMap((edge, index) => {
    const targets = edge.to.map(to => (joins.has(to) ? `${nameOf(to)}_join` : nameOf(to)))
    const link = `${nameOf(edge.from)} -->${labelOf(edge)}`
    if (edge.join === undefined) return `${link} ${targets[0]}`
    const fork = `fork${index + 1}`
    return [`${link} ${fork}{{"fork"}}`, ...targets.map(target => `${fork} --> ${target}`)]
  })
  const routes = [...nodes.values()].flatMap(({ id, onError }) =>
    onError.mode === 'route' ? [`${nameOf(id)} -.->|"on error"| ${nameOf(onError.to)}`] : [],
  )
  const lines = ['start(("start"))', ...shapes, 'finish(("end"))', ...joinNodes, ...links, ...routes]
  return ['flowchart TD', ...lines.map(line => `  ${line}`), ''].join('\n')
}

function shapeOf({ id, title, agent }: Node): string {
  const label = `"${escaped(id)}${title === id ? '' : `<br/>${escaped(title)}`}"`
  return agent ? `([${label}])` : `[${label}]`
}

function labelOf({ when, otherwise, max }: Edge): string {
  const words = [
    ...(when === undefined ? [] : [escaped(when)]),
    ...(otherwise ? ['otherwise'] : []),
    ...(max === undefined ? [] : [`at most ${max} times`]),
  ]
  return words.length === 0 ? '' : `|"${words.join(', ')}"|`
}

/** Escapes a label: special characters become entities, white space becomes single spaces. */
function escaped(text: string): string {
  return text
    .trim()
    .replace(/\s+/gu, ' ')
    .replace(/[^\p{L}\p{M}\p{N} _,?!'()/.-]/gu, character => `#${character.codePointAt(0)};`)
    .replace(/^(\d+)\./, '$1#46;')
    .replace(/^-/, '#45;')
}
