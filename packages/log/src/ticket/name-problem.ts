import type { Chunk } from '@millrace/protocol'

/** Maximum length of a name in a ticket: of a run, pending, lane, program or guest. */
const MAX_NAME_LENGTH = 512

/** Returns why a name is invalid, or undefined. */
export function nameProblem(field: string, name: string): string | undefined {
  const { length } = name
  if (length > 0 && length <= MAX_NAME_LENGTH) return undefined
  return `${field}: expected 1 to ${MAX_NAME_LENGTH} characters, found ${length}`
}

const isName = (field: string): boolean => field === 'program' || field === 'by' || field.endsWith('Id')

/** Returns which name in a chunk is invalid, or undefined. */
export function chunkNameProblem(chunk: Chunk): string | undefined {
  for (const [field, value] of Object.entries(chunk)) {
    if (!isName(field) || typeof value !== 'string') continue
    const problem = nameProblem(`${chunk.type}.${field}`, value)
    if (problem !== undefined) return problem
  }
  if (chunk.type !== 'run-requested') return undefined
  const { message, cut, resume } = chunk
  return (
    (message && nameProblem('run-requested.message.messageId', message.messageId)) ??
    (cut && nameProblem('run-requested.cut.reason', cut.reason)) ??
    (resume && nameProblem('run-requested.resume.runId', resume.runId))
  )
}
