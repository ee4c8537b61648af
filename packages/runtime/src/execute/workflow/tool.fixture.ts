// Workflows as tools: one that is called, and an agent that calls them.

import { scripted } from '../../api/people.fixture.ts'
import type { NodeContext } from '../../define/node.ts'
import type { subAgent } from '../../define/sub-agent.ts'
import { type Workflow, workflow } from '../../define/workflow.ts'

/** A workflow that says what it was told. */
export const parrot = workflow({
  id: 'parrot',
  nodes: { say: ({ input }: NodeContext<string>) => ({ data: `${input}!` }) },
  edges: [
    ['start', 'say'],
    ['say', 'end'],
  ],
})

/** An agent that makes one call, and says that it is done. */
export const caller = (of: Workflow | ReturnType<typeof subAgent>, calls: readonly object[], more = {}) =>
  scripted('parent', [{ calls: calls as never }, { text: 'Done.' }], { subAgents: [of as never], ...more }).agent
