import { EventEmitter, once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { type FaultKind, type Faults, Flow, reset } from './flow.ts'

/** From the client to the target, or from the target to the client. */
export type Direction = 'up' | 'down'

type BothFaults = { [direction in Direction]?: Faults }

/** Events for tests. A stall is reported when it first holds bytes back. */
type ProxyEvents = {
  connect: Link
  refuse: undefined
  stall: LinkEvent
  end: LinkEvent
  /** With the direction, if a byte position triggered it. */
  cut: LinkEvent
  close: Link
}

type LinkEvent = { link: Link; direction?: Direction }

const directions = ['up', 'down'] as const

/** One connection through the proxy. */
class Link {
  /** Resolves when both ends are closed. */
  readonly closed: Promise<void>
  readonly #sockets: Socket[]
  readonly #flows: Record<Direction, Flow>
  readonly #report: (name: 'stall' | 'end' | 'cut', direction?: Direction) => void
  #cut = false

  constructor(
    client: Socket,
    target: Socket,
    faults: BothFaults,
    onEvent: (name: 'stall' | 'end' | 'cut', event: LinkEvent) => void,
  ) {
    this.#sockets = [client, target]
    this.#report = (name, direction) => onEvent(name, { link: this, ...(direction && { direction }) })
    const react = (direction: Direction) => (kind: FaultKind) => {
      if (kind === 'cut' || kind === 'reset') this.#destroy(kind, direction)
      else this.#report(kind, direction)
    }
    // The reason of a failure is not forwarded. The other end only notices the failure.
    for (const socket of this.#sockets) socket.setNoDelay(true).on('error', () => {})
    this.#flows = {
      up: new Flow(client, target, faults.up ?? {}, react('up')),
      down: new Flow(target, client, faults.down ?? {}, react('down')),
    }
    const closed = this.#sockets.map(socket => new Promise(resolve => socket.once('close', resolve)))
    this.closed = Promise.all(closed).then(() => {
      for (const direction of directions) this.#flows[direction].dispose()
    })
  }

  /** Bytes forwarded to the target. */
  get up(): number {
    return this.#flows.up.forwarded
  }

  /** Bytes forwarded to the client. */
  get down(): number {
    return this.#flows.down.forwarded
  }

  /** Bytes buffered in the proxy. */
  get buffered(): number {
    return this.#flows.up.buffered + this.#flows.down.buffered
  }

  /** Sets the given faults and keeps the others. */
  set(faults: BothFaults): void {
    for (const direction of directions) this.#flows[direction].set(faults[direction] ?? {})
  }

  /** Holds back everything from now on. */
  stall(direction?: Direction): void {
    this.set(stalled(0, direction))
  }

  /** Ends a stall and forwards the buffered bytes. */
  resume(direction?: Direction): void {
    this.set(stalled(Number.POSITIVE_INFINITY, direction))
  }

  /** Ends this direction for its receiver. */
  halfClose(direction: Direction): void {
    this.#flows[direction].end()
  }

  /** Closes both ends now. */
  cut(): void {
    this.#destroy('cut')
  }

  /** Resets both ends now. */
  reset(): void {
    this.#destroy('reset')
  }

  #destroy(how: 'cut' | 'reset', direction?: Direction): void {
    if (this.#cut) {
      // A reset waits until the pending end is sent.
      if (how === 'cut') for (const socket of this.#sockets) socket.destroy()
      return
    }
    this.#cut = true
    for (const socket of this.#sockets) how === 'cut' ? socket.destroy() : reset(socket)
    this.#report('cut', direction)
  }
}

/** A loopback proxy that injects network faults. */
export type FaultProxy = {
  port: number
  /** The URL of the target through the proxy. */
  url(original: string): string
  /** The open connections, oldest first. */
  links: ReadonlySet<Link>
  /** Totals: connections made and refused, and bytes forwarded. */
  counts(): { connections: number; refused: number; up: number; down: number }
  /** Sets faults for all open and new connections. */
  set(faults: BothFaults): void
  /** Additional faults for the next connection. A second call is for the one after it. */
  next(faults: BothFaults | 'refuse'): void
  /** Whether new connections are reset at once. */
  refuse(on: boolean): void
  stall(direction?: Direction): void
  resume(direction?: Direction): void
  halfClose(direction: Direction): void
  /** Closes the open connections. */
  cut(): void
  /** Resets the open connections. */
  reset(): void
  /** Resolves on the next event with this name. */
  event<Name extends keyof ProxyEvents>(name: Name): Promise<ProxyEvents[Name]>
  stop(): Promise<void>
}

/** Starts a proxy to a host and port, or to those of a URL. */
export async function proxy(target: { host: string; port: number } | string): Promise<FaultProxy> {
  const to = typeof target === 'string' ? address(target) : target
  const emitter = new EventEmitter().setMaxListeners(0)
  const links = new Set<Link>()
  const upcoming: (BothFaults | 'refuse')[] = []
  const total = { connections: 0, refused: 0, up: 0, down: 0 }
  let common: BothFaults = {}
  let refusing = false

  const server = createServer({ allowHalfOpen: true }, client => {
    const special = upcoming.shift() ?? {}
    if (refusing || special === 'refuse') {
      total.refused++
      client.on('error', () => {}).resetAndDestroy()
      emitter.emit('refuse')
      return
    }
    total.connections++
    const faults = merge(common, special)
    const link = new Link(client, connect({ ...to, allowHalfOpen: true }), faults, (name, event) => {
      emitter.emit(name, event)
    })
    links.add(link)
    emitter.emit('connect', link)
    link.closed.then(() => {
      links.delete(link)
      total.up += link.up
      total.down += link.down
      emitter.emit('close', link)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const serverAddress = server.address()
  if (serverAddress === null || typeof serverAddress === 'string')
    throw new Error('proxy: expected a loopback port, found none')
  const { port } = serverAddress

  function set(faults: BothFaults): void {
    common = merge(common, faults)
    for (const link of links) link.set(faults)
  }
  return {
    port,
    links,
    set,
    url(original) {
      const url = new URL(original)
      url.host = `127.0.0.1:${port}`
      return url.href
    },
    counts() {
      const counts = { ...total }
      for (const link of links) for (const direction of directions) counts[direction] += link[direction]
      return counts
    },
    next: faults => void upcoming.push(faults),
    refuse(on) {
      refusing = on
    },
    stall: direction => set(stalled(0, direction)),
    resume: direction => set(stalled(Number.POSITIVE_INFINITY, direction)),
    halfClose(direction) {
      for (const link of links) link.halfClose(direction)
    },
    cut() {
      for (const link of links) link.cut()
    },
    reset() {
      for (const link of links) link.reset()
    },
    event: name => new Promise(resolve => emitter.once(name, resolve)),
    async stop() {
      const closed = once(server.close(), 'close')
      for (const link of links) link.cut()
      await Promise.all([closed, ...[...links].map(link => link.closed)])
    },
  }
}

function merge(one: BothFaults, other: BothFaults): BothFaults {
  return { up: { ...one.up, ...other.up }, down: { ...one.down, ...other.down } }
}

function stalled(stallAt: number, direction?: Direction): BothFaults {
  return Object.fromEntries((direction ? [direction] : directions).map(name => [name, { stallAt }]))
}

function address(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url)
  if (port === '') throw new Error('proxy: expected a target URL with a port, found none: pass { host, port }')
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) }
}
