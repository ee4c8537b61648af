// Normalizes a view by removing what a crash may change: sequences, times and deadlines, attempts, takeovers, usage of
// discarded attempts, claims, and the order between lanes.

import type { Json, Message, Part, Run, Usage, View } from '@millrace/protocol'

/** The parts of a view that must be equal after any crash. */
export interface NormalizedView {
  readonly messages: readonly unknown[]
  readonly runs: readonly unknown[]
  readonly requests: readonly unknown[]
  readonly structured: readonly unknown[]
  readonly state: Json | undefined
  readonly output: Json | undefined
  readonly pendings: readonly unknown[]
  readonly agents: readonly unknown[]
  readonly drafts: readonly unknown[]
  readonly context: readonly unknown[]
}

/** A normalized view. Equal ones show the same to readers. */
export function normalizedView(view: View): NormalizedView {
  return {
    messages: view.messages.map(messageOf).sort(byParent),
    runs: view.runs.map(runOf),
    requests: view.requests.map(({ at, ...request }) => request),
    structured: view.structured.map(({ at, ...object }) => object),
    state: view.state,
    output: view.output,
    pendings: view.pendings,
    agents: view.agents
      .map(({ startedAt, ...agent }) => agent)
      .sort((one, other) => compare(one.agentId, other.agentId)),
    drafts: view.drafts,
    context: (view.internal?.runs ?? []).map(({ runId, context }) => ({ runId, context })),
  }
}

function messageOf({ at, createdAt, metaAt, parts, ...message }: Message) {
  return { ...message, parts: steps(parts).flatMap(step => step.map(partOf).sort(byLane)) }
}

/** The parts by step: parts of a step never appear in another. */
function steps(parts: readonly Part[]): Part[][] {
  const all: Part[][] = [[]]
  for (const part of parts) {
    if (part.type === 'step-start') all.push([part])
    else all.at(-1)?.push(part)
  }
  return all
}

interface TransientFields {
  readonly attempt?: number
  readonly claim?: unknown
  readonly deadline?: number
  readonly approval?: { readonly deadline?: number }
}

/** A part without a name is identified by its content. */
export function partOf(part: Part): Record<string, unknown> & { lane: string } {
  const { at, key, ...rest } = part
  const { attempt, claim, deadline, approval, ...other } = rest as typeof rest & TransientFields
  const normalizedPart = approval
    ? { ...other, approval: { ...approval, deadline: approval.deadline && 'set' } }
    : other
  const isNamed = !key.startsWith('#')
  return { ...normalizedPart, ...(isNamed && { key }), lane: laneOf(part) }
}

/** The lane of a part: data comes from tools, everything else from the model. */
function laneOf(part: Part): string {
  if (!part.type.startsWith('data-')) return ''
  const { id, data } = part as { id?: string; data?: { place?: string } }
  return id?.split('/')[0] ?? data?.place ?? '?'
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

const byLane = ({ lane: one }: { lane: string }, { lane: other }: { lane: string }): number => compare(one, other)

/** Messages of sub-agents last, by name. */
const byParent = (one: { id: string; parent?: unknown }, other: { id: string; parent?: unknown }): number =>
  Number(one.parent !== undefined) - Number(other.parent !== undefined) ||
  (one.parent === undefined ? 0 : compare(one.id, other.id))

function runOf({ at, startedAt, finishedAt, takeovers, usage, discarded, ...run }: Run) {
  return { ...run, usage: usageDifference(usage, discarded) }
}

/** Usage of committed attempts. */
function usageDifference(usage: Usage, discarded: Usage): Record<string, number> {
  const committed: Record<string, number> = {}
  for (const [name, used] of Object.entries(usage)) {
    const remaining = (used as number) - ((discarded as Record<string, number | undefined>)[name] ?? 0)
    if (remaining !== 0) committed[name] = remaining
  }
  return committed
}
