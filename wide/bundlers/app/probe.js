import { agent, millrace, openStore, scriptedModel } from 'millrace'

/** Runs a turn on an SQLite store, writes a large value by its worker thread, and opens stores whose drivers are not installed. */
export async function probe(folder) {
  const store = await openStore(`sqlite:${folder}/probe.db`)
  const model = scriptedModel(({ lastText }) => ({ text: `You said: ${lastText}` }))
  const app = millrace({ store, agents: [agent({ name: 'echo', model })], authorize: () => 'ann' })
  const reply = await app.fetch(
    new Request('http://localhost/api/sessions/talk/runs', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ agent: 'echo', input: 'hello' }),
    }),
  )
  const frames = await reply.text()
  await store.putBlob('talk', 'large', new Uint8Array(1024 * 1024))
  const large = await store.getBlob('talk', 'large')
  await app.close()
  const errorOf = url =>
    openStore(url).then(
      () => 'opened',
      error => `${error.code}: ${error.message}`,
    )
  return {
    isAnswered: frames.includes('You said: hello') && frames.includes('"status":"completed"'),
    largeBytes: large?.length,
    postgres: await errorOf('postgres://localhost/x'),
    redis: await errorOf('redis://localhost'),
  }
}
