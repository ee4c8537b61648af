import type { Program } from '../define/program.ts'
import { describeType } from '../error/check-object.ts'
import { RunError, ValidationError } from '../error/error.ts'

/** An agent or a workflow, or the name of one. */
interface ProgramChoice {
  readonly agent?: unknown
  readonly workflow?: unknown
}

/** The version of a program that this process has: the same one, or else any, or else the name unchanged. */
export function availableVersionOf(programs: ReadonlyMap<string, Program>, program: string): string {
  const unversioned = (own: string) => own.slice(0, own.lastIndexOf('@') + 1)
  const others = [...programs.values()].map(own => own.program)
  const other = others.find(own => unversioned(own) === unversioned(program))
  return programs.get(program)?.program ?? other ?? program
}

/**
 * The program name of a request. @throws {ValidationError} if it is malformed. @throws {RunError} if the name is
 * unknown.
 */
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
  throw new RunError('program_unknown', `unknown ${kind} ${given}, expected one of: ${known || 'none'}`)
}
