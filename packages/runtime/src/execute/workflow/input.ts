// What a workflow is given: by who asked for its run, or by the workflow before it.

import type { Json } from '@millrace/protocol'
import type { Workflow } from '../../define/workflow.ts'
import { MillraceError } from '../../error/error.ts'
import { validate } from '../../schema/schema.ts'
import type { ProgramExecution } from '../program-execution.ts'
import { resumedRunIds } from '../replay/resume-point.ts'

/** What a run was asked for with; one that goes on from another, what that was. */
export function askedOf({ data, session, runId }: ProgramExecution, { input }: Workflow): Json {
  const [first = runId] = resumedRunIds(session, runId)
  const text = session.requestText(first)
  // What a client sent along is input only for a workflow that says what it takes.
  return input ? (data ?? text) : text
}

/** What a workflow was given, as its input has it; throws where it does not fit, and says why where it is no secret (law 10). */
export async function inputOf(
  { input, name }: Workflow,
  given: Json | undefined,
  isSecret = false,
): Promise<Json | undefined> {
  if (input === undefined) {
    if (given === undefined || typeof given === 'string') return given ?? ''
    throw new MillraceError(
      'workflow_input_invalid',
      `workflow ${name} takes text, and was given something else: define its inputSchema`,
    )
  }
  const checked = await validate(input.schema, given)
  if ('problem' in checked) {
    const what = `workflow ${name}: the input does not fit`
    const cause = checked.cause ?? new Error(checked.problem)
    throw new MillraceError('workflow_input_invalid', isSecret ? what : `${what}: ${checked.problem}`, { cause })
  }
  // What the first node is given is the same after it was in the log.
  return checked.value === undefined ? undefined : (JSON.parse(JSON.stringify(checked.value)) as Json)
}
