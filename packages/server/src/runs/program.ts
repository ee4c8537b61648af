import { RunError } from '@millrace/runtime'
import type { Program } from '../auth/authorize.ts'
import type { Call } from '../routing/route.ts'
import type { Services } from '../routing/services.ts'

export type { Program }

/** The agent or workflow of that name; throws where there is none. */
export function programOf({ agents, workflows }: Services, name: string): Program {
  if (agents.some(known => known.name === name)) return { agent: name }
  if (workflows.some(known => known.name === name)) return { workflow: name }
  throw new RunError('program_unknown', `${name}: there is no agent or workflow of that name`)
}

/** The session in the path; throws where nobody of the name there answers. */
export function sessionOf({ services, params }: Pick<Call, 'services' | 'params'>): string {
  programOf(services, params['agent'] as string)
  return params['sessionId'] as string
}
