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
  await store.close()
  found[url.replace(file, '')] = length
}
for (const url of ['redis://localhost:1', 'postgres://localhost:1/none']) {
  found[url] = await openStore(url).then(
    async store => {
      await store.close()
      return 'opened'
    },
    ({ code, message }) => ({ code, message }),
  )
}
console.log(JSON.stringify(found))
