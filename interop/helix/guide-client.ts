import { readEvents } from '@millrace/dialects'
import { isTextDeltaChunk, isToolApprovalRequestChunk, type StreamEvent } from '@millrace/dialects/helix'

/** Sends a message in a session, approves every call, and returns the text of the answer. */
export async function ask(api: string, sessionId: string, message: string): Promise<string> {
  const post = (path: string, body: object, accept = 'application/json') =>
    fetch(`${api}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept },
      body: JSON.stringify({ sessionId, ...body }),
    })
  let text = ''
  let position = '0'
  let response = await post('start', { message }, 'text/event-stream')
  for (;;) {
    let isPaused = false
    if (!response.ok || !response.body) throw new Error(await response.text())
    for await (const events of readEvents(response.body)) {
      for (const { data, id = position } of events) {
        position = id
        const event = JSON.parse(data) as StreamEvent
        if (event.type === 'end') return text
        if (event.type === 'fail') throw new Error(event.error)
        if (event.type === 'status') isPaused = event.status === 'paused'
        if (event.type !== 'chunk') continue
        if (isTextDeltaChunk(event.chunk)) text += event.chunk.delta
        else if (isToolApprovalRequestChunk(event.chunk)) {
          const { approvalId } = event.chunk
          await post('submit-tool-result', { kind: 'approval-response', approvalId, approved: true })
        }
      }
      if (isPaused) break
    }
    // The run is paused or the connection dropped: resume after the last event.
    const headers = { 'X-Resume-From-Sequence': position }
    response = await fetch(`${api}/sse?sessionId=${encodeURIComponent(sessionId)}`, { headers })
  }
}
