// An AG-UI server, written against its types: it validates input with its schema and sends events that its pipeline accepts.

import type { AGUIEvent, Message, RunAgentInput } from '@ag-ui/core'
import { EventType } from '@ag-ui/core'
import { RunAgentInputSchema } from '@ag-ui/core/schemas'
import { Gate } from '../backend.fixture.ts'
import { type Listening, listen } from './listen.fixture.ts'

export class AgUiServer {
  readonly gate = new Gate()
  readonly inputs: RunAgentInput[] = []
  readonly disconnected = Promise.withResolvers<void>()
  calls = 0
  #ids = 0

  #result(content: object, toolCallId = 'call'): AGUIEvent {
    const messageId = `result-${++this.#ids}`
    return {
      type: EventType.TOOL_CALL_RESULT,
      messageId,
      toolCallId,
      content: JSON.stringify(content),
      role: 'tool',
    }
  }

  *#text(text: string): Generator<AGUIEvent> {
    const messageId = `text-${++this.#ids}`
    yield { type: EventType.TEXT_MESSAGE_START, messageId, role: 'assistant' }
    for (const delta of text.split(/(?<= )/)) yield { type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta }
    yield { type: EventType.TEXT_MESSAGE_END, messageId }
  }

  *#call(toolCallName: string, input: object, toolCallId = 'call'): Generator<AGUIEvent> {
    const text = JSON.stringify(input)
    yield { type: EventType.TOOL_CALL_START, toolCallId, toolCallName }
    yield { type: EventType.TOOL_CALL_ARGS, toolCallId, delta: text.slice(0, 4) }
    yield { type: EventType.TOOL_CALL_ARGS, toolCallId, delta: text.slice(4) }
    yield { type: EventType.TOOL_CALL_END, toolCallId }
  }

  /** Messages of an earlier turn. */
  #history(key: string, call = `call-${key}`, id = `worked-${key}`): Message[] {
    const weigh = { name: 'weigh', arguments: '{"what": "rye"}' }
    return [
      { id: `thought-${key}`, role: 'reasoning', content: 'How heavy?' },
      { id, role: 'assistant', content: 'I weigh. ', toolCalls: [{ id: call, type: 'function', function: weigh }] },
      { id: `result-${key}`, role: 'tool', toolCallId: call, content: '{"what":"rye","kilos":4}' },
      { id: `then-${key}`, role: 'assistant', content: 'Then: yes.' },
    ]
  }

  async *#events(input: RunAgentInput, signal: AbortSignal): AsyncGenerator<AGUIEvent> {
    const { threadId, runId, messages, resume } = input
    this.calls++
    yield { type: EventType.RUN_STARTED, threadId, runId }
    const finished = { type: EventType.RUN_FINISHED, threadId, runId } as const
    const text = textOf(messages)
    const answer = { id: `answer-${runId}`, role: 'assistant', content: 'An answer.' } as const
    if (resume?.length) {
      const approved = resume.some(({ payload }) => (payload as { approved?: boolean } | undefined)?.approved === true)
      if (approved) yield this.#result({ sold: 'flour' })
      if (text === 'all') yield this.#result({ what: 'rye', kilos: 4 }, 'weighing')
      yield* this.#text(`Then: ${approved ? 'yes' : 'no'}.`)
      yield { ...finished, outcome: { type: 'success' } }
      return
    }
    if (messages.at(-1)?.role === 'tool') {
      yield* this.#text('Then: yes.')
      yield finished
      return
    }
    switch (text.split(' ')[0]) {
      case 'weigh':
        yield* this.#text('I weigh. ')
        yield* this.#call('weigh', { what: 'rye' })
        yield this.#result({ what: 'rye', kilos: 4 })
        yield* this.#text('Then: yes.')
        break
      case 'sell':
        yield* this.#call('sell', { what: 'flour' })
        yield {
          ...finished,
          outcome: { type: 'interrupt', interrupts: [{ id: `ask-${runId}`, reason: 'tool_call', toolCallId: 'call' }] },
        }
        return
      case 'all': {
        // The server runs its own tool after the approval of the other.
        yield* this.#call('sell', { what: 'flour' })
        yield* this.#call('locate', { precise: true }, 'locating')
        yield* this.#call('weigh', { what: 'rye' }, 'weighing')
        const interrupts = [
          { id: `ask-${runId}`, reason: 'tool_call', toolCallId: 'call' },
          { id: `run-${runId}`, reason: 'client_tool', toolCallId: 'locating' },
        ]
        yield { ...finished, outcome: { type: 'interrupt', interrupts } }
        return
      }
      case 'pending':
        yield* this.#call('locate', { precise: true })
        yield* this.#call('weigh', { what: 'rye' }, 'weighing')
        yield { ...finished, outcome: { type: 'success', pendingToolCallIds: ['call'] } }
        return
      case 'locate':
        // A client tool: the server only sends the call.
        yield* this.#call('locate', { precise: true })
        break
      case 'ask':
        yield {
          ...finished,
          outcome: {
            type: 'interrupt',
            interrupts: [{ id: `why-${runId}`, reason: 'input_required', message: 'Why?' }],
          },
        }
        return
      case 'count':
        yield { type: EventType.STATE_SNAPSHOT, snapshot: { sacks: 1 } }
        yield { type: EventType.STATE_DELTA, delta: [{ op: 'replace', path: '/sacks', value: 2 }] }
        yield { type: EventType.STATE_DELTA, delta: [{ op: 'remove', path: '/nowhere' }] }
        yield { type: EventType.STATE_DELTA, delta: [{ op: 'add', path: '/rye', value: { kilos: [4] } }] }
        yield { type: EventType.STATE_DELTA, delta: [{ op: 'add', path: '/rye/kilos/-', value: 6 }] }
        yield { type: EventType.ACTIVITY_SNAPSHOT, messageId: 'act', activityType: 'count', content: { at: 1 } }
        yield { type: EventType.RAW, event: { from: 'the model' } }
        break
      case 'snapshot':
        yield { type: EventType.MESSAGES_SNAPSHOT, messages: [...messages, ...this.#history(runId)] }
        break
      case 'same':
        yield* this.#text('I weigh. ')
        yield* this.#call('weigh', { what: 'rye' })
        yield this.#result({ what: 'rye', kilos: 4 })
        yield {
          type: EventType.MESSAGES_SNAPSHOT,
          messages: [...messages, ...this.#history(runId, 'call', `text-${this.#ids - 1}`).slice(1, 3)],
        }
        yield* this.#text('Then: yes.')
        break
      case 'other':
        yield { type: EventType.STEP_STARTED, stepName: 'one' }
        yield* this.#text('A draft. ')
        yield { type: EventType.CUSTOM, name: 'noted', value: 1 }
        yield { type: EventType.STEP_FINISHED, stepName: 'one' }
        yield { type: EventType.STEP_STARTED, stepName: 'two' }
        yield* this.#text('More of it.')
        yield { type: EventType.MESSAGES_SNAPSHOT, messages: [...messages, { ...answer, content: 'What I mean.' }] }
        break
      case 'old':
        // Only the user messages. This does not retract the answers.
        yield* this.#text('An answer.')
        yield { type: EventType.MESSAGES_SNAPSHOT, messages }
        break
      case 'remember': {
        const past: Message[] = [{ id: 'past-1', role: 'user', content: 'before' }, ...this.#history('past')]
        yield { type: EventType.MESSAGES_SNAPSHOT, messages: past }
        yield* this.#text('An answer.')
        yield { type: EventType.MESSAGES_SNAPSHOT, messages: [...past, ...messages, answer] }
        break
      }
      case 'break':
        yield* [...this.#text('It began well')].slice(0, -1)
        yield { type: EventType.RUN_ERROR, message: 'no more', code: 'worn_out' }
        return
      case 'hold': {
        const events = [...this.#text('one two three')]
        yield* events.slice(0, 3)
        await this.gate.pass(signal)
        yield* events.slice(3)
        break
      }
      default: {
        const messageId = `thought-${++this.#ids}`
        yield { type: EventType.REASONING_START, messageId }
        yield { type: EventType.REASONING_MESSAGE_START, messageId, role: 'reasoning' }
        yield { type: EventType.REASONING_MESSAGE_CONTENT, messageId, delta: 'What did they say?' }
        yield { type: EventType.REASONING_MESSAGE_END, messageId }
        yield { type: EventType.REASONING_END, messageId }
        yield* this.#text(`You said: ${text}`)
      }
    }
    yield finished
  }

  async answer(request: Request): Promise<Response> {
    const input = RunAgentInputSchema.parse(await request.json()) as RunAgentInput
    this.inputs.push(input)
    request.signal.addEventListener('abort', () => this.disconnected.resolve())
    const events = this.#events(input, request.signal)
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await events.next()
        if (done) controller.close()
        else controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(value)}\n\n`))
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
}

/** Text of the last user message. */
function textOf(messages: readonly Message[]): string {
  const content = messages.findLast(({ role }) => role === 'user')?.content
  return typeof content === 'string' ? content : ''
}

export async function openAgUi(): Promise<Listening & { readonly server: AgUiServer }> {
  const server = new AgUiServer()
  return { server, ...(await listen(request => server.answer(request))) }
}
