// Who says what in a run, as far as its definitions are known here: by them the outputs of clients' tools are checked.

import type { TicketPending } from '@millrace/log'
import type { Message, View } from '@millrace/protocol'
import type { Agent } from '../define/agent.ts'
import type { Program } from '../define/program.ts'
import type { Schema } from '../schema/schema.ts'

/** The lane of an agent that is a node of a workflow, and of all who work for it. */
const AGENT_LANE = /(?:^|\/)agent:([^/]+)\.\d+(?:\/|$)/

export class ClientToolSchemas {
  readonly #root: Program | undefined
  /** The agents that are nodes of workflows: a run may go on with any of these. */
  readonly #nodes: readonly Agent[]

  /** `program` is that of the run. */
  constructor(programs: ReadonlyMap<string, Program>, program: string) {
    this.#root = programs.get(program)
    const workflows = new Set([...programs.values()].filter(each => each.kind === 'workflow'))
    const isWorkflow = this.#root?.kind === 'workflow'
    this.#nodes = isWorkflow ? [...workflows].flatMap(({ nodes }) => [...nodes.values()].flatMap(agentIn)) : []
  }

  /** Whether outputs of clients' tools are checked, of anybody in the run. */
  get hasSchemas(): boolean {
    return (this.#root?.kind === 'agent' ? [this.#root] : this.#nodes).some(checksOutputs)
  }

  /** The schema of what a client's tool gives, where it is known: which tools the code of a node has, that tells when it runs. */
  schemaFor(view: View, { id, lane }: TicketPending): Schema | undefined {
    const pending = view.pendings.find(other => other.kind === 'client-tool' && other.id === id)
    if (pending?.kind !== 'client-tool') return undefined
    const root = this.#rootOf(lane)
    const message = view.messages.find(other => other.id === pending.messageId)
    const speaker = root && agentOf(view, root, message)
    return speaker && outputOf(speaker, pending.part.toolName)
  }

  /** Who speaks in the run's own message on a lane. */
  #rootOf(lane: string): Agent | undefined {
    if (this.#root?.kind === 'agent') return this.#root
    const name = AGENT_LANE.exec(lane)?.[1]
    const named = new Set(this.#nodes.filter(agent => agent.name === name))
    // Of two by one name nobody can tell.
    return named.size === 1 ? [...named][0] : undefined
  }
}

const agentIn = ({ agent }: { readonly agent?: Agent | undefined }): readonly Agent[] => (agent ? [agent] : [])

/** Whether outputs of clients' tools are checked, of an agent or of one that works for it. */
const checksOutputs = ({ tools, subAgents }: Agent): boolean =>
  (typeof tools !== 'function' && tools.some(tool => tool.executor === 'client' && tool.outputSchema !== undefined)) ||
  subAgents.some(({ program }) => program.kind === 'agent' && checksOutputs(program))

/** The agent that says a message: the root agent of the run, or one that works for it, by the names of the calls down to it. */
function agentOf(view: View, root: Agent, message: Message | undefined): Agent | undefined {
  if (message?.parent === undefined) return message && root
  const { messageId, toolCallId } = message.parent
  const parent = view.messages.find(({ id }) => id === messageId)
  const call = parent?.parts.find(part => 'toolCallId' in part && part.toolCallId === toolCallId)
  const name = call && 'toolName' in call ? call.toolName : undefined
  const program = agentOf(view, root, parent)?.subAgents.find(sub => sub.name === name)?.program
  return program?.kind === 'agent' ? program : undefined
}

/** The schema of the outputs of a client's tool of an agent, where the tools are not computed. */
function outputOf({ tools }: Agent, toolName: string): Schema | undefined {
  const tool = typeof tools === 'function' ? undefined : tools.find(({ name }) => name === toolName)
  return tool?.executor === 'client' ? tool.outputSchema : undefined
}
