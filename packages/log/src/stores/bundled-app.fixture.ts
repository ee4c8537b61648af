// An application that opens each store by its URL and prints what happened; bundled by a test.

import { openStore } from '../index.ts'

/** More than the store writes in its own thread. */
const LARGE = 1024 * 1024

const [file = ''] = process.argv.slice(2)
const found: Record<string, unknown> = {}
for (const url of ['memory:', `sqlite:${file}`]) {
  const store = await openStore(url)
  await store.create('log', null)
  await store.putBlob('log', 'hash', new Uint8Array(LARGE))
  const { length } = (await store.getBlob('log', 'hash')) ?? []
  await store.heartbeat?.ready()
  found[`heartbeat of ${url.replace(file, '')}`] = store.heartbeat && (store.heartbeat.failure?.message ?? 'ready')
  await store.close()
  found[url.replace(file, '')] = length
}
for (const url of ['redis://localhost:1', 'postgres://localhost:1/none']) {
  found[url] = await openStore(url).then(
    async store => {
      await store.heartbeat?.ready()
      const failure = store.heartbeat?.failure
      await store.close()
      return failure?.message ?? 'opened'
    },
    ({ code, message }) => ({ code, message }),
  )
}
console.log(JSON.stringify(found))

// It is not closed: its thread must not keep the process alive.
const left = await openStore(`sqlite:${file}`)
await left.heartbeat?.ready()
left.heartbeat?.keep({
  streamId: 'log',
  epoch: 'none',
  ttlMs: 1000,
  maxBlockedMs: 1000,
  onLost: () => {},
  onRenewed: () => {},
})
