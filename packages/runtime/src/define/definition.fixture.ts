// Parts of definitions, and what is told of definitions that are refused.

import { expect } from 'vitest'
import { ValidationError } from '../error/error.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import { agent } from './agent.ts'
import { workflow } from './workflow.ts'

/** An agent as a node. */
export const talker = agent({ name: 'talker', model: scriptedModel([]) })

/** A node that does nothing. */
export const go = () => {}

/** What is told of a definition that the compiler would refuse, or cannot judge. */
export function told(definition: object): string {
  try {
    workflow({ id: 'w', ...definition } as unknown as Parameters<typeof workflow>[0])
  } catch (error) {
    expect(error).toBeInstanceOf(ValidationError)
    return (error as Error).message
  }
  throw new Error('it was taken')
}

/** What is told of edges between nodes that do nothing. */
export const ofEdges = (names: string, ...edges: unknown[]) =>
  told({ nodes: Object.fromEntries(names.split(' ').map(name => [name, go])), edges })
