import { agent, memoryStore, millrace, scriptedModel } from 'millrace'

const model = scriptedModel(({ lastText }) => ({ text: `You said: ${lastText}` }))
let app

export default {
  fetch(request) {
    app ??= millrace({ store: memoryStore(), agents: [agent({ name: 'echo', model })] })
    return app.fetch(request)
  },
}
