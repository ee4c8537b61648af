import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { catalogue } from '../catalogue/catalogue.ts'
import type { Entry } from '../entry/entry.ts'
import { validateEntry } from '../validate/validate.ts'
import { Fold } from './fold.ts'
import { foldLog } from './fold-log.ts'
import type { View } from './view.ts'

const folder = join(import.meta.dirname, '../../corpus')
const versions = readdirSync(folder)
  .flatMap(name => /^v[\d.]+(?=\.log)/.exec(name) ?? [])
  .sort()
const read = (name: string) => readFileSync(join(folder, name), 'utf8')
const logOf = (version: string): Entry[] =>
  read(`${version}.log.ndjson`)
    .trim()
    .split('\n')
    .map(line => validateEntry(JSON.parse(line)))

/** Older views kept the hooks of ended runs. Now hooks are removed at the end of their run. */
const withoutEndedHooks = (view: View): View => {
  const isOpen = (runId: string) => view.runs.some(run => run.runId === runId && /^(running|paused)$/.test(run.status))
  const hooks = view.hooks.filter(({ runId }) => isOpen(runId))
  return { ...view, hooks, ...(view.internal && { internal: withoutEndedHooks(view.internal) }) }
}

/** Older views did not have the lanes of agents. */
const withLanes = (view: View, log: readonly Entry[]): View => {
  const lanes = new Map(
    log.flatMap(({ chunk }) => (chunk.type === 'subagent-start' && chunk.lane ? [[chunk.agentId, chunk.lane]] : [])),
  )
  const agents = view.agents.map(agent => ({ ...agent, lane: lanes.get(agent.agentId) as string }))
  return { ...view, agents, ...(view.internal && { internal: withLanes(view.internal, log) }) }
}

describe.each(versions)('the log of %s', version => {
  const log = logOf(version)
  const view = JSON.parse(read(`${version}.view.json`)) as View

  test('still folds to the same view', () => {
    const reports: string[] = []
    expect(foldLog(log, { onReport: ({ code }) => reports.push(code) }).view()).toEqual(
      withLanes(withoutEndedHooks(view), log),
    )
    expect(reports).toEqual([])
  })

  test('continues from its view', () => {
    const fold = Fold.from(view)
    expect(fold.view()).toEqual(view)
    const { origin } = log.at(-1) as Entry
    const chunk = { type: 'text-delta', id: 't1', delta: 'come.' } as const
    fold.apply([{ sequence: view.head + 1, timestamp: 0, origin, chunk }])
    expect(fold.message('r3::r3')?.parts).toContainEqual(expect.objectContaining({ text: 'You are welcome.' }))
  })
})

test('the newest log has every chunk type', () => {
  const seen = new Set(logOf(versions.at(-1) as string).map(({ chunk }) => chunk.type as string))
  const missing = Object.keys(catalogue).filter(type => !seen.has(type))
  expect(missing, 'copy the newest log of packages/protocol/corpus, append these types, run npm run generate').toEqual(
    [],
  )
})
