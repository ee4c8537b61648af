import { HttpAgent, type Message } from '@ag-ui/client'
import { resumable } from '@millrace/dialects/ag-ui'

const Agent = resumable(HttpAgent) // or HttpAgent, which does not resume a dropped connection

/** Sends a message in a thread, approves every call, and returns the messages. */
export async function ask(url: string, threadId: string, content: string): Promise<Message[]> {
  const agent = new Agent({ url, threadId })
  await agent.connectAgent() // loads the messages and follows an open run
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
