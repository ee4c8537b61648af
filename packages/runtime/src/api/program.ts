import type { Program } from '../define/program.ts'
import { describeType } from '../error/check-object.ts'
import { RunError, ValidationError } from '../error/error.ts'

/** What is asked for: an agent or a workflow, itself or by name. */
interface ProgramChoice {
  readonly agent?: unknown
  readonly workflow?: unknown
}

/** The program as it is here: in another version, where nobody here has that one; itself, where there is none of it here. */
export function presentOf(programs: ReadonlyMap<string, Program>, program: string): string {
  const unversioned = (own: string) => own.slice(0, own.lastIndexOf('@') + 1)
  const others = [...programs.values()].map(own => own.program)
  const other = others.find(own => unversioned(own) === unversioned(program))
  return programs.get(program)?.program ?? other ?? program
}

/** The program that a run is asked of; throws where that is none, or none here by that name. */
export function programOf(programs: ReadonlyMap<string, Program>, { agent, workflow }: ProgramChoice): string {
  if (agent !== undefined && workflow !== undefined) {
    throw new ValidationError('start: expected an agent or a workflow, found both')
  }
  const kind = workflow === undefined ? 'agent' : 'workflow'
  const given = workflow ?? agent
  if (typeof given !== 'string') {
    const { kind: found, program } = Object(given) as Partial<Program>
    if (found === kind && program !== undefined) return program
    throw new ValidationError(`${kind}: expected the result of ${kind}() or a name, found ${describeType(given)}`)
  }
  const own = new Set([...programs.values()].filter(program => program.kind === kind))
  for (const { name, program } of own) if (name === given) return program
  if (new RegExp(`^${kind}:.+@.+$`).test(given)) return given
  const known = [...own].map(({ name }) => name).join(', ')
  throw new RunError('program_unknown', `there is no ${kind} ${given} here, only ${known || 'none'}`)
}
