// Schedules with a faulty connection to the server: of a writer, of readers, of the listener, of a guest.

import type { Direction, FaultProxy } from '../../../../../scripts/faults/proxy.ts'
import type { Random } from '../chaos/random.fixture.ts'
import type { FaultHarness } from './store-fault-harness.fixture.ts'
import type { StoreSpec } from './store-spec.fixture.ts'

/** How long a process waits for a stalled answer, in ms. */
const TIMEOUT_MS = 500

/** A byte of a direction that is inside a message: an append, an answer or a page. */
const byteOf = (random: Random): number => random.pick([random.below(60), random.below(400), random.below(3000)])

type Fault = (proxy: FaultProxy, random: Random) => Promise<string>

/** The faults by name. Each resolves when it has happened, with a note. */
const faults: { readonly [name: string]: Fault } = {
  async cut(proxy, random) {
    const direction = random.pick(['up', 'down'] as const)
    const at = byteOf(random)
    const method = random.pick(['cutAt', 'resetAt'] as const)
    const times = random.between(1, 3)
    for (let n = 0; n < times; n++) {
      const cut = proxy.event('cut')
      proxy.set({ [direction]: { [method]: at } })
      await cut
    }
    proxy.set({ [direction]: { [method]: Number.POSITIVE_INFINITY } })
    return `${method} ${at} ${direction}, ${times} times`
  },
  async halfClose(proxy, random) {
    const direction = random.pick(['up', 'down'] as const)
    const at = byteOf(random)
    const end = proxy.event('end')
    proxy.set({ [direction]: { endAt: at } })
    await end
    proxy.set({ [direction]: { endAt: Number.POSITIVE_INFINITY } })
    return `half closed at ${at} ${direction}`
  },
  async stall(proxy, random) {
    const direction = random.pick(['up', 'down'] as const)
    const at = byteOf(random)
    const stall = proxy.event('stall')
    proxy.set({ [direction]: { stallAt: at } })
    await stall
    proxy.resume()
    return `stalled at ${at} ${direction}, resumed`
  },
  /** Delayed bytes arrive after another connection has replaced this one. */
  async stallUntilReplaced(proxy, random) {
    const direction = random.pick(['up', 'down'] as const)
    const [stall, again] = [proxy.event('stall'), proxy.event('connect')]
    const held = [...proxy.links]
    const at = byteOf(random)
    for (const link of held) link.set({ [direction]: { stallAt: at } })
    await stall
    await again
    for (const link of held) link.resume()
    return `stalled at ${at} ${direction} until another connection opened`
  },
  async refuse(proxy, random) {
    const times = random.between(1, 3)
    proxy.refuse(true)
    for (let n = 0; n < times; n++) {
      const refused = proxy.event('refuse')
      if (n === 0) random.chance(0.5) ? proxy.cut() : proxy.reset()
      await refused
    }
    proxy.refuse(false)
    return `refused ${times} times`
  },
  async delay(proxy, random) {
    const delayMs = random.between(1, 30)
    const direction: Direction = random.pick(['up', 'down'])
    proxy.set({ [direction]: { delayMs } })
    return `${delayMs} ms late ${direction}`
  },
}

async function applyFault(harness: FaultHarness, proxy: FaultProxy, random: Random): Promise<void> {
  const name = random.weighted([
    [6, 'cut'],
    [2, 'halfClose'],
    [2, 'stall'],
    [2, 'stallUntilReplaced'],
    [1, 'refuse'],
    [1, 'delay'],
  ])
  harness.note(`${name}: ${await (faults[name] as Fault)(proxy, random)}`)
}

/** A faulty connection of the writer: it retries appends with an unknown outcome, and no entry is lost or doubled. */
export async function faultyWriterConnection(harness: FaultHarness, random: Random): Promise<void> {
  const run = harness.run()
  await harness.startReader(run)
  await harness.startReader(run, await harness.actor())
  const proxy = await harness.startProxy()
  const writer = await harness.actor({ spec: harness.via(proxy, { timeoutMs: TIMEOUT_MS }) })
  await writer.order({ do: 'write', run, takeover: false })
  for (let n = random.between(4, 7); n > 0; n--) {
    await harness.waitForAcks(run, random.between(1, 8))
    await applyFault(harness, proxy, random)
  }
  proxy.set({ up: { delayMs: 0 }, down: { delayMs: 0 } })
  await harness.waitForAcks(run, 5)
}

/** Lost answers to appends: each retry returns the sequences of the first append. */
export async function lostAnswers(harness: FaultHarness, random: Random): Promise<void> {
  const run = harness.run()
  await harness.startReader(run)
  await harness.startReader(run, await harness.actor())
  const { acks } = harness.record(run)
  const { store } = await harness.localStore()
  const proxy = await harness.startProxy()
  const writer = await harness.actor({ spec: harness.via(proxy) })
  await writer.order({ do: 'write', run, takeover: false })
  for (let n = random.between(2, 4); n > 0; ) {
    await harness.waitForAcks(run, random.between(1, 10))
    const stall = proxy.event('stall')
    proxy.stall('down')
    await stall
    await writer.sync()
    const { head = 0 } = (await store.read(run.streamId, { sequence: 0 }, { batches: 0, bytes: 0 })) ?? {}
    const { length } = acks
    if (head > Math.max(...acks.map(ack => ack.last))) proxy.cut()
    proxy.resume()
    await harness.until('another append is acknowledged', () => acks.length > length)
    const { outcome, first, last } = acks[length] as (typeof acks)[number]
    // The delayed bytes may belong to another answer.
    if (first > head) continue
    harness.note(`lost the answer of ${first} to ${last}`)
    if (outcome !== 'duplicate')
      throw new Error(`law 5: the append at ${first} was stored, but its retry was ${outcome}`)
    n--
  }
  await harness.waitForAcks(run, 3)
}

/** A faulty connection of readers and of their listener: each reads every entry once. */
export async function faultyReaderConnection(harness: FaultHarness, random: Random): Promise<void> {
  const run = harness.run()
  await harness.startReader(run)
  const proxy = await harness.startProxy()
  const reading = await harness.actor({ spec: harness.via(proxy, { timeoutMs: TIMEOUT_MS }) })
  const readers = [await harness.startReader(run, reading), await harness.startReader(run, reading)]
  const writer = await harness.actor()
  await writer.order({ do: 'write', run, takeover: false })
  for (let n = random.between(4, 7); n > 0; n--) {
    await harness.waitForAcks(run, random.between(1, 8))
    await applyFault(harness, proxy, random)
    const last = harness.record(run).acks.at(-1)?.last ?? 0
    for (const reader of readers)
      await harness.until(`${reader.name} has read ${last}`, () => reader.current.sequence >= last)
  }
}

/** A faulty connection of a guest: its retries are one answer. */
export async function faultyGuestConnection(harness: FaultHarness, random: Random): Promise<void> {
  const run = harness.run()
  await harness.startReader(run)
  const proxy = await harness.startProxy()
  const guest = await harness.actor({ spec: harness.via(proxy, { timeoutMs: TIMEOUT_MS }) })
  await guest.order({ do: 'answer', guest: 'ann', streamId: run.streamId })
  const writer = await harness.actor({ plan: { questionRate: 0.9 } })
  await writer.order({ do: 'write', run, takeover: false })
  const { answers } = harness.record(run)
  for (let n = random.between(4, 6); n > 0; n--) {
    const to = answers.length + random.between(1, 4)
    await harness.until(`answer ${to}`, () => answers.length >= to)
    await applyFault(harness, proxy, random)
  }
  await harness.waitForAcks(run, 5)
}

/** Kills a writer during an append: after some sent bytes, or while the answer arrives. */
export async function killDuringAppend(harness: FaultHarness, random: Random): Promise<void> {
  const run = harness.run()
  await harness.startReader(run)
  await harness.startReader(run, await harness.actor())
  let takeover = false
  for (let deaths = random.between(2, 3); deaths > 0; deaths--) {
    const proxy = await harness.startProxy()
    const writer = await harness.actor({ spec: harness.via(proxy), plan: { outputLength: random.pick([20, 1500]) } })
    await writer.order({ do: 'write', run, takeover })
    await harness.waitForAcks(run, random.between(1, 12))
    const direction = random.pick(['up', 'down'] as const)
    const at = byteOf(random)
    const stall = proxy.event('stall')
    proxy.set({ [direction]: { stallAt: at } })
    await stall
    await writer.kill()
    // The sent bytes arrive, or are cut in the middle.
    if (random.chance(0.5)) proxy.resume()
    proxy.cut()
    harness.note(`${writer.tag} killed with ${direction} at byte ${at}`)
    takeover = true
  }
  const last = await harness.actor()
  await last.order({ do: 'write', run, takeover })
  await harness.waitForAcks(run, 5)
}

/** An append arrives after a takeover and is fenced. */
export async function lateAppend(harness: FaultHarness, random: Random): Promise<void> {
  const run = harness.run()
  await harness.startReader(run)
  await harness.startReader(run, await harness.actor())
  const { claims, losses } = harness.record(run)
  const proxy = await harness.startProxy()
  // A timeout long enough to wait for the answer.
  const late = await harness.actor({ spec: harness.via(proxy, { timeoutMs: 90_000 }) })
  await late.order({ do: 'write', run, takeover: false })
  await harness.waitForAcks(run, random.between(1, 15))
  const stall = proxy.event('stall')
  proxy.set({ up: { stallAt: byteOf(random) } })
  await stall
  harness.allow(late, 'fenced')
  const next = await harness.actor()
  await next.order({ do: 'write', run, takeover: true })
  await harness.until('the takeover', () => claims.some(({ by }) => by === next.tag))
  await harness.waitForAcks(run, random.between(1, 15))
  proxy.resume()
  await harness.until('the late writer is fenced', () => losses.some(({ by }) => by === late.tag))
  await harness.waitForAcks(run, 3)
}

/** Only the connection of the listener is cut or silent: readers are late and miss nothing. */
export async function faultyListenerConnection(harness: FaultHarness, random: Random): Promise<void> {
  const run = harness.run()
  await harness.startReader(run)
  const proxy = await harness.startProxy()
  const connected = proxy.event('connect')
  const spec = harness.via(proxy, { timeoutMs: 2000 })
  // Postgres listens at its own url. For Redis, the first connection of a reader listens.
  const listenerSpec = spec.kind === 'postgres' ? { ...harness.testStore.spec, listen: spec.url } : spec
  const reading = await harness.actor({ spec: listenerSpec as StoreSpec })
  const reader = await harness.startReader(run, reading)
  let link = await connected
  const writer = await harness.actor()
  await writer.order({ do: 'write', run, takeover: false })
  for (let n = random.between(3, 5); n > 0; n--) {
    await harness.waitForAcks(run, random.between(1, 8))
    const again = proxy.event('connect')
    const direction = random.pick(['up', 'down'] as const)
    const fault = random.pick(['cut', 'reset', 'stall', 'halfClose'] as const)
    harness.note(`${fault} ${direction} of the listener, at ${reader.current.sequence}`)
    if (fault === 'stall' || fault === 'halfClose') link[fault](direction)
    else link[fault]()
    await harness.waitForAcks(run, random.between(1, 8))
    const last = harness.record(run).acks.at(-1)?.last ?? 0
    await harness.until(`${reader.name} has read ${last}`, () => reader.current.sequence >= last)
    if (fault === 'stall') link.resume()
    else link = await again
  }
}

/** Cuts the connection during a claim of a free log: the claimant gets the log without waiting for its own lease. */
export async function faultyClaimConnection(harness: FaultHarness, random: Random): Promise<void> {
  const run = harness.run()
  await harness.startReader(run)
  const { claims } = harness.record(run)
  for (let n = random.between(5, 8); n > 0; n--) {
    const proxy = await harness.startProxy()
    const direction = random.pick(['up', 'down', 'down'] as const)
    const at = random.below(direction === 'up' ? 2500 : 700)
    proxy.next({ [direction]: { cutAt: at } })
    const writer = await harness.actor({ spec: harness.via(proxy, { timeoutMs: TIMEOUT_MS }) })
    await writer.order({ do: 'write', run, takeover: false })
    harness.note(`${writer.tag} claims, cut at ${at} ${direction}`)
    await harness.until(`${writer.tag} has the log`, () => claims.some(({ by }) => by === writer.tag))
    await harness.waitForAcks(run, random.between(1, 3))
    if (n === 1) return
    // A lease that cannot be released expires, which takes too long here.
    proxy.set({ [direction]: { cutAt: Number.POSITIVE_INFINITY } })
    harness.allow(writer, 'closed')
    await writer.close()
  }
}
