// Workflows as tools: a workflow, and an agent that calls workflows.

import { scripted } from '../../api/pendings.fixture.ts'
import type { NodeContext } from '../../define/node.ts'
import type { subAgent } from '../../define/sub-agent.ts'
import { type Workflow, workflow } from '../../define/workflow.ts'

/** A workflow that returns its input. */
export const echoWorkflow = workflow({
  id: 'parrot',
  nodes: { say: ({ input }: NodeContext<string>) => ({ data: `${input}!` }) },
  edges: [
    ['start', 'say'],
    ['say', 'end'],
  ],
})

/** An agent that calls a workflow or sub-agent, and then ends. */
export const caller = (callee: Workflow | ReturnType<typeof subAgent>, calls: readonly object[], more = {}) =>
  scripted('parent', [{ calls: calls as never }, { text: 'Done.' }], { subAgents: [callee as never], ...more }).agent
