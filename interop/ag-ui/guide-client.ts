import { HttpAgent, type Message } from '@ag-ui/client'
import { resumable } from '@millrace/dialects/ag-ui'

const Agent = resumable(HttpAgent) // or HttpAgent itself, which does not come back to a connection that broke

/** Says something in a thread, approves whatever is asked, and gives the messages. */
export async function ask(url: string, threadId: string, content: string): Promise<Message[]> {
  const agent = new Agent({ url, threadId })
  await agent.connectAgent() // what was said before, and what is under way
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content })
  await agent.runAgent()
  while (agent.pendingInterrupts.length > 0) {
    const resume = agent.pendingInterrupts.map(({ id }) => ({
      interruptId: id,
      status: 'resolved' as const,
      payload: { approved: true },
    }))
    await agent.runAgent({ resume })
  }
  return agent.messages
}
