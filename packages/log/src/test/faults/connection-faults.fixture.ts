// Schedules with a faulty connection to the server: of a writer, of readers, of the listener, of a guest.

import type { Direction, FaultProxy } from '../../../../../scripts/faults/proxy.ts'
import type { Random } from '../chaos/random.fixture.ts'
import type { FaultScene } from './store-fault-scene.fixture.ts'
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

async function applyFault(scene: FaultScene, proxy: FaultProxy, random: Random): Promise<void> {
  const name = random.weighted([
    [6, 'cut'],
    [2, 'halfClose'],
    [2, 'stall'],
    [2, 'stallUntilReplaced'],
    [1, 'refuse'],
    [1, 'delay'],
  ])
  scene.note(`${name}: ${await (faults[name] as Fault)(proxy, random)}`)
}

/** A faulty connection of the writer: it retries appends with an unknown outcome, and no entry is lost or doubled. */
export async function faultyWriterConnection(scene: FaultScene, random: Random): Promise<void> {
  const run = scene.run()
  await scene.startReader(run)
  await scene.startReader(run, await scene.actor())
  const proxy = await scene.startProxy()
  const writer = await scene.actor({ spec: scene.via(proxy, { timeoutMs: TIMEOUT_MS }) })
  await writer.order({ do: 'write', run, takeover: false })
  for (let n = random.between(4, 7); n > 0; n--) {
    await scene.waitForAcks(run, random.between(1, 8))
    await applyFault(scene, proxy, random)
  }
  proxy.set({ up: { delayMs: 0 }, down: { delayMs: 0 } })
  await scene.waitForAcks(run, 5)
}

/** Lost answers to appends: each retry returns the sequences of the first append. */
export async function lostAnswers(scene: FaultScene, random: Random): Promise<void> {
  const run = scene.run()
  await scene.startReader(run)
  await scene.startReader(run, await scene.actor())
  const { acks } = scene.record(run)
  const { store } = await scene.localStore()
  const proxy = await scene.startProxy()
  const writer = await scene.actor({ spec: scene.via(proxy) })
  await writer.order({ do: 'write', run, takeover: false })
  for (let n = random.between(2, 4); n > 0; ) {
    await scene.waitForAcks(run, random.between(1, 10))
    const stall = proxy.event('stall')
    proxy.stall('down')
    await stall
    await writer.sync()
    const { head = 0 } = (await store.read(run.streamId, { sequence: 0 }, { batches: 0, bytes: 0 })) ?? {}
    const { length } = acks
    if (head > Math.max(...acks.map(ack => ack.last))) proxy.cut()
    proxy.resume()
    await scene.until('another append is acknowledged', () => acks.length > length)
    const { outcome, first, last } = acks[length] as (typeof acks)[number]
    // The delayed bytes may belong to another answer.
    if (first > head) continue
    scene.note(`lost the answer of ${first} to ${last}`)
    if (outcome !== 'duplicate')
      throw new Error(`law 5: the append at ${first} was stored, but its retry was ${outcome}`)
    n--
  }
  await scene.waitForAcks(run, 3)
}

/** A faulty connection of readers and of their listener: each reads every entry once. */
export async function faultyReaderConnection(scene: FaultScene, random: Random): Promise<void> {
  const run = scene.run()
  await scene.startReader(run)
  const proxy = await scene.startProxy()
  const reading = await scene.actor({ spec: scene.via(proxy, { timeoutMs: TIMEOUT_MS }) })
  const readers = [await scene.startReader(run, reading), await scene.startReader(run, reading)]
  const writer = await scene.actor()
  await writer.order({ do: 'write', run, takeover: false })
  for (let n = random.between(4, 7); n > 0; n--) {
    await scene.waitForAcks(run, random.between(1, 8))
    await applyFault(scene, proxy, random)
    const last = scene.record(run).acks.at(-1)?.last ?? 0
    for (const reader of readers)
      await scene.until(`${reader.name} has read ${last}`, () => reader.current.sequence >= last)
  }
}

/** A faulty connection of a guest: its retries are one answer. */
export async function faultyGuestConnection(scene: FaultScene, random: Random): Promise<void> {
  const run = scene.run()
  await scene.startReader(run)
  const proxy = await scene.startProxy()
  const guest = await scene.actor({ spec: scene.via(proxy, { timeoutMs: TIMEOUT_MS }) })
  await guest.order({ do: 'answer', guest: 'ann', streamId: run.streamId })
  const writer = await scene.actor({ plan: { questionRate: 0.9 } })
  await writer.order({ do: 'write', run, takeover: false })
  const { answers } = scene.record(run)
  for (let n = random.between(4, 6); n > 0; n--) {
    const to = answers.length + random.between(1, 4)
    await scene.until(`answer ${to}`, () => answers.length >= to)
    await applyFault(scene, proxy, random)
  }
  await scene.waitForAcks(run, 5)
}

/** Kills a writer during an append: after some sent bytes, or while the answer arrives. */
export async function killDuringAppend(scene: FaultScene, random: Random): Promise<void> {
  const run = scene.run()
  await scene.startReader(run)
  await scene.startReader(run, await scene.actor())
  let takeover = false
  for (let deaths = random.between(2, 3); deaths > 0; deaths--) {
    const proxy = await scene.startProxy()
    const writer = await scene.actor({ spec: scene.via(proxy), plan: { outputLength: random.pick([20, 1500]) } })
    await writer.order({ do: 'write', run, takeover })
    await scene.waitForAcks(run, random.between(1, 12))
    const direction = random.pick(['up', 'down'] as const)
    const at = byteOf(random)
    const stall = proxy.event('stall')
    proxy.set({ [direction]: { stallAt: at } })
    await stall
    await writer.kill()
    // The sent bytes arrive, or are cut in the middle.
    if (random.chance(0.5)) proxy.resume()
    proxy.cut()
    scene.note(`${writer.tag} killed with ${direction} at byte ${at}`)
    takeover = true
  }
  const last = await scene.actor()
  await last.order({ do: 'write', run, takeover })
  await scene.waitForAcks(run, 5)
}

/** An append arrives after a takeover and is fenced. */
export async function lateAppend(scene: FaultScene, random: Random): Promise<void> {
  const run = scene.run()
  await scene.startReader(run)
  await scene.startReader(run, await scene.actor())
  const { claims, losses } = scene.record(run)
  const proxy = await scene.startProxy()
  // A timeout long enough to wait for the answer.
  const late = await scene.actor({ spec: scene.via(proxy, { timeoutMs: 90_000 }) })
  await late.order({ do: 'write', run, takeover: false })
  await scene.waitForAcks(run, random.between(1, 15))
  const stall = proxy.event('stall')
  proxy.set({ up: { stallAt: byteOf(random) } })
  await stall
  scene.allow(late, 'fenced')
  const next = await scene.actor()
  await next.order({ do: 'write', run, takeover: true })
  await scene.until('the takeover', () => claims.some(({ by }) => by === next.tag))
  await scene.waitForAcks(run, random.between(1, 15))
  proxy.resume()
  await scene.until('the late writer is fenced', () => losses.some(({ by }) => by === late.tag))
  await scene.waitForAcks(run, 3)
}

/** Only the connection of the listener is cut or silent: readers are late and miss nothing. */
export async function faultyListenerConnection(scene: FaultScene, random: Random): Promise<void> {
  const run = scene.run()
  await scene.startReader(run)
  const proxy = await scene.startProxy()
  const connected = proxy.event('connect')
  const spec = scene.via(proxy, { timeoutMs: 2000 })
  // Postgres listens at its own url. For Redis, the first connection of a reader listens.
  const listenerSpec = spec.kind === 'postgres' ? { ...scene.testStore.spec, listen: spec.url } : spec
  const reading = await scene.actor({ spec: listenerSpec as StoreSpec })
  const reader = await scene.startReader(run, reading)
  let link = await connected
  const writer = await scene.actor()
  await writer.order({ do: 'write', run, takeover: false })
  for (let n = random.between(3, 5); n > 0; n--) {
    await scene.waitForAcks(run, random.between(1, 8))
    const again = proxy.event('connect')
    const direction = random.pick(['up', 'down'] as const)
    const fault = random.pick(['cut', 'reset', 'stall', 'halfClose'] as const)
    scene.note(`${fault} ${direction} of the listener, at ${reader.current.sequence}`)
    if (fault === 'stall' || fault === 'halfClose') link[fault](direction)
    else link[fault]()
    await scene.waitForAcks(run, random.between(1, 8))
    const last = scene.record(run).acks.at(-1)?.last ?? 0
    await scene.until(`${reader.name} has read ${last}`, () => reader.current.sequence >= last)
    if (fault === 'stall') link.resume()
    else link = await again
  }
}

/** Cuts the connection during a claim of a free log: the claimant gets the log without waiting for its own lease. */
export async function faultyClaimConnection(scene: FaultScene, random: Random): Promise<void> {
  const run = scene.run()
  await scene.startReader(run)
  const { claims } = scene.record(run)
  for (let n = random.between(5, 8); n > 0; n--) {
    const proxy = await scene.startProxy()
    const direction = random.pick(['up', 'down', 'down'] as const)
    const at = random.below(direction === 'up' ? 2500 : 700)
    proxy.next({ [direction]: { cutAt: at } })
    const writer = await scene.actor({ spec: scene.via(proxy, { timeoutMs: TIMEOUT_MS }) })
    await writer.order({ do: 'write', run, takeover: false })
    scene.note(`${writer.tag} claims, cut at ${at} ${direction}`)
    await scene.until(`${writer.tag} has the log`, () => claims.some(({ by }) => by === writer.tag))
    await scene.waitForAcks(run, random.between(1, 3))
    if (n === 1) return
    // A lease that cannot be released expires, which takes too long here.
    proxy.set({ [direction]: { cutAt: Number.POSITIVE_INFINITY } })
    scene.allow(writer, 'closed')
    await writer.close()
  }
}
