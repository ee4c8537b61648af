// A process that shares a file of logs with its test. Its first argument names what it does.
import { DatabaseSync } from 'node:sqlite'
import { messagesOfTest, reportEvent } from '../../../../../scripts/faults/process.ts'
import { sqliteStore } from './index.ts'

const [, , act = '', path = '', streamId = '', option = ''] = process.argv

const actions: Record<string, () => Promise<void>> = {
  /** Creates a log in a file that may not exist yet, on a message. */
  async create() {
    const store = sqliteStore({ path })
    await reportEvent('ready')
    await messageReceived()
    await reportEvent('created', { created: await store.create(streamId, null), clock: Date.now() })
    await store.close()
  },

  /** Appends batches as a guest, several at once, and reports the sequences of each. */
  async append() {
    const store = sqliteStore({ path })
    await reportEvent('ready')
    await messageReceived()
    const line = async (name: string) => {
      for (let n = 0; n < Number(option); n++) {
        const text = `${process.pid}-${name}-${n}`
        const by = { key: text, keep: false, nonce: 'guest' }
        await reportEvent('acked', { text, ...(await store.append(streamId, batch(text), by)) })
      }
    }
    await Promise.all(['a', 'b', 'c'].map(line))
    await store.close()
  },

  /** Claims the log and appends small and large batches until it is killed. */
  async write() {
    const store = sqliteStore({ path, durability: option === 'full' ? 'full' : 'normal' })
    const claim = await store.claim(streamId, 'me', 60_000, true)
    const page = await store.read(streamId, { sequence: 0 }, { batches: 0, bytes: 0 })
    if (claim.outcome !== 'claimed' || page === undefined) throw new Error('there is nothing to write to')
    const { epoch } = claim
    let { version } = page
    let lastAcked = { sequence: page.head, incarnation: page.incarnation, epoch: page.mark }
    for (let counter = 1; ; counter++) {
      const text = `${process.pid}-${counter}`
      const by = { epoch, counter, lastAcked }
      const filler = 'x'.repeat(counter % 7 === 0 ? 200_000 : 10)
      const ticket = { ifVersion: version, next: { state: text, due: { at: 'now' as const, program: null } } }
      const result = await store.append(streamId, batch(text, filler), by, counter % 3 === 0 ? ticket : undefined)
      if (result.outcome !== 'appended') throw new Error(`append: ${result.outcome}`)
      lastAcked = { ...lastAcked, sequence: result.last, epoch }
      if (counter % 3 === 0) version = `${result.last}.${lastAcked.incarnation}.${epoch}`
      await reportEvent('acked', { text, ...result })
    }
  },

  /** Holds the file's write lock until it gets a message. */
  async lock() {
    const db = new DatabaseSync(path)
    db.exec('BEGIN IMMEDIATE')
    await reportEvent('locked')
    await messageReceived()
    db.exec('COMMIT')
    db.close()
  },

  /** Removes a log while a reader keeps its text in the write-ahead log, and waits to be killed. */
  async remove() {
    const reader = new DatabaseSync(path)
    reader.exec('BEGIN')
    reader.prepare('SELECT count(*) FROM streams').get()
    const store = sqliteStore({ path })
    await reportEvent('removed', { removed: await store.remove(streamId) })
    await messageReceived()
  },

  /** Watches a log that another process writes to, and reports the head at each wake. */
  async watch() {
    const store = sqliteStore({ path })
    const stop = store.watch(streamId, async () => {
      const page = await store.read(streamId, { sequence: 0 }, { batches: 0, bytes: 0 })
      await reportEvent('woken', { head: page?.head })
    })
    await reportEvent('watching')
    await messageReceived()
    stop()
    await store.close()
  },

  /** Watches and ends: a watch, a worker and an open store keep no process alive. */
  async leave() {
    const store = sqliteStore({ path })
    store.watch(streamId, () => {})
    await store.putBlob(streamId, 'hash', new Uint8Array(1_000_000))
    await reportEvent('left')
  },

  /** Writes to a file without the permission to do so. */
  async intrude() {
    if (process.getuid?.() === 0) process.setuid?.(65534)
    const store = sqliteStore({ path })
    const failure = await store.create(streamId, null).then(String, error => error)
    await reportEvent('failed', { code: failure.code, message: failure.message, cause: failure.cause?.message })
    await store.close()
  },
}

/** Waits for the test's message. */
async function messageReceived(): Promise<void> {
  for await (const _ of messagesOfTest()) return
}

function batch(...texts: string[]) {
  return { body: JSON.stringify(texts), count: texts.length }
}

await actions[act]?.()
