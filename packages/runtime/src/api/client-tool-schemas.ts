// Finds the output schema of a client tool in the definitions of this process.

import type { TicketPending } from '@millrace/log'
import type { Message, View } from '@millrace/protocol'
import type { Agent } from '../define/agent.ts'
import type { Program } from '../define/program.ts'
import type { Schema } from '../schema/schema.ts'

/** The lane of an agent node and of its sub-agents. */
const AGENT_LANE = /(?:^|\/)agent:([^/]+)\.\d+(?:\/|$)/

export class ClientToolSchemas {
  readonly #root: Program | undefined
  /** Agents that are nodes of workflows. A run may transition to any of these workflows. */
  readonly #nodes: readonly Agent[]

  /** `program` is the program of the run. */
  constructor(programs: ReadonlyMap<string, Program>, program: string) {
    this.#root = programs.get(program)
    const workflows = new Set([...programs.values()].filter(each => each.kind === 'workflow'))
    const isWorkflow = this.#root?.kind === 'workflow'
    this.#nodes = isWorkflow ? [...workflows].flatMap(({ nodes }) => [...nodes.values()].flatMap(agentOfNode)) : []
  }

  /** Whether any client tool of the run has an output schema. */
  get hasSchemas(): boolean {
    return (this.#root?.kind === 'agent' ? [this.#root] : this.#nodes).some(hasOutputSchema)
  }

  /** The output schema of a client call, if known. Tools of node code are known only when it runs. */
  schemaFor(view: View, { id, lane }: TicketPending): Schema | undefined {
    const pending = view.pendings.find(other => other.kind === 'client-tool' && other.id === id)
    if (pending?.kind !== 'client-tool') return undefined
    const root = this.#rootOf(lane)
    const message = view.messages.find(other => other.id === pending.messageId)
    const caller = root && agentOf(view, root, message)
    return caller && outputSchemaOf(caller, pending.part.toolName)
  }

  /** The root agent of a lane. */
  #rootOf(lane: string): Agent | undefined {
    if (this.#root?.kind === 'agent') return this.#root
    const name = AGENT_LANE.exec(lane)?.[1]
    const matches = new Set(this.#nodes.filter(agent => agent.name === name))
    // Two agents with the same name are ambiguous.
    return matches.size === 1 ? [...matches][0] : undefined
  }
}

const agentOfNode = ({ agent }: { readonly agent?: Agent | undefined }): readonly Agent[] => (agent ? [agent] : [])

/** Whether an agent or one of its sub-agents has a client tool with an output schema. */
const hasOutputSchema = ({ tools, subAgents }: Agent): boolean =>
  (typeof tools !== 'function' && tools.some(tool => tool.executor === 'client' && tool.outputSchema !== undefined)) ||
  subAgents.some(({ program }) => program.kind === 'agent' && hasOutputSchema(program))

/** The agent of a message: the root agent, or a sub-agent by the names of the calls that lead to it. */
function agentOf(view: View, root: Agent, message: Message | undefined): Agent | undefined {
  if (message?.parent === undefined) return message && root
  const { messageId, toolCallId } = message.parent
  const parent = view.messages.find(({ id }) => id === messageId)
  const call = parent?.parts.find(part => 'toolCallId' in part && part.toolCallId === toolCallId)
  const name = call && 'toolName' in call ? call.toolName : undefined
  const program = agentOf(view, root, parent)?.subAgents.find(sub => sub.name === name)?.program
  return program?.kind === 'agent' ? program : undefined
}

/** The output schema of a client tool, unless the agent computes its tools. */
function outputSchemaOf({ tools }: Agent, toolName: string): Schema | undefined {
  const tool = typeof tools === 'function' ? undefined : tools.find(({ name }) => name === toolName)
  return tool?.executor === 'client' ? tool.outputSchema : undefined
}
