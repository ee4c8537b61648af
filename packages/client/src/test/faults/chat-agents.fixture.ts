import { type Agent, agent, tool } from '@millrace/runtime'
import { z } from 'zod'
import { longText, scriptedAgents } from '../../../../../scripts/faults/sessions/scripted-agents.fixture.ts'

const { model, teller, weigher, flaky, seller } = scriptedAgents({ paceMs: 1, maxFailures: 1 })

const locate = tool({
  name: 'locate',
  inputSchema: z.object({ precise: z.boolean() }),
  outputSchema: z.object({ city: z.string() }),
  client: true,
})

/** Calls a tool that a client runs. */
const guide = agent({
  name: 'guide',
  model: model(({ turnAnswers, key }) =>
    turnAnswers === 0
      ? { text: 'Where are you?', calls: [{ name: 'locate', input: { precise: false }, id: `${key}-place` }] }
      : { text: longText('Now I know where you are.') },
  ),
  tools: [locate],
})

const INVENTORY = {
  title: 'What there is in the mill',
  rows: Array.from({ length: 6 }, (_, n) => ({ name: `sack ${n}`, kilos: n })),
}

/** Writes an object, a few letters at a time. */
const lister = agent({
  name: 'lister',
  model: model(() => ({ text: JSON.stringify(INVENTORY), pieceLength: 6 })),
  outputSchema: z.object({ title: z.string(), rows: z.array(z.object({ name: z.string(), kilos: z.number() })) }),
})

export const AGENTS: readonly Agent[] = [teller, weigher, flaky, seller, guide, lister]
/** Names to draw from. The repeated one is drawn more often. */
export const AGENT_NAMES = ['teller', 'teller', 'weigher', 'flaky', 'seller', 'guide', 'lister'] as const
