import { PROTOCOL_VERSION } from '@millrace/protocol'
import { json } from '../http/reply.ts'
import { route } from '../routing/route.ts'
import { ErrorSchema, Health, Programs } from '../routing/schemas.ts'
import { withStoreTimeout } from './store-timeout.ts'

/** Routes that describe the server. */
export const serverInfo = [
  route({
    method: 'GET',
    path: '/health',
    action: 'health',
    summary: 'Readiness: checks that the server is up, and that its store can be read and written.',
    replies: { 200: Health, 503: ErrorSchema },
    handle: async ({ services: { manager, probe, settings } }) => {
      // Any query that the store has to answer.
      const read = manager.listStreams(undefined, { limit: 1 })
      await withStoreTimeout(Promise.all([read, probe.check()]), settings.timers)
      return json(200, { status: 'ok', protocol: PROTOCOL_VERSION })
    },
  }),
  route({
    method: 'GET',
    path: '/live',
    action: 'health',
    summary: 'Liveness: checks that the process answers, whether or not its store does.',
    replies: { 200: Health },
    ignoresStore: true,
    handle: async () => json(200, { status: 'ok', protocol: PROTOCOL_VERSION }),
  }),
  route({
    method: 'GET',
    path: '/agents',
    action: 'agents',
    summary: 'Lists the agents and workflows.',
    replies: { 200: Programs },
    handle: async ({ services: { agents, workflows } }) =>
      json(200, {
        agents: agents.map(({ name, program }) => ({ name, version: versionOf(program) })),
        workflows: workflows.map(workflow => ({
          id: workflow.name,
          version: versionOf(workflow.program),
          diagram: workflow.toMermaid(),
        })),
      }),
  }),
  route({
    method: 'GET',
    path: '/openapi.json',
    action: 'describe',
    summary: 'Returns this OpenAPI document.',
    otherReplies: { 200: 'application/json' },
    handle: async ({ services }) => json(200, services.openApi()),
  }),
]

const versionOf = (program: string): string => program.slice(program.lastIndexOf('@') + 1)
