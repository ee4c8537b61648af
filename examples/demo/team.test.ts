import { expect, test, vi } from 'vitest'
import { chunksOf, demoRuntime } from './demo-runtime.fixture.ts'

const on = demoRuntime()
const { ask, view } = on

test('runs two sub-agents in parallel and sums up their results', async () => {
  const run = await ask('team', 'watermills')
  const { status, text, message } = await run.result()
  expect(status).toBe('completed')
  expect(text).toBe('In short: Three sources cover "watermills". One source on "watermills" is outdated.')
  const { agents, messages } = await view()
  const { researcher, critic } = Object.fromEntries(agents.map(agent => [agent.agentType, agent]))
  expect(researcher).toMatchObject({ parentId: run.runId, result: 'Three sources cover "watermills".' })
  expect(critic).toMatchObject({ parentId: run.runId, result: 'One source on "watermills" is outdated.' })
  expect(agents.map(agent => agent.status)).toEqual(Array(4).fill('completed'))
  const parents = messages.flatMap(({ agentType, parent }) => (parent ? [`${agentType} of ${parent.messageId}`] : []))
  const researcherMessage = messages.find(({ agentType }) => agentType === 'researcher')
  expect(parents.sort()).toEqual([
    `critic of ${message?.id}`,
    `librarian of ${researcherMessage?.id}`,
    `librarian of ${researcherMessage?.id}`,
    `researcher of ${message?.id}`,
  ])
  const steps = message?.parts.map(({ type }) => type)
  expect(steps).toEqual(['step-start', 'reasoning', 'tool', 'tool', 'step-start', 'text'])
})

test('runs nested sub-agents in parallel too', async () => {
  const lanes: string[] = []
  for await (const { chunk } of (await ask('team', 'watermills')).stream()) {
    if (chunk.type === 'subagent-start' || chunk.type === 'subagent-end') lanes.push(`${chunk.type} ${chunk.agentId}`)
  }
  const pairs = [
    ['researcher:call-researcher-1', 'critic:call-critic-2'],
    ['librarian:call-librarian-1', 'librarian:call-librarian-2'],
  ]
  for (const pair of pairs) {
    const types = lanes.filter(lane => pair.some(id => lane.endsWith(` ${id}`))).map(lane => lane.split(' ')[0])
    expect(types).toEqual(['subagent-start', 'subagent-start', 'subagent-end', 'subagent-end'])
  }
  expect(lanes.indexOf('subagent-end librarian:call-librarian-2')).toBeLessThan(
    lanes.indexOf('subagent-end researcher:call-researcher-1'),
  )
})

test('notes findings in the shared state across turns', async () => {
  const chunks = await chunksOf(await ask('team', 'mills'))
  expect(chunks.filter(({ type }) => type === 'state-snapshot')).toMatchObject([
    { state: { findings: [], doubts: [] } },
  ])
  expect(chunks.filter(({ type }) => type === 'state-patch')).toHaveLength(2)
  expect((await view()).state).toEqual({ findings: ['Known: mills'], doubts: ['Uncertain: mills'] })
  await (await ask('team', 'rivers')).result()
  expect((await view()).state).toEqual({
    findings: ['Known: mills', 'Known: rivers'],
    doubts: ['Uncertain: mills', 'Uncertain: rivers'],
  })
})

test('calls its sub-agents after stop and resume', async () => {
  await (await ask('team', 'mills')).result()
  // Slow enough to stop before its calls.
  vi.stubEnv('DEMO_PACE', '50')
  const run = await ask('team', 'rivers')
  for await (const { chunk } of run.stream()) if (chunk.type === 'reasoning-delta') break
  await run.stop()
  expect((await run.result()).status).toBe('interrupted')
  vi.stubEnv('DEMO_PACE', '0')
  const resumed = await on.runtime.resume(on.session, run.runId, { mode: 'continue' })
  expect((await resumed.result()).text).toBe(
    'In short: Three sources cover "rivers". One source on "rivers" is outdated.',
  )
})
