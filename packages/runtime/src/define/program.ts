import { describeType } from '../error/check-object.ts'
import { RunError, ValidationError } from '../error/error.ts'
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

/** The program of a request: an agent or a workflow, or the name of one. */
interface ProgramChoice {
  readonly agent?: unknown
  readonly workflow?: unknown
}

/** The version of a program that this process has: the same one, or else any, or else the name unchanged. */
export function availableVersionOf(programs: ReadonlyMap<string, Program>, program: string): string {
  const withoutVersion = (name: string) => name.slice(0, name.lastIndexOf('@') + 1)
  const others = [...programs.values()].map(registered => registered.program)
  const other = others.find(name => withoutVersion(name) === withoutVersion(program))
  return programs.get(program)?.program ?? other ?? program
}

/**
 * The name of a request's program, with its version.
 * @throws {ValidationError} if the request is malformed.
 * @throws {RunError} `program_unknown` if no program has the name.
 */
export function programOf(programs: ReadonlyMap<string, Program>, { agent, workflow }: ProgramChoice): string {
  if (agent !== undefined && workflow !== undefined) {
    throw new ValidationError('start: expected an agent or a workflow, found both')
  }
  const kind = workflow === undefined ? 'agent' : 'workflow'
  const definition = workflow ?? agent
  if (typeof definition !== 'string') {
    const { kind: found, program } = Object(definition) as Partial<Program>
    if (found === kind && program !== undefined) return program
    throw new ValidationError(`${kind}: expected the result of ${kind}() or a name, found ${describeType(definition)}`)
  }
  const sameKind = new Set([...programs.values()].filter(program => program.kind === kind))
  for (const { name, program } of sameKind) if (name === definition) return program
  if (new RegExp(`^${kind}:.+@.+$`).test(definition)) return definition
  const names = [...sameKind].map(({ name }) => name).join(', ')
  throw new RunError('program_unknown', `unknown ${kind} ${definition}, expected one of: ${names || 'none'}`)
}
