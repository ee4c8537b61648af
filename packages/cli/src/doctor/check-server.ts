import { PROTOCOL_VERSION } from '@millrace/protocol'
import type { Source } from '../source/source.ts'
import { errorMessages, type Finding, fail, ok } from './finding.ts'

const TIMEOUT_MS = 10_000

/** Checks that a server is up, reaches its store, and has the same protocol version. */
export async function checkServer({ name, options }: Source): Promise<Finding> {
  const startedAt = performance.now()
  try {
    const reply = await fetch(`${options.api}/health`, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    const body: unknown = await reply.json()
    const { protocol, error }: { protocol?: unknown; error?: { message?: unknown } } = Object(body)
    if (!reply.ok) {
      const problem = typeof error?.message === 'string' ? error.message : `it answered with status ${reply.status}`
      return fail(
        'server',
        `${name}: ${problem}`,
        'run millrace doctor --store <url> on the server’s machine, with the URL of its store',
      )
    }
    if (protocol !== PROTOCOL_VERSION) {
      const next = 'install the same version of the packages on both sides'
      return fail('server', `${name} uses protocol version ${protocol}, expected ${PROTOCOL_VERSION}`, next)
    }
    return ok('server', `${name} is up (${Math.round(performance.now() - startedAt)} ms)`)
  } catch (error) {
    const next = 'start it, or check its address and the network'
    return fail('server', `${name} does not answer as a Millrace server: ${errorMessages(error)}`, next)
  }
}
