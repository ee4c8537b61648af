import type { Agent } from './agent.ts'
import type { Workflow } from './workflow.ts'

/** An agent or a workflow. */
export type Program = Agent | Workflow

/** Programs by their `name@version`. A workflow is also found by the versions that it migrates. */
export function programsOf(definitions: readonly Program[]): ReadonlyMap<string, Program> {
  return new Map(definitions.flatMap(definition => namesOf(definition).map(program => [program, definition] as const)))
}

function namesOf(definition: Program): readonly string[] {
  if (definition.kind === 'agent') return [definition.program]
  const older = [...definition.migrations.keys()].map(version => `workflow:${definition.name}@${version}`)
  return [definition.program, ...older]
}

/** The workflow with this id, if it exists. */
export function workflowOf(programs: ReadonlyMap<string, Program>, id: string): Workflow | undefined {
  for (const program of programs.values()) if (program.kind === 'workflow' && program.name === id) return program
  return undefined
}
