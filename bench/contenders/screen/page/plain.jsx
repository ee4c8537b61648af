// Floor: reads events as they arrive and appends each token to a text node.

import { createParser } from 'eventsource-parser'
import { conversations, history, registerConversation } from './watch.js'

function row(text) {
  const item = document.createElement('li')
  item.append(text)
  return item
}

async function showAnswer({ url }, list, question) {
  list.append(row(question))
  const { body } = await fetch(url, { method: 'POST' })
  const text = document.createTextNode('')
  list.append(row(text))
  const parser = createParser({
    onEvent({ data }) {
      const { type, delta } = JSON.parse(data)
      if (type === 'text-delta') text.appendData(delta)
    },
  })
  const decoder = new TextDecoder()
  for await (const bytes of body) parser.feed(decoder.decode(bytes, { stream: true }))
}

for (const conversation of conversations) {
  const list = document.createElement('ul')
  list.dataset.answer = conversation.number
  list.append(...history.map(({ text }) => row(text)))
  document.getElementById('root').append(list)
  registerConversation(conversation, question => void showAnswer(conversation, list, question))
}
