import { LogError } from '../../store/log-error.ts'
import { isUnknownScript } from './failure.ts'
import type { Script } from './keys.ts'

/** The exports of the `redis` package that the store uses. */
export type RedisDriver = Pick<
  typeof import('redis'),
  'createClient' | 'DisconnectsClientError' | 'ErrorReply' | 'RESP_TYPES'
>

export type Client = ReturnType<typeof clientOf>
export type Argument = string | Buffer
export type Reply = unknown

/** A client of the `redis` package, as far as it is used: for its settings. */
export interface ClientSettings {
  readonly options?: { readonly socket?: object }
  duplicate(overrides: object): unknown
}

/** Where the server is, and how long a connection or a command may take. */
export interface Server {
  /** `host:port`: what messages name. */
  readonly name: string
  readonly timeout: number
  readonly driver: RedisDriver
  client(): Client
}

/** The server of a url. What is none is told without repeating it: it may hold a password. */
export function serverAt(driver: RedisDriver, url: string, timeout: number): Server {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed === undefined || !/^rediss?:$/.test(parsed.protocol)) {
    throw new LogError('invalid', 'redisStore: expected a url such as redis://user:password@host:6379/0')
  }
  const name = nameOf(parsed.hostname, parsed.port)
  return { name, timeout, driver, client: () => clientOf(driver, url, timeout) }
}

/** The server of a client, which is left alone. */
export function serverOf(driver: RedisDriver, client: ClientSettings, timeout: number): Server {
  const socket = client.options?.socket ?? {}
  const name = 'path' in socket ? `${socket.path}` : nameOf(...hostAndPort(socket))
  const own = { ...settings(timeout), socket: { ...socket, ...settings(timeout).socket } }
  return { name, timeout, driver, client: () => client.duplicate(own) as Client }
}

const hostAndPort = (socket: { host?: unknown; port?: unknown }) => [socket.host, socket.port] as const

const nameOf = (host: unknown, port: unknown): string => `${host || 'localhost'}:${port || 6379}`

const settings = (timeout: number) =>
  ({
    RESP: 3,
    disableOfflineQueue: true,
    maintNotifications: 'disabled',
    // Its own timeout is one timer a command, and ends when the command is written.
    commandOptions: { timeout: 0 },
    socket: { connectTimeout: timeout, reconnectStrategy: false, keepAliveInitialDelay: 5_000 },
  }) as const

const clientOf = ({ createClient }: RedisDriver, url: string, timeout: number) =>
  createClient({ url, ...settings(timeout) })

/**
 * A client that is connected, or a rejection within the timeout. It does not reconnect: what it was doing when its connection broke fails at once,
 * nothing is kept to be sent again, and a new client takes its place.
 */
export async function connect(server: Server, onEnd: (client: Client) => void): Promise<Client> {
  const { timeout } = server
  const client = server.client()
  client.on('end', () => onEnd(client))
  // A client that failed is of no use, but rejects what it holds only after it has told of its error.
  client.on('error', () => {
    setImmediate(() => client.destroy())
    onEnd(client)
  })
  let late = false
  const timer = setTimeout(() => {
    late = true
    client.destroy()
  }, timeout)
  try {
    await client.connect()
    return client
  } catch (error) {
    client.destroy()
    throw late ? new Error(`no connection within ${timeout} ms`) : error
  } finally {
    clearTimeout(timer)
  }
}

/** Waits for what a client is doing, and lets its connection go. */
export async function letGo(client: Client, { timeout }: Server): Promise<void> {
  if (!client.isOpen) return
  const late = setTimeout(() => client.destroy(), timeout)
  await client.close().finally(() => clearTimeout(late))
}

/** How often the oldest command under way is looked at, in parts of the timeout. */
const LOOKS = 5

/**
 * The one connection on which a store sends its commands, in the order of the calls. It connects at the first, and again at the first after it
 * broke. A command that gets no answer within the timeout takes the connection with it, since all that follow wait behind it.
 */
export class Connection {
  readonly #server: Server
  readonly #asBytes: { readonly typeMapping: { [type: number]: unknown } }
  #client: Client | undefined
  #connecting: Promise<Client> | undefined
  #sent = 0
  #answered = 0
  #looking: NodeJS.Timeout | undefined

  constructor(server: Server) {
    this.#server = server
    this.#asBytes = { typeMapping: { [server.driver.RESP_TYPES.BLOB_STRING]: Buffer } }
  }

  /** One command, whose strings come as bytes if that is asked for. Its error is as the client gives it: see `failure`. */
  send(args: readonly Argument[], asBytes = false): Promise<Reply> {
    const client = this.#client
    if (client?.isReady) return this.#write(client, args, asBytes)
    return this.#ready().then(ready => this.#write(ready, args, asBytes))
  }

  /** A script on keys. */
  async run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<Reply> {
    const rest = [`${keys.length}`, ...keys, ...args]
    try {
      return await this.send(['EVALSHA', script.sha, ...rest])
    } catch (error) {
      if (!isUnknownScript(error)) throw error
      return this.send(['EVAL', script.text, ...rest])
    }
  }

  /** Several commands that happen together, or none of them; a script's own error rejects too. */
  async together(commands: readonly (readonly Argument[])[]): Promise<Reply[]> {
    const client = this.#client?.isReady ? this.#client : await this.#ready()
    const all = [['MULTI'], ...commands, ['EXEC']].map(args => this.#write(client, args))
    const outcomes = await Promise.allSettled(all)
    // What was refused first says why; EXEC only says that something was.
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    const replies = (outcomes.at(-1) as PromiseFulfilledResult<Reply[]>).value
    for (const reply of replies) if (reply instanceof Error) throw reply
    return replies
  }

  /** Waits for what is under way, and lets the connection go. */
  async close(): Promise<void> {
    clearTimeout(this.#looking)
    const client = this.#client ?? (await this.#connecting?.catch(() => undefined))
    this.#client = undefined
    if (client) await letGo(client, this.#server)
  }

  #ready(): Promise<Client> {
    this.#connecting ??= connect(this.#server, ended => {
      if (this.#client === ended) this.#client = undefined
    })
      .then(client => {
        this.#client = client
        return client
      })
      .finally(() => {
        this.#connecting = undefined
      })
    return this.#connecting
  }

  #write(client: Client, args: readonly Argument[], asBytes = false): Promise<Reply> {
    this.#sent++
    if (this.#looking === undefined) this.#look([])
    const answered = () => {
      this.#answered++
    }
    const reply = client.sendCommand<Reply>(args, asBytes ? this.#asBytes : undefined)
    reply.then(answered, answered)
    return reply
  }

  /** Answers come in order: what was sent some looks ago and is not answered by now is late, and so is all behind it. */
  #look(counts: number[]): void {
    this.#looking = setTimeout(
      () => {
        this.#looking = undefined
        if (this.#answered === this.#sent) return
        const oldest = counts.length === LOOKS ? (counts.shift() as number) : 0
        if (this.#answered < oldest) {
          this.#client?.destroy()
          this.#client = undefined
        } else {
          counts.push(this.#sent)
          this.#look(counts)
        }
      },
      this.#server.timeout / (LOOKS + 1),
    )
  }
}
