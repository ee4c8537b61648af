import { LogError } from '../../store/log-error.ts'
import { plainSettings } from '../../store/plain-settings.ts'
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

/** A client of the `redis` package, used for its settings only. */
export interface ClientSettings {
  readonly options?: { readonly socket?: object }
  duplicate(overrides: object): unknown
}

/** The server's address, and the timeout of a connection or a command. */
export interface Server {
  /** `host:port`, for messages. */
  readonly name: string
  readonly timeoutMs: number
  readonly driver: RedisDriver
  client(): Client
}

/** The server of a URL. An error does not repeat the URL, which may contain a password. */
export function serverAt(driver: RedisDriver, url: string, timeoutMs: number): Server {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed === undefined || !/^rediss?:$/.test(parsed.protocol)) {
    throw new LogError('invalid', 'url: expected redis://user:password@host:6379/0 or rediss://')
  }
  const name = nameOf(parsed.hostname, parsed.port)
  return { name, timeoutMs, driver, client: () => clientOf(driver, url, timeoutMs) }
}

/** The server of a client, which stays untouched. */
export function serverOf(driver: RedisDriver, client: ClientSettings, timeoutMs: number): Server {
  const socket = client.options?.socket ?? {}
  const name = 'path' in socket ? `${socket.path}` : nameOf(...hostAndPort(socket))
  const storeSettings = { ...settings(timeoutMs), socket: { ...socket, ...settings(timeoutMs).socket } }
  return { name, timeoutMs, driver, client: () => client.duplicate(storeSettings) as Client }
}

/** The settings of a client as plain data, for a connection of another thread. */
export type PlainClientSettings = Pick<
  NonNullable<Parameters<RedisDriver['createClient']>[0]>,
  'url' | 'username' | 'password' | 'database' | 'socket'
>

/**
 * The settings of a client.
 *
 * @throws Error if they cannot be copied to another thread.
 */
export function plainSettingsOf({ options = {} }: ClientSettings): PlainClientSettings {
  const {
    url,
    username,
    password,
    database,
    credentialsProvider,
    socket = {},
  } = options as PlainClientSettings & {
    readonly credentialsProvider?: unknown
  }
  const { reconnectStrategy: _, ...rest } = socket
  const plain = plainSettings({ url, username, password, database, socket: rest })
  // The package itself makes a provider of a user name and a password.
  if (username === undefined && password === undefined) plainSettings({ credentialsProvider })
  return Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== undefined))
}

/** The server of settings that another thread has copied. */
export function serverOfSettings(driver: RedisDriver, client: PlainClientSettings, timeoutMs: number): Server {
  const own = settings(timeoutMs)
  const all = { ...client, ...own, socket: { ...client.socket, ...own.socket } }
  return { name: 'the heartbeat', timeoutMs, driver, client: () => driver.createClient(all as never) as Client }
}

const hostAndPort = (socket: { host?: unknown; port?: unknown }) => [socket.host, socket.port] as const

const nameOf = (host: unknown, port: unknown): string => `${host || 'localhost'}:${port || 6379}`

const settings = (timeoutMs: number) =>
  ({
    RESP: 3,
    disableOfflineQueue: true,
    maintNotifications: 'disabled',
    // The client's timeout costs one timer per command, and ends when the command is written.
    commandOptions: { timeout: 0 },
    socket: { connectTimeout: timeoutMs, reconnectStrategy: false, keepAliveInitialDelay: 5_000 },
  }) as const

const clientOf = ({ createClient }: RedisDriver, url: string, timeoutMs: number) =>
  createClient({ url, ...settings(timeoutMs) })

/**
 * Connects a client, or rejects within the timeout. It does not reconnect: when its connection breaks, its commands
 * fail at once, nothing is resent, and a new client takes its place.
 */
export async function connect(server: Server, onEnd: (client: Client) => void): Promise<Client> {
  const { timeoutMs } = server
  const client = server.client()
  client.on('end', () => onEnd(client))
  // A failed client rejects its commands only after its error event.
  client.on('error', () => {
    setImmediate(() => client.destroy())
    onEnd(client)
  })
  let late = false
  const timer = setTimeout(() => {
    late = true
    client.destroy()
  }, timeoutMs)
  try {
    await client.connect()
    return client
  } catch (error) {
    client.destroy()
    throw late ? new Error(`no connection within ${timeoutMs} ms`) : error
  } finally {
    clearTimeout(timer)
  }
}

/** Waits for a client's commands, and closes it. */
export async function closeClient(client: Client, { timeoutMs }: Server): Promise<void> {
  if (!client.isOpen) return
  const late = setTimeout(() => client.destroy(), timeoutMs)
  await client.close().finally(() => clearTimeout(late))
}

/** How often per timeout the oldest command in flight is checked. */
const CHECKS_PER_TIMEOUT = 5

/**
 * The connection on which a store sends its commands, in the order of the calls. It connects at the first command,
 * and again at the first after it broke. A command without an answer within the timeout closes the connection, since
 * all later ones wait behind it.
 */
export class Connection {
  readonly #server: Server
  readonly #asBytes: { readonly typeMapping: { [type: number]: unknown } }
  #client: Client | undefined
  #connecting: Promise<Client> | undefined
  #sent = 0
  #answered = 0
  #checkTimer: NodeJS.Timeout | undefined

  constructor(server: Server) {
    this.#server = server
    this.#asBytes = { typeMapping: { [server.driver.RESP_TYPES.BLOB_STRING]: Buffer } }
  }

  /**
   * Sends one command. With `asBytes`, strings are returned as bytes. Errors are those of the client: see `failure`.
   */
  send(args: readonly Argument[], asBytes = false): Promise<Reply> {
    const client = this.#client
    if (client?.isReady) return this.#write(client, args, asBytes)
    return this.#ready().then(ready => this.#write(ready, args, asBytes))
  }

  /** Runs a script. */
  async run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<Reply> {
    const rest = [`${keys.length}`, ...keys, ...args]
    try {
      return await this.send(['EVALSHA', script.sha, ...rest])
    } catch (error) {
      if (!isUnknownScript(error)) throw error
      return this.send(['EVAL', script.text, ...rest])
    }
  }

  /** Sends several commands as one transaction. Rejects also with a script's own error. */
  async transaction(commands: readonly (readonly Argument[])[]): Promise<Reply[]> {
    const client = this.#client?.isReady ? this.#client : await this.#ready()
    const all = [['MULTI'], ...commands, ['EXEC']].map(args => this.#write(client, args))
    const outcomes = await Promise.allSettled(all)
    // The first rejected command has the reason; EXEC only reports that one was rejected.
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    const replies = (outcomes.at(-1) as PromiseFulfilledResult<Reply[]>).value
    for (const reply of replies) if (reply instanceof Error) throw reply
    return replies
  }

  /** Waits for the commands in flight, and closes the connection. */
  async close(): Promise<void> {
    clearTimeout(this.#checkTimer)
    const client = this.#client ?? (await this.#connecting?.catch(() => undefined))
    this.#client = undefined
    if (client) await closeClient(client, this.#server)
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
    if (this.#checkTimer === undefined) this.#checkTimeout([])
    const answered = () => {
      this.#answered++
    }
    const reply = client.sendCommand<Reply>(args, asBytes ? this.#asBytes : undefined)
    reply.then(answered, answered)
    return reply
  }

  /**
   * Answers come in order: a command that was sent some checks ago and has no answer is late, and so are all behind
   * it.
   */
  #checkTimeout(counts: number[]): void {
    this.#checkTimer = setTimeout(
      () => {
        this.#checkTimer = undefined
        if (this.#answered === this.#sent) return
        const oldest = counts.length === CHECKS_PER_TIMEOUT ? (counts.shift() as number) : 0
        if (this.#answered < oldest) {
          this.#client?.destroy()
          this.#client = undefined
        } else {
          counts.push(this.#sent)
          this.#checkTimeout(counts)
        }
      },
      this.#server.timeoutMs / (CHECKS_PER_TIMEOUT + 1),
    )
  }
}
