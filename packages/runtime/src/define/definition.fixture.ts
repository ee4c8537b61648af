// Parts of workflow definitions, and the error messages of invalid ones.

import { expect } from 'vitest'
import { ValidationError } from '../error/error.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import { agent } from './agent.ts'
import { workflow } from './workflow.ts'

/** An agent for a node. */
export const talker = agent({ name: 'talker', model: scriptedModel([]) })

/** A node that does nothing. */
export const go = () => {}

/** The error message of an invalid workflow definition. */
export function definitionError(definition: object): string {
  try {
    workflow({ id: 'w', ...definition } as unknown as Parameters<typeof workflow>[0])
  } catch (error) {
    expect(error).toBeInstanceOf(ValidationError)
    return (error as Error).message
  }
  throw new Error('expected an invalid definition, found a valid one')
}

/** The error message of a workflow with these edges between nodes that do nothing. */
export const edgesError = (names: string, ...edges: unknown[]) =>
  definitionError({ nodes: Object.fromEntries(names.split(' ').map(name => [name, go])), edges })
