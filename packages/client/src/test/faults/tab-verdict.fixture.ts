// Compares the messages and callbacks of tabs with the log: complete at the end, nothing else before, each event once.

import { type Entry, isData, type View } from '@millrace/protocol'
import { asJson, differenceOf } from '../../../../../scripts/faults/sessions/difference.fixture.ts'
import type { Tab } from './tab.fixture.ts'
import type { TabHarness } from './tab-harness.fixture.ts'
import type { TabScript } from './tab-script.fixture.ts'

/** A log at the end of a schedule. */
interface StoredLog {
  readonly sessionId: string
  readonly isRemoved: boolean
  readonly sentBy: TabScript['sentBy']
  readonly entries: readonly Entry[]
  readonly view: View
}

/** All problems. Empty if the schedule passed. */
export async function verdict(harness: TabHarness, scripts: readonly TabScript[]): Promise<string[]> {
  const problems = toolProblems(harness)
  for (const { sessionId, isRemoved, sentBy } of scripts) {
    const { manager } = harness.server
    const info = await manager.getInfo(sessionId)
    if (info === null) continue
    const { view } = await manager.view(sessionId)
    const { internal, ...open } = view
    const entries = await manager.entries(sessionId, 0, info.head)
    const log = { sessionId, isRemoved, sentBy, view: asJson(open), entries: entries.filter(entry => !entry.internal) }
    for (const tab of harness.tabs) {
      const found = [
        ...endProblems(tab, log),
        ...historyProblems(tab, log),
        ...callbackProblems(tab, log, tab === harness.first),
      ]
      problems.push(...found.map(problem => `${tab.name}, ${sessionId}: ${problem}`))
    }
    for (const reader of harness.readers) {
      problems.push(...reader.problems.map(problem => `reader: ${problem}`))
      const read = asJson(reader.view(sessionId))
      // A deleted log cannot be compared.
      if (read === undefined || isRemoved) continue
      // A loop over entries cannot know that a frame reaches beyond its last entry.
      const difference = differenceOf(read, { ...log.view, head: read.head }, 'view')
      if (difference) problems.push(`reader, ${sessionId}: it read another log: ${difference}`)
    }
  }
  return problems
}

/** At the end every accessor agrees with the log. */
function endProblems(tab: Tab, { sessionId, view }: StoredLog): string[] {
  const { store, state } = tab.chat(sessionId)
  const shown = {
    view: store.view(),
    messages: store.messages,
    ids: store.messageIds,
    byId: store.messageIds.map(id => store.message(id)),
    parts: store.messages.flatMap(({ id, parts }) => parts.map(({ key }) => store.part(id, key))),
    structured: store.structuredIds.map(id => store.structured(id)),
    state: store.state,
    output: store.output,
    pendings: store.pendings,
    runs: store.ledger.runs,
    requests: store.ledger.requests,
    usage: store.ledger.usage,
    open: state.runId,
  }
  const { messages, structured, pendings, runs, requests, usage } = view
  const expected = {
    view,
    messages,
    ids: messages.map(({ id }) => id),
    byId: messages,
    parts: messages.flatMap(({ parts }) => parts),
    structured,
    state: view.state,
    output: view.output,
    pendings,
    runs,
    requests,
    usage,
    open: runs.findLast(({ finishedAt }) => finishedAt === undefined)?.runId,
  }
  const difference = differenceOf(asJson(shown), asJson(expected), 'shown')
  return difference ? [`it shows another session: ${difference}`] : []
}

/** Texts only grow, except after a discard or rewind. No message is shown as sent before its run has finished. */
function historyProblems(tab: Tab, { sessionId, entries, view, isRemoved }: StoredLog): string[] {
  const problems: string[] = []
  const { textRegressions, sent } = tab.session(sessionId).recorder
  const loggedIds = new Set([
    ...entries.flatMap(({ origin, chunk }) => [origin.runId, 'messageId' in chunk ? chunk.messageId : undefined]),
    ...view.messages.map(({ id }) => id),
  ])
  for (const { messageId, key, old, text, from, to } of textRegressions) {
    const isTakenBack = entries.some(
      ({ sequence, chunk }) =>
        (chunk.type === 'step-discarded' && sequence > from && sequence <= to) ||
        // Entries that a rewind took back are shown until the snapshot comes.
        (chunk.type === 'rewind' && sequence >= from && sequence <= to),
    )
    // A queued message that is stopped before it starts never enters the view.
    const isStopped = view.requests.some(
      ({ status, message }) => status === 'removed' && message?.messageId === messageId,
    )
    if (isTakenBack || isStopped || (isRemoved && (to < from || !loggedIds.has(messageId)))) continue
    problems.push(`${messageId} ${key} went from “${end(old)}” to “${end(text)}” between ${from} and ${to}`)
  }
  for (const { messageId, runId, at } of sent) {
    const finish = entries.find(({ origin, chunk }) => chunk.type === 'run-finished' && origin.runId === runId)
    if (finish === undefined ? !isRemoved : finish.sequence > at)
      problems.push(`${messageId} was shown as sent at ${at}, but its run finished at ${finish?.sequence}`)
  }
  return problems
}

/** Each event was reported once. */
function callbackProblems(tab: Tab, log: StoredLog, isFirst: boolean): string[] {
  const { sessionId, entries, view, isRemoved, sentBy } = log
  const problems: string[] = []
  const { finishes, calls, data, firstHead = 0 } = tab.session(sessionId).recorder
  for (const { runId } of finishes) {
    const count = finishes.filter(finish => finish.runId === runId).length
    if (count > 1) problems.push(`the end of ${runId} was reported ${count} times`)
  }
  for (const { origin, chunk, sequence } of entries) {
    if (chunk.type !== 'run-finished') continue
    // Runs from before the first snapshot are not reported, except those that this tab requested.
    const isExpected = sequence > firstHead || sentBy.get(origin.runId ?? '') === tab.chat(sessionId)
    const finish = finishes.find(({ runId }) => runId === origin.runId)
    if (!finish) {
      if (isExpected) problems.push(`the end of ${origin.runId} was not reported`)
      continue
    }
    const isAbort = chunk.status === 'interrupted' || chunk.status === 'aborted'
    if (finish.isAbort !== isAbort || finish.isError !== (chunk.status === 'failed'))
      problems.push(`${origin.runId} ended as ${chunk.status}, but another status was reported`)
  }
  for (const [name, count] of calls) if (count > 1) problems.push(`the call ${name} was reported ${count} times`)
  if (isRemoved) return problems
  for (const [name, count] of data) {
    const maxCount = entries.filter(({ chunk }) => isData(chunk) && name === nameOf(chunk)).length
    if (count > maxCount) problems.push(`${name} was reported ${count} times, and written ${maxCount} times`)
  }
  // A tab that took a snapshot reports nothing from before it.
  if (!isFirst || tab.snapshots.has(sessionId)) return problems
  for (const { chunk } of entries) {
    if (!isData(chunk) || chunk.transient) continue
    const minCount = entries.filter(other => isData(other.chunk) && nameOf(other.chunk) === nameOf(chunk)).length
    if ((data.get(nameOf(chunk)) ?? 0) < minCount) problems.push(`${nameOf(chunk)} was not reported`)
  }
  for (const { id, parts } of view.messages) {
    for (const part of parts) {
      if (!('toolCallId' in part) || calls.has(`${id} ${part.toolCallId} ${part.state}`)) continue
      // The end of a run settles open calls without a chunk for each.
      if (part.code !== 'interrupted') problems.push(`the state ${part.state} of ${part.toolCallId} was not reported`)
    }
  }
  return problems
}

const nameOf = ({ type, data }: { type: string; data: unknown }): string => `${type} ${JSON.stringify(data)}`

/** A client tool ran in one tab, and there once, unless the tab was away meanwhile. */
function toolProblems({ toolTabs }: TabHarness): string[] {
  const problems: string[] = []
  for (const [toolCallId, tabs] of toolTabs) {
    const different = new Set(tabs)
    const maxCount = 1 + tabs.reduce((sum, { absences }) => sum + absences, 0)
    if (different.size > 1) problems.push(`${toolCallId} ran in ${different.size} tabs`)
    if (tabs.length > maxCount) problems.push(`${toolCallId} ran ${tabs.length} times`)
  }
  return problems
}

const end = (text: string): string => (text.length > 60 ? `…${text.slice(-60)}` : text)
