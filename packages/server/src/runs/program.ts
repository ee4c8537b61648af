// The agent or workflow that a request names.

import { RunError } from '@millrace/runtime'
import type { Program } from '../auth/authorize.ts'
import type { RouteCall } from '../routing/route.ts'
import type { Services } from '../routing/services.ts'

/** The agent, or else the workflow, of that name. @throws `program_unknown` */
export function programNamed({ agents, workflows }: Services, name: string): Program {
  if (agents.some(agent => agent.name === name)) return { agent: name }
  if (workflows.some(workflow => workflow.name === name)) return { workflow: name }
  throw new RunError('program_unknown', `${name}: expected the name of an agent or workflow: see GET /api/agents`)
}

/** The program of a body that has either an agent or a workflow. @throws `program_unknown` */
export function programIn(
  { agents, workflows }: Services,
  { agent, workflow }: { readonly agent?: string | undefined; readonly workflow?: string | undefined },
): Program {
  const programs = agent === undefined ? workflows : agents
  if (programs.some(({ name }) => name === (agent ?? workflow)))
    return agent === undefined ? { workflow: workflow as string } : { agent }
  const programName = agent === undefined ? `workflow ${workflow}` : `agent ${agent}`
  throw new RunError('program_unknown', `${programName}: expected a name that GET /api/agents lists`)
}

/** The session in the path of a dialect's route. @throws `program_unknown` if the program in the path does not exist */
export function sessionOf({ services, params }: Pick<RouteCall, 'services' | 'params'>): string {
  programNamed(services, params['agent'] as string)
  return params['sessionId'] as string
}

/** A program as the log names it, without the version: a request is the same if it is repeated to newer code. */
export const programKey = ({ agent, workflow }: Program): string =>
  agent === undefined ? `workflow:${workflow}` : `agent:${agent}`

/** `agent:name` of `agent:name@version`. */
export const withoutVersion = (program: string): string => program.slice(0, program.lastIndexOf('@'))
