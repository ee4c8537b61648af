// The program of a recipe: its workflows, for one process after another, and the requested run.

import { systemTimers } from '@millrace/log'
import type { Json } from '@millrace/protocol'
import type { Runtime } from '../../api/runtime.ts'
import { agent } from '../../define/agent.ts'
import type { NodeContext, NodeDefinition, NodeResult } from '../../define/node.ts'
import { type Workflow, type WorkflowDefinition, workflow } from '../../define/workflow.ts'
import { useNodeState } from '../../execute/hooks/use-state.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { type Program, type ProgramOptions, recordedModel, SESSION } from './tools-program.fixture.ts'
import { WorkflowAnswerer } from './workflow.answers.fixture.ts'
import { answer, digest, executeOp, type NodeEnvironment, tallyTool } from './workflow.ops.fixture.ts'
import { type NodeRecipe, type Recipe, recipesOf } from './workflow.recipe.fixture.ts'
import { type WorkflowProperties, workflowProblems, workflowProperties } from './workflow.verdict.fixture.ts'

const FLOW_RUN = 'flow'

/** The program of a seed. */
export const flowOf = (seed: number): Program => programOf(recipesOf(seed))

/** The program of recipes. */
const programOf = (recipes: readonly Recipe[]): Program =>
  flowProgram(environment => recipes.map(recipe => workflowOf(recipe, environment)), workflowProperties(recipes))

/**
 * A program of workflows that starts with the first. For one schedule at a time, because some work fails only the first
 * time.
 */
export function flowProgram(
  make: (environment: NodeEnvironment) => readonly Workflow[],
  known: WorkflowProperties,
): Program {
  const seen = new Set<string>()
  const isFirst = (key: string): boolean => !seen.has(key) && seen.add(key) !== undefined
  const workflows = (options: ProgramOptions) => make(nodeEnvironment({ isFirst, ...options }))
  return {
    runs: [FLOW_RUN],
    agents: () => [],
    workflows,
    ask(runtime) {
      seen.clear()
      const [first] = workflows({ writeLine: () => {} })
      return requestWorkflowRun(runtime, first as Workflow)
    },
    clients: options => new WorkflowAnswerer(options),
    judge: workflowProblems(known),
  }
}

function requestWorkflowRun(runtime: Runtime, { program }: Workflow) {
  return runtime.start({
    session: SESSION,
    workflow: program,
    runId: FLOW_RUN,
    messageId: `asks-${FLOW_RUN}`,
    input: 'Go.',
    context: { asked: FLOW_RUN },
  })
}

function nodeEnvironment({
  writeLine,
  timers = systemTimers,
  paceMs = 0,
  isFirst = () => false,
}: ProgramOptions): NodeEnvironment {
  return {
    writeLine,
    isFirst,
    model: recordedModel(scriptedModel(answer, { paceMs, timers }), writeLine),
    pause: () => (paceMs > 0 ? new Promise(done => timers.after(paceMs, done)) : Promise.resolve()),
  }
}

/** The workflow of a recipe. */
function workflowOf({ id, nodes, edges }: Recipe, environment: NodeEnvironment): Workflow {
  const nodeEntries = Object.entries(nodes).map(([name, recipe]) => [name, nodeOf(name, recipe, environment)] as const)
  // The data between nodes is known only at run time.
  const definition = { id, nodes: Object.fromEntries(nodeEntries), edges, inputSchema: ANYTHING } as unknown
  return workflow(definition as WorkflowDefinition<string, Record<string, NodeDefinition>, [], undefined>)
}

const ANYTHING = { '~standard': { version: 1, vendor: 'millrace', validate: (value: unknown) => ({ value }) } }

function nodeOf(id: string, recipe: NodeRecipe, environment: NodeEnvironment): NodeDefinition {
  const { attempts, fails, agent: ask } = recipe
  if (ask !== undefined) {
    const { model, writeLine, pause } = environment
    return { agent: agent({ name: id, model, tools: [tallyTool(writeLine, pause)] }), prompt: () => `${ask}|${id}` }
  }
  return {
    run: (context: NodeContext<Json>) => runNode(id, recipe, environment, context),
    ...(attempts !== undefined && { retry: { attempts } }),
    ...(fails !== undefined && { onError: fails === 'continue' ? { continue: `${id} failed` } : fails }),
  }
}

async function runNode(
  id: string,
  { ops, exit, shows, fails }: NodeRecipe,
  environment: NodeEnvironment,
  { input, tokenUsage }: NodeContext<Json>,
): Promise<NodeResult> {
  const results: Json[] = []
  const atEnd: (() => Json)[] = []
  for (const [index, op] of ops.entries()) results.push(await executeOp(environment, op, `${id}.${index}`, atEnd))
  results.push(atEnd.map(read => read()))
  // Usage depends on the number of attempts: it is read, but not written.
  if (fails !== undefined || tokenUsage === undefined) throw new Error(`${id} fails`)
  const data = { from: id, given: digest(input), results }
  return {
    data,
    ...(shows === 'message' && { ui: { message: `${id} has ${digest(data)}.` } }),
    ...(shows === 'structured' && { ui: { structured: { data, dataType: 'node' } } }),
    ...exitOf(exit, data),
  }
}

function exitOf(exit: NodeRecipe['exit'], data: Json): NodeResult {
  switch (exit.kind) {
    case 'on':
      return {}
    case 'left or right':
      return digest(data).charCodeAt(1) % 2 === 0 ? { condition: 'left' } : {}
    case 'again': {
      const [count, set] = useNodeState(0)
      set(count + 1)
      return count < exit.times ? { condition: 'again' } : {}
    }
    case 'transition':
      return { transitionTo: exit.to }
  }
}
